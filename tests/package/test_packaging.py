"""The conda recipe and the Dockerfile say what pyproject.toml says; neither conda nor Docker is needed."""

import re
import shlex
import tomllib

import pytest
from tests.package.scripts import ROOT

import gssl

yaml = pytest.importorskip("yaml", reason="PyYAML comes with gssl[distributed]")

RECIPE = ROOT / "packaging" / "conda" / "recipe.yaml"
INSTRUCTIONS = {
    "FROM",
    "WORKDIR",
    "COPY",
    "RUN",
    "ENV",
    "USER",
    "ENTRYPOINT",
    "CMD",
    "ARG",
    "LABEL",
    "EXPOSE",
}
# names on conda-forge that differ from those on PyPI
CONDA_NAMES = {"duckdb": "python-duckdb"}


@pytest.fixture(scope="module")
def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def recipe():
    """Return the recipe with its variables put in."""
    text = RECIPE.read_text(encoding="utf-8")
    for name, value in yaml.safe_load(text)["context"].items():
        text = text.replace(f"${{{{ {name} }}}}", value)
    return yaml.safe_load(text)


@pytest.fixture(scope="module")
def dockerfile():
    """Return the instructions of the Dockerfile and their arguments."""
    lines = (ROOT / "packaging" / "Dockerfile").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 10
    return [tuple(line.split(maxsplit=1)) for line in lines]


def test_the_recipe_has_the_requirements_of_the_project(recipe, project):
    bounds = [
        re.fullmatch(r"([\w-]+)(>=[\d.]+)", each).groups() for each in project["project"]["dependencies"]
    ]
    wanted = [f"{CONDA_NAMES.get(name, name)} {bound}" for name, bound in bounds]
    assert recipe["requirements"]["run"] == [f"python {project['project']['requires-python']}", *wanted]
    assert set(project["build-system"]["requires"]) <= set(recipe["requirements"]["host"])


def test_the_recipe_has_the_version_the_licence_and_the_command(recipe, project):
    assert recipe["schema_version"] == 1
    assert recipe["package"] == {"name": project["project"]["name"], "version": gssl.__version__}
    commands = [f"{name} = {where}" for name, where in project["project"]["scripts"].items()]
    assert recipe["build"]["python"]["entry_points"] == commands
    assert recipe["about"]["license"] == project["project"]["license"]
    assert (ROOT / recipe["about"]["license_file"]).is_file()
    assert (RECIPE.parent / recipe["source"]["path"]).resolve() == ROOT
    assert "${{" not in str(recipe).replace("${{ PYTHON }}", "")


def test_the_dockerfile_has_known_instructions_and_a_supported_python(dockerfile, project):
    names = [name for name, _ in dockerfile]
    assert names[0] == "FROM"
    assert set(names) <= INSTRUCTIONS
    image = dict(dockerfile)["FROM"]
    minor = re.fullmatch(r"python:(3\.\d+)-slim", image)[1]
    assert f"Programming Language :: Python :: {minor}" in project["project"]["classifiers"]
    assert "latest" not in str(dockerfile)


def test_the_image_runs_gssl_as_a_user_who_is_not_root(dockerfile):
    names = [name for name, _ in dockerfile]
    assert int(dict(dockerfile)["USER"]) >= 1000
    # nothing is installed by that user, and nothing runs as root
    assert max(i for i, name in enumerate(names) if name == "RUN") < names.index("USER")
    assert names.index("USER") < names.index("ENTRYPOINT")
    assert dict(dockerfile)["ENTRYPOINT"] == '["gssl"]'


def test_the_files_that_the_image_copies_exist_and_its_command_is_shell(dockerfile):
    copied = [path for name, rest in dockerfile if name == "COPY" for path in rest.split()[:-1]]
    assert {"pyproject.toml", "README.md", "LICENSE", "src"} <= set(copied)
    assert [path for path in copied if not (ROOT / path).exists()] == []
    (command,) = (rest for name, rest in dockerfile if name == "RUN")
    words = shlex.split(command)
    assert words[:2] == ["pip", "install"]
    assert words[words.index("-c") + 1] in copied
    assert ".[report]" in words
