"""Everything that the documents name exists."""

import re
import shlex

from django.core.management import get_commands, load_command_class

from tests.house import sources

DOCUMENTS = [*sources.CHECKOUT.glob("*.md"), *(sources.CHECKOUT / "docs").rglob("*.md")]
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#]+)")
TARGET = re.compile(r"^([a-z][a-z-]*):", re.MULTILINE)
COMMAND = re.compile(r"\bmake ([a-z][a-z-]*)(?=[`\s]|$)")
CODE = re.compile(r"```.*?```|`[^`]+`", re.DOTALL)
PROJECT_PATH = re.compile(r"^(?:apps|registry_site|tests|docs|static|templates|bench|bin)/[\w./-]+$")


def test_the_usual_documents_exist():
    for name in ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "docs/ARCHITECTURE.md"]:
        assert (sources.CHECKOUT / name).stat().st_size > 0, name


def test_every_make_command_is_a_target():
    targets = set(TARGET.findall((sources.CHECKOUT / "Makefile").read_text()))
    code = [(path.name, code) for path in DOCUMENTS for code in CODE.findall(path.read_text())]
    assert {(page, name) for page, code in code for name in COMMAND.findall(code) if name not in targets} == set()


def test_every_link_leads_somewhere():
    links = [(path, link) for path in DOCUMENTS for link in LINK.findall(path.read_text())]
    assert [(path.name, link) for path, link in links if not (path.parent / link).exists()] == []


def test_every_file_that_is_named_is_there():
    named = {(path.name, code.strip("`")) for path in DOCUMENTS for code in CODE.findall(path.read_text())}
    paths = {(page, name) for page, name in named if PROJECT_PATH.match(name)}
    assert {(page, name) for page, name in paths if not (sources.CHECKOUT / name).exists()} == set()


def test_the_map_names_files_that_are_there():
    """Maintainers' pages write paths from the room on: `oci/views/manifests.py`."""
    roots = [sources.CHECKOUT, sources.CHECKOUT / "apps", sources.CHECKOUT / "registry_site"]
    pages = [sources.CHECKOUT / "docs" / "ARCHITECTURE.md", *(sources.CHECKOUT / "docs" / "maintain").glob("*.md")]
    named = {(page.name, path) for page in pages for path in re.findall(r"`([\w./]+/\w+\.py)`", page.read_text())}
    assert {(page, path) for page, path in named if not any((root / path).is_file() for root in roots)} == set()


def test_the_readme_needs_two_commands():
    text = (sources.CHECKOUT / "README.md").read_text()
    assert "make run" in text
    assert "make test" in text


def test_the_changelog_has_a_part_for_this_version():
    assert re.search(r"^## \d+\.\d+\.\d+", (sources.CHECKOUT / "CHANGELOG.md").read_text(), re.MULTILINE)


def test_all_name_the_same_version():
    chart = (sources.CHECKOUT / "deploy/helm/larder/Chart.yaml").read_text()
    found = {
        "pyproject.toml": re.findall(
            r'^version = "(.+)"$', (sources.CHECKOUT / "pyproject.toml").read_text(), re.MULTILINE
        )[0],
        "CHANGELOG.md": re.findall(r"^## ([0-9.]+)", (sources.CHECKOUT / "CHANGELOG.md").read_text(), re.MULTILINE)[0],
        "version": re.findall(r"^version: (.+)$", chart, re.MULTILINE)[0],
        "appVersion": re.findall(r"^appVersion: (.+)$", chart, re.MULTILINE)[0],
    }

    assert len(set(found.values())) == 1, found


def commands_in(path):
    """The lines of shell blocks that call manage.py, without comments and redirections."""
    for block in re.findall(r"```sh\n(.*?)```", path.read_text(), re.DOTALL):
        for line in re.sub(r"\$\([^)]*\)", "today", block.replace("\\\n", " ")).splitlines():
            words = shlex.split(re.split(r"\s[|>]", line)[0], comments=True)
            if "manage.py" in words:
                yield words[words.index("manage.py") + 1 :]


def test_every_command_of_a_block_is_one_that_manage_py_takes():
    refused = []
    for page, (name, *arguments) in [(path.name, words) for path in DOCUMENTS for words in commands_in(path)]:
        try:
            load_command_class(get_commands()[name], name).create_parser("manage.py", name).parse_args(arguments)
        except (KeyError, SystemExit) as error:
            refused.append((page, name, arguments, error))
    assert refused == []
