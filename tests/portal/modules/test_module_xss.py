"""Over 200 hostile texts in everything that a module's author writes, on every page that shows it"""

import itertools
from functools import cache
from urllib.parse import quote

import pytest

from apps.modules.contents import readme
from apps.modules.models import Module, ModuleVersion
from apps.releases.models import Release
from tests.builders.hostile import PAYLOADS, findings_in
from tests.portal.rows import add_module
from tests.rows import for_each_row

AT = "/modules/acme/evil/aws/1.0.0"
TABS = ["", "/inputs", "/usage", "/outputs", "/resources", "/dependencies", "/submodules", "/examples", "/files"]
BATCH = 30


def lines(text):
    """Return texts for the name of a unit or a file: no slash, which would make another file of it."""
    return text.replace("/", "|").replace("\0", "").replace("\n", " ")


def unit(text, **fields):
    """A unit with the text in every field that holds text."""
    place = {"file": lines(text), "line": 1}
    flags = {"sensitive": False, "ephemeral": True, "deprecated": text}
    return {
        "path": "",
        "kind": "root",
        "name": "",
        "readme": "",
        "summary": text,
        "required_version": [{"text": text, **place}],
        "variables": [
            {
                "name": text,
                "type": text,
                "default": None if required else text,
                "required": required,
                "description": text,
                "nullable": False,
                "validations": [text],
                **flags,
                **place,
            }
            for required in (True, False)
        ],
        "outputs": [{"name": text, "description": text, **flags, **place}],
        "resources": [
            {"mode": mode, "type": text, "name": text, "provider": text, **place}
            for mode in ("managed", "data", "ephemeral")
        ],
        "providers": [{"name": text, "source": text, "version": text, "aliases": [text], **place}],
        "calls": [{"name": text, "source": text, "version": text, **place}],
        "warnings": [{"message": text, "column": 1, **place}],
        **fields,
    }


def joined(units):
    """One unit with the rows of all."""
    lists = {
        name: [row for one in units for row in one[name]] for name, rows in units[0].items() if isinstance(rows, list)
    }
    return units[0] | lists


@cache
def everything():
    """All payloads at once in what is read from a module's files."""
    inner = [
        unit(text, path=f"{folder}/{lines(text)}", kind=kind, name=lines(text), readme=readme.render(text.encode()))
        for kind, folder in (("submodule", "modules"), ("example", "examples"))
        for text in PAYLOADS
    ]
    return {"units": [joined([unit(text) for text in PAYLOADS]), *inner]}


@pytest.fixture
def evil(acme):
    """One module with all payloads in everything that is shown of it."""
    names = [lines(text) for text in PAYLOADS]
    files = [{"name": name, "size": 1} for name in (*names, *(f"a/{name}/b" for name in names))]
    add_module(acme, "evil/aws", "1.0.0", summary=PAYLOADS[0], inspection=everything(), files=files)
    Module.objects.update(description=PAYLOADS[0], source_url="javascript:alert(1)")
    Release.objects.update(notes={"left_out": list(PAYLOADS), "form": PAYLOADS[0]}, uploaded_digest="0" * 64)


def test_the_check_itself_finds_what_it_looks_for():
    unescaped = [text for text in PAYLOADS if text.lstrip().startswith("<") and findings_in(text)]
    assert len(unescaped) > 80


def test_no_readme_acts():
    found = {text: findings_in(readme.render(text.encode(), prefix=AT, files=["x"])) for text in PAYLOADS}
    assert {text: findings for text, findings in found.items() if findings} == {}


def test_no_readme_acts_among_others():
    """An unclosed payload must not change the next one."""
    for one, other in itertools.pairwise(PAYLOADS):
        for between in ("", "\n", "\n\n"):
            assert findings_in(readme.render(f"{one}{between}{other}".encode())) == [], (one, other)


def test_no_description_acts():
    found = {text: findings_in(readme.describe(text)) for text in PAYLOADS}
    assert {text: findings for text, findings in found.items() if findings} == {}


@pytest.mark.slow
@for_each_row("tab", TABS)
def test_no_tab_acts(browser_of, bob, evil, tab):
    response = browser_of(bob).get(f"{AT}{tab}")

    assert response.status_code == 200
    assert findings_in(response.content.decode()) == []


@pytest.mark.slow
def test_the_page_with_each_readme_does_not_act(browser_of, bob, evil):
    browser = browser_of(bob)
    for start in range(0, len(PAYLOADS), BATCH):
        source = "\n\n".join(PAYLOADS[start : start + BATCH]).encode()
        ModuleVersion.objects.update(readme_html=readme.render(source, prefix=AT))
        assert findings_in(browser.get(AT).content.decode()) == []


@pytest.mark.slow
@for_each_row(("turn", "folder"), [*enumerate(["submodules", "examples", "files", "files/a", "raw"])])
def test_no_page_of_a_hostile_name_acts(browser_of, bob, evil, turn, folder):
    """Each page escapes a name by the same means: the folders take the payloads in turn."""
    browser = browser_of(bob)
    for text in PAYLOADS[turn * 9 :: 45]:
        response = browser.get(f"{AT}/{folder}/{quote(lines(text))}")

        # Nobody knows where such a file lies in the archive: the page says so, and raw there is nothing.
        assert response.status_code == (404 if folder == "raw" else 200), text
        assert findings_in(response.content.decode()) == [], text
