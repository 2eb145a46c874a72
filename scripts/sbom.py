"""Print a CycloneDX 1.5 list (SBOM) of gssl and what it needs at run time, as installed in this environment.

``python scripts/sbom.py > gssl.cdx.json`` in an environment with gssl; optional packages are not listed.
"""

from __future__ import annotations

import json
import re
import sys
import uuid
from importlib.metadata import Distribution, distribution
from typing import Any

# one of gssl's own requirements needs it
from packaging.requirements import Requirement


def normal(name: str) -> str:
    """Return the name as an index spells it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def needed_by(package: Distribution) -> list[str]:
    """Return the names of what a package needs here, without extras."""
    wanted = [Requirement(each) for each in package.requires or []]
    return sorted(
        {normal(each.name) for each in wanted if not each.marker or each.marker.evaluate({"extra": ""})}
    )


def closure(name: str) -> dict[str, Distribution]:
    """Return a package and all that it needs, by name."""
    found, waiting = {}, [normal(name)]
    while waiting:
        each = waiting.pop()
        if each not in found:
            found[each] = distribution(each)
            waiting += needed_by(found[each])
    return dict(sorted(found.items()))


def licences(package: Distribution) -> list[dict[str, Any]]:
    """Return the licence of a package: an SPDX expression if there is one, else what it calls it."""
    about = package.metadata
    expression = about.get("License-Expression")
    if expression:
        return [{"expression": expression}]
    classified = [
        value.split(" :: ")[-1] for value in about.get_all("Classifier", []) if "License ::" in value
    ]
    # some packages have the whole text in this field
    named = (about.get("License") or "").strip().split("\n")[0]
    return [{"license": {"name": each}} for each in classified or [named] if each]


def component(package: Distribution) -> dict[str, Any]:
    """Return the entry of a package."""
    name, version = normal(package.metadata["Name"]), package.version
    purl = f"pkg:pypi/{name}@{version}"
    entry: dict[str, Any] = {"type": "library", "bom-ref": purl, "name": name, "version": version}
    return entry | {"purl": purl, "licenses": licences(package)}


def bill(name: str = "gssl") -> dict[str, Any]:
    """Return the list, with an identity that depends only on its content."""
    packages = closure(name)
    entries = {each: component(package) for each, package in packages.items()}
    ref = {each: entry["bom-ref"] for each, entry in entries.items()}
    content = " ".join(ref.values())
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, content)}",
        "version": 1,
        "metadata": {"component": entries.pop(name)},
        "components": list(entries.values()),
        "dependencies": [
            {"ref": ref[each], "dependsOn": [ref[other] for other in needed_by(package)]}
            for each, package in packages.items()
        ],
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(bill(), indent=1) + "\n")
