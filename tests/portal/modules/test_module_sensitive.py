"""The default of a sensitive variable is on no page of its version; what clients download still holds it"""

import html
import json
import re

import pytest

from tests.builders.archives import MODULE, module_zip
from tests.modules.inspection.inspections import as_json, path_of
from tests.modules.inspection.test_secrets import CASES, SECRET, SENSITIVE

AT = "/modules/acme/vault/aws/1.0.0"
MARK = "after-the-block"
VALUES = {
    "list over lines": f'[\n    "{SECRET}",\n    "x",\n  ]',
    "map over lines": f'{{\n    "k" = "{SECRET}"\n    l = {{ m = "{SECRET}" }}\n  }}',
    "indented heredoc": f"<<-EOT\n    one\n    {SECRET}\n  EOT",
    "template": f'"a ${{1 + 1}} {SECRET} }} \\" b"',
    "comment before it": f'/* }} */ "{SECRET}"',
}
MORE = {
    **{name: f'variable "x" {{\n  default = {value}\n{SENSITIVE}}}\n' for name, value in VALUES.items()},
    "on one line": f'variable "x" {{ default = "{SECRET}", sensitive = true }}\n',
    "alone on one line": f'variable "x" {{ default = "{SECRET}" }}\nvariable "x" {{ sensitive = true }}\n',
    "label without quotes": f'variable x {{\n  default = "{SECRET}"\n{SENSITIVE}}}\n',
    "comment before its label": f'variable /* a */ "x" {{\n  default = "{SECRET}"\n{SENSITIVE}}}\n',
    "comment before the equals sign": f'variable "x" {{\n  default /* a */ = "{SECRET}"\n{SENSITIVE}}}\n',
    "Windows line breaks": f'variable "x" {{\r\n  default = <<A\r\n{SECRET}\r\nA\r\n  sensitive = true\r\n}}\r\n',
    "behind a lost heredoc": (
        f'output "o" {{\n  value = <<A\n}}\nvariable "x" {{\n{SENSITIVE}  default = <<A\n{SECRET}\nA\n}}\n}}\n"'
    ),
    "too deep": (
        f'locals {{\n  x = {"[" * 300}{"]" * 300}\n}}\nvariable "x" {{\n  default = "{SECRET}"\n{SENSITIVE}}}\n'
    ),
}
JSON = {
    "many bodies": as_json(variable={"x": [{"default": {"k": [SECRET]}}, {"sensitive": "true"}]}),
    "a list": as_json(variable=[{"x": {"default": SECRET, "sensitive": "${var.y}"}}]),
    "cut off": as_json(variable={"x": {"default": SECRET, "sensitive": True}})[:-4],
    "escapes": json.dumps({"variable": {"x": {"default": SECRET, "sensitive": True}}}).replace("sens", "\\u0073ens"),
}


def files():
    """Every case in a submodule of its own, and some in folders that nobody inspects."""
    found: dict[str, str | bytes] = dict(MODULE)
    for number, case in enumerate(CASES.values()):
        found |= {f"modules/c{number:02}/{path_of(name)}": text for name, text in case.items()}
    for number, (name, text) in enumerate(MORE.items()):
        found[f"modules/m{number:02}/main.tf"] = text
        found[f"test/m{number:02}/{name}.tf"] = text
    for number, text in enumerate(JSON.values()):
        found[f"modules/j{number:02}/main.tf.json"] = found[f"test/j{number:02}.tf.json"] = text
    return found


@pytest.fixture
def ask(browser_of, bob, published):
    published("acme/vault/aws", "1.0.0", data=module_zip(files()))
    return browser_of(bob).get


def test_no_page_of_the_version_shows_it(ask):
    waiting, seen = {AT, "/modules?q=hunter", "/modules?q=vault", "/", "/namespaces/acme"}, set()
    while waiting:
        path = waiting.pop()
        seen.add(path)
        response = ask(path)
        assert response.status_code == 200, path
        page = response.content.decode()
        assert SECRET not in page, path
        links = {html.unescape(link).partition("#")[0] for link in re.findall(r'href="([^"]+)"', page)}
        waiting |= {link for link in links if link.startswith(AT) and not re.search(r"/raw/|/archive$", link)} - seen

    assert len([path for path in seen if path.endswith((".tf", ".tf.json", ".tofu"))]) > 50
    assert {f"{AT}/inputs", f"{AT}/submodules/m00", f"{AT}/files/test"} <= seen


def test_nor_does_what_programs_read(ask):
    for path in ("/v1/modules/acme/vault/aws/1.0.0", "/v1/modules/acme/vault/aws", "/v1/modules/search?q=hunter"):
        assert SECRET not in ask(path).content.decode(), path


def test_the_other_lines_keep_their_numbers(published, browser_of, bob):
    for number, value in enumerate(VALUES.values()):
        text = f'variable "x" {{\n  default = {value}\n{SENSITIVE}}}\n# {MARK}\n'
        published("acme/vault/aws", f"1.0.{number}", data=module_zip({"main.tf": text}))

        page = browser_of(bob).get(f"/modules/acme/vault/aws/1.0.{number}/files/main.tf").content.decode()

        line = text[: text.index(MARK)].count("\n") + 1
        assert re.search(rf'id="L{line}">(?:(?!id=").)*{MARK}', page)
        assert "(sensitive)" in page
        assert "The archive itself still holds them" in page


def test_what_is_not_sensitive_is_shown(published, browser_of, bob):
    text = 'variable "x" {\n  description = "sensitive words"\n  default = "shown"\n  sensitive = false\n}\n'
    published("acme/vault/aws", "1.0.0", data=module_zip({"main.tf": text, "a.tf.json": as_json(variable={})}))
    browser = browser_of(bob)

    page = browser.get(f"{AT}/files/main.tf").content.decode()

    assert "shown" in page.partition("<code data-copy-text>")[2]
    assert "left out here" not in page
    assert browser.get(f"{AT}/raw/main.tf")["Content-Disposition"].startswith("inline")
    assert "variable" in browser.get(f"{AT}/files/a.tf.json").content.decode()


def test_json_that_cannot_be_read_is_withheld(ask):
    number = list(JSON).index("cut off")

    page = ask(f"{AT}/files/modules/j{number:02}/main.tf.json").content.decode()

    assert "This file is not shown: it is no JSON" in page


@pytest.mark.parametrize("path", ["modules/c00/main.tf", "modules/j00/main.tf.json"])
def test_raw_it_is_the_authors_bytes_and_only_downloaded(ask, path):
    response = ask(f"{AT}/raw/{path}")

    packed = files()[path]
    assert response.content.decode() == packed
    assert SECRET in response.content.decode()
    assert response["Content-Disposition"].startswith("attachment")
    assert response["Content-Type"] == "application/octet-stream"


def test_the_beginning_of_a_long_file_is_masked_as_well(published, browser_of, bob):
    block = f'variable "x%d" {{\n  default = "{SECRET}"\n{SENSITIVE}}}\n'
    text = "".join(block % number for number in range(12_000))
    published("acme/vault/aws", "1.0.0", data=module_zip({"main.tf": text, "deep/down/main.tf": text}))

    for path in ("main.tf", "deep/down/main.tf"):
        page = browser_of(bob).get(f"{AT}/files/{path}").content.decode()
        assert "This is its beginning" in page
        assert SECRET not in page
