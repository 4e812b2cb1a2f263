"""Everything that the documents name exists."""

import re

import pytest

from tests.house import sources

DOCUMENTS = [*sources.CHECKOUT.glob("*.md"), *(sources.CHECKOUT / "docs").glob("*.md")]
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#]+)")
TARGET = re.compile(r"^([a-z][a-z-]*):", re.MULTILINE)
COMMAND = re.compile(r"\bmake ([a-z][a-z-]*)(?=[`\s]|$)")
CODE = re.compile(r"```.*?```|`[^`]+`", re.DOTALL)
PROJECT_PATH = re.compile(r"^(?:apps|registry_site|tests|docs|static|templates|bench|bin)/[\w./-]+$")


def targets():
    return set(TARGET.findall((sources.CHECKOUT / "Makefile").read_text()))


@pytest.mark.parametrize("name", ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "docs/ARCHITECTURE.md"])
def test_it_exists(name):
    assert (sources.CHECKOUT / name).stat().st_size > 0


@pytest.mark.parametrize("path", DOCUMENTS, ids=sources.name_of)
def test_every_make_command_is_a_target(path):
    named = {name for code in CODE.findall(path.read_text()) for name in COMMAND.findall(code)}
    assert named - targets() == set()


@pytest.mark.parametrize("path", DOCUMENTS, ids=sources.name_of)
def test_every_link_leads_somewhere(path):
    assert [link for link in LINK.findall(path.read_text()) if not (path.parent / link).exists()] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=sources.name_of)
def test_every_file_that_is_named_is_there(path):
    named = {code.strip("`") for code in CODE.findall(path.read_text())}
    missing = {name for name in named if PROJECT_PATH.match(name) and not (sources.CHECKOUT / name).exists()}
    assert missing == set()


def test_the_readme_needs_two_commands():
    text = (sources.CHECKOUT / "README.md").read_text()
    assert "make run" in text
    assert "make test" in text


def test_the_changelog_has_a_part_for_this_version():
    assert re.search(r"^## \d+\.\d+\.\d+", (sources.CHECKOUT / "CHANGELOG.md").read_text(), re.MULTILINE)
