"""Everything that the documents name exists, and a test executes each command, or the page says why none does."""

import ast
import posixpath
import re
import shlex

from django.core.management import get_commands, load_command_class

from tests import documents, rooms
from tests.house import sources

DOCUMENTS = [*sources.CHECKOUT.glob("*.md"), *(sources.CHECKOUT / "docs").rglob("*.md")]
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)\s]+)\)")
TARGET = re.compile(r"^([a-z][a-z-]*):", re.MULTILINE)
COMMAND = re.compile(r"\bmake ([a-z][a-z-]*)(?=[`\s]|$)")
CODE = re.compile(r"```.*?```|`[^`]+`", re.DOTALL)
INDEX, MOST_LINES = "docs/README.md", 400
# What a block without a test may not begin with.
PROGRAMS = {
    "curl",
    "docker",
    "git",
    "helm",
    "kubectl",
    "make",
    "manage.py",
    "psql",
    "sh",
    "systemctl",
    "terraform",
    "tofu",
}
PROJECT_PATH = re.compile(r"^(?:apps|registry_site|tests|docs|static|templates|bench|bin)/[\w./-]+$")


def test_the_usual_documents_exist():
    for name in ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "docs/ARCHITECTURE.md"]:
        assert (sources.CHECKOUT / name).stat().st_size > 0, name


def test_every_make_command_is_a_target():
    targets = set(TARGET.findall((sources.CHECKOUT / "Makefile").read_text()))
    code = [(path.name, code) for path in DOCUMENTS for code in CODE.findall(path.read_text())]
    assert {(page, name) for page, code in code for name in COMMAND.findall(code) if name not in targets} == set()


def without_code(page):
    return CODE.sub("", documents.text_of(page))


def anchors_in(page):
    """As GitHub makes them of headings: `## What is it?` is `#what-is-it`."""
    text = re.sub(r"^ *```.*?^ *```$", "", documents.text_of(page), flags=re.DOTALL | re.MULTILINE)
    for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        yield re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def links_in(page):
    """The pages, files and anchors of its links, from the root of the checkout on."""
    for link in LINK.findall(without_code(page)):
        path, _, anchor = link.partition("#")
        yield posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page, anchor


def test_every_link_leads_somewhere():
    links = [(page, *link) for page in documents.pages() for link in links_in(page)]
    assert [link for link in links if not (sources.CHECKOUT / link[1]).exists()] == []


def test_every_link_to_a_part_of_a_page_names_one_of_its_headings():
    parts = [(page, *link) for page in documents.pages() for link in links_in(page) if link[1]]
    assert [part for part in parts if part[2] not in set(anchors_in(part[1]))] == []
    assert len(parts) > 100


def test_no_page_is_too_long_to_be_read():
    pages = [page for page in documents.pages() if page.startswith("docs/")]
    assert [page for page in pages if documents.text_of(page).count("\n") > MOST_LINES] == []


def test_the_index_lists_every_page():
    pages = {page for page in documents.pages() if page.startswith("docs/")} - {INDEX}
    assert pages - {path for path, _ in links_in(INDEX)} == set()


def capabilities():
    """The pages for who installs, publishes or connects programs, with their titles and what the index says of them."""
    for part in re.split(r"^## ", documents.text_of(INDEX), flags=re.MULTILINE):
        if part.partition("\n")[0] in ("Use", "Publish", "Integrate"):
            for title, path, said in re.findall(r"^\| \[([^\]]+)\]\(([^)#]+\.md)\) \| (.+) \|$", part, re.MULTILINE):
                yield posixpath.normpath(posixpath.join("docs", path)), f"{title} {said}"


def test_the_table_of_the_readme_names_every_capability():
    table = documents.text_of("README.md").partition("## What it does")[2].partition("\n## ")[0]
    linked = set(re.findall(r"\]\((docs/[^)#]+)", table))
    pages = {path for path, _ in capabilities()}
    assert len(pages) > 20
    # How to run Larder for others, and its API for operators, are no reason to choose it.
    assert pages - linked == {"docs/operations/people.md"} & pages


def words_of(text):
    """What a phrase is about: its words without endings and without those that any phrase has."""
    found = re.findall(r"[a-z]{3,}", text.lower())
    return {re.sub(r"(?:ing|es|s|ed)$", "", word) for word in found} - {
        "the",
        "and",
        "for",
        "your",
        "other",
        "any",
        "larder",
    }


def what_is_there(phrase):
    """The pages that describe what a phrase names: all its words are in the title or in what a page says first."""
    for path, said in capabilities():
        first = documents.text_of(path).split("\n## ")[0]
        if words_of(phrase) <= words_of(f"{said} {first}"):
            yield path


def test_the_readme_lacks_nothing_that_the_documents_describe():
    said = " ".join(documents.text_of("README.md").split()).partition("What Larder lacks today: ")[2].partition(".")[0]
    lacks = [part for part in re.split(r",? and |, ", said) if part]
    assert len(lacks) >= 3
    assert {phrase: pages for phrase in lacks if (pages := [*what_is_there(phrase)])} == {}
    # It said this when all three existed.
    for phrase in ("publishing by a Git tag", "a mirror for public providers", "pipelines without a stored secret"):
        assert [*what_is_there(phrase)], phrase


def test_every_file_that_is_named_is_there():
    named = {(path.name, code.strip("`")) for path in DOCUMENTS for code in CODE.findall(path.read_text())}
    paths = {(page, name) for page, name in named if PROJECT_PATH.match(name)}
    assert {
        (page, name) for page, name in paths if not ((sources.CHECKOUT / name).exists() or rooms.is_gone(name))
    } == set()


def test_the_map_names_files_that_are_there():
    """Maintainers' pages write paths from the room on: `oci/views/manifests.py`."""
    roots = [sources.CHECKOUT, sources.CHECKOUT / "apps", sources.CHECKOUT / "registry_site"]
    pages = [sources.CHECKOUT / "docs" / "ARCHITECTURE.md", *(sources.CHECKOUT / "docs" / "maintain").glob("*.md")]
    named = {(page.name, path) for page in pages for path in re.findall(r"`([\w./]+/\w+\.py)`", page.read_text())}
    assert {
        (page, path)
        for page, path in named
        if not any((root / path).is_file() for root in roots) and not rooms.is_gone(path)
    } == set()


def test_the_readme_needs_two_commands():
    text = (sources.CHECKOUT / "README.md").read_text()
    assert "make run" in text
    assert "make test" in text


def test_the_changelog_has_a_part_for_this_version():
    assert re.search(r"^## \d+\.\d+\.\d+", (sources.CHECKOUT / "CHANGELOG.md").read_text(), re.MULTILINE)


def test_all_name_the_same_version():
    """`make release` writes them. After it, a section may be open for the next one."""
    chart = (sources.CHECKOUT / "deploy/helm/larder/Chart.yaml").read_text()
    changelog = (sources.CHECKOUT / "CHANGELOG.md").read_text()
    sections = re.findall(r"^## ([0-9.]+), (.+)$", changelog, re.MULTILINE)
    found = {
        "pyproject.toml": re.findall(
            r'^version = "(.+)"$', (sources.CHECKOUT / "pyproject.toml").read_text(), re.MULTILINE
        )[0],
        "version": re.findall(r"^version: (.+)$", chart, re.MULTILINE)[0],
        "appVersion": re.findall(r"^appVersion: (.+)$", chart, re.MULTILINE)[0],
    }

    assert len(set(found.values())) == 1, found
    open_and_released = sections[: 2 if sections[0][1] == "unreleased" else 1]
    assert found["version"] in [version for version, _ in open_and_released]


def commands_in(path):
    """The lines of shell blocks that call manage.py, without comments and redirections."""
    for block in re.findall(r"```sh\n(.*?)```", path.read_text(), re.DOTALL):
        for line in re.sub(r"\$\([^)]*\)", "today", block.replace("\\\n", " ")).splitlines():
            if "manage.py" not in line:
                continue
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


# --- Who executes them ------------------------------------------------------------------------------------------------


def fences():
    return [fence for page in documents.pages() for fence in documents.fences(page)]


def shell_fences():
    return [fence for fence in fences() if fence.language in documents.SHELL]


def test_each_block_of_commands_says_which_test_runs_it_or_why_none_does():
    assert [str(fence) for fence in shell_fences() if not (fence.test or fence.reason)] == []
    assert [str(fence) for fence in shell_fences() if fence.reason and len(fence.reason.split()) < 3] == []
    assert len(shell_fences()) > 50


def test_no_block_of_commands_calls_itself_something_else():
    others = [fence for fence in fences() if fence.language in ("", "text") and fence.text.strip()]
    assert [str(fence) for fence in others if fence.text.split()[0] in PROGRAMS] == []


def test_each_test_that_a_block_names_exists_and_reads_the_page():
    """It takes the block by `documents.run_by`, which finds what names it, or names the page."""
    wrong = []
    for fence in shell_fences():
        path, _, name = fence.test.partition("::")
        if not path or rooms.is_gone(path):
            continue
        file = sources.CHECKOUT / path
        functions = {node.name for node in ast.walk(sources.tree_of(file)) if isinstance(node, ast.FunctionDef)}
        text = file.read_text()
        if name not in functions or not (fence.page in text or ("documents.run_by(" in text and text.count(name) > 1)):
            wrong.append((str(fence), fence.test))
    assert wrong == []


def test_each_test_that_a_reason_names_is_there():
    paths = re.compile(r"(?:apps/contrib/\w+/)?tests/\S+\.py")
    named = {(str(fence), path) for fence in fences() for path in paths.findall(fence.reason)}
    assert {one for one in named if not ((sources.CHECKOUT / one[1]).is_file() or rooms.is_gone(one[1]))} == set()
