"""Three modules with history, by zip, tarball and folder: what python-hcl2 finds in them is on their pages."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import hcl2
import pytest
from playwright.sync_api import Page

from tests.browser.catalogue import REAL, SPACE, Shelf
from tests.browser.publishing import describe, expect_published, publish

pytestmark = pytest.mark.live


def folders(files: Mapping[str, bytes], above: str) -> list[str]:
    """The names of the folders right below `above` that hold module files."""
    names = {path.split("/")[1] for path in files if path.startswith(f"{above}/") and path.endswith((".tf", ".tofu"))}
    return sorted(names)


def declared(files: Mapping[str, bytes], folder: str) -> tuple[set[str], set[str]]:
    """The inputs and outputs of one folder's own files, as python-hcl2 reads them."""
    variables: set[str] = set()
    outputs: set[str] = set()
    for path, data in files.items():
        above, _, name = path.rpartition("/")
        if above == folder and name.endswith(".tf"):
            document = hcl2.loads(data.decode())
            variables |= {key.strip('"') for block in document.get("variable", []) for key in block}
            outputs |= {key.strip('"') for block in document.get("output", []) for key in block}
    return variables, outputs


def pages_of(files: Mapping[str, bytes]) -> Iterator[tuple[str, set[str]]]:
    """Each tab with the markers that must be on it."""
    variables, outputs = declared(files, "")
    assert variables
    assert outputs
    yield "inputs", {f'id="input_{name}"' for name in variables}
    yield "outputs", {f'id="output_{name}"' for name in outputs}
    for above in ("modules", "examples"):
        kind = {"modules": "submodules", "examples": "examples"}[above]
        names = folders(files, above)
        assert names, f"the builder gives {kind}"
        yield kind, {f"/{kind}/{name}" for name in names}
        for name in names:
            inside, out = declared(files, f"{above}/{name}")
            found = {f'id="input_{one}"' for one in inside} | {f'id="output_{one}"' for one in out}
            yield f"{kind}/{name}", found


def check(shelf: Shelf, name: str, version: str, files: Mapping[str, bytes]) -> None:
    with shelf.live.client() as client:
        for tab, markers in pages_of(files):
            page = client.get(f"/modules/{SPACE}/{name}/{version}/{tab}")
            assert page.status_code == 200, tab
            assert {marker for marker in markers if marker not in page.text} == set(), (name, version, tab)


@pytest.mark.parametrize("version", ["1.0.0", "1.1.0", "2.0.0"])
@pytest.mark.parametrize("name", sorted(REAL))
def test_a_zip_and_a_tarball_show_all_that_they_declare(full_shelf: Shelf, name: str, version: str) -> None:
    check(full_shelf, name, version, REAL[name](version))


@pytest.mark.parametrize("name", sorted(REAL))
def test_a_folder_shows_all_that_it_declares(full_shelf: Shelf, shelf_page: Page, tmp_path: Path, name: str) -> None:
    files = REAL[name]("2.0.0")
    for path, data in files.items():
        target = tmp_path / "module" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    short, _, system = name.partition("/")
    page = shelf_page
    describe(page, SPACE, short)
    page.get_by_label("System", exact=True).fill(system)
    page.locator("#chosen-folder").set_input_files(tmp_path / "module")
    page.get_by_label("Version", exact=True).fill("2.0.1")
    publish(page)
    expect_published(page)
    check(full_shelf, name, "2.0.1", files)
