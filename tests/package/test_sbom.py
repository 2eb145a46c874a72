"""The list of what gssl needs has the fields that CycloneDX 1.5 requires."""

import re
import tomllib

import pytest
from tests.package.scripts import ROOT, load_script

sbom = load_script("sbom")


@pytest.fixture(scope="module")
def bill():
    return sbom.bill()


def test_required_fields_are_there(bill):
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.5", 1)
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", bill["serialNumber"])
    for entry in [bill["metadata"]["component"], *bill["components"]]:
        assert entry["type"] == "library"
        assert entry["purl"] == entry["bom-ref"] == f"pkg:pypi/{entry['name']}@{entry['version']}"


def test_every_package_says_its_licence_in_one_way(bill):
    for entry in bill["components"]:
        kinds = {kind for licence in entry["licenses"] for kind in licence}
        assert kinds in ({"expression"}, {"license"}), entry["name"]
        assert kinds == {"license"} or len(entry["licenses"]) == 1


def test_it_lists_what_gssl_needs_and_nothing_optional(bill):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {entry["name"] for entry in bill["components"]}
    assert {each.split(">=")[0] for each in project["dependencies"]} <= names
    assert names.isdisjoint({"gssl", "torch", "pandas", "pytest", "dask"})
    assert {"llvmlite", "packaging"} <= names


def test_its_dependencies_refer_to_its_entries(bill):
    refs = [entry["bom-ref"] for entry in [bill["metadata"]["component"], *bill["components"]]]
    assert len(set(refs)) == len(refs)
    assert sorted(each["ref"] for each in bill["dependencies"]) == sorted(refs)
    assert {ref for each in bill["dependencies"] for ref in each["dependsOn"]} <= set(refs)


def test_it_is_the_same_for_the_same_environment(bill):
    assert sbom.bill() == bill
