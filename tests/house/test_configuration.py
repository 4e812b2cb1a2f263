"""docs/configuration is held against the code: every variable that is read has its heading, and no other has."""

import ast
import os
import re
import subprocess
import sys

from django.conf import settings

from registry_site import env
from tests import documents
from tests.house import sources
from tests.rooms import ARE_ALL_HERE

READERS = {
    "text",
    "choice",
    "switch",
    "number",
    "words",
    "folder",
    "address",
    "url",
    "rate",
    "some_of",
    "secrets_from",
    "secrets_in",
    "azure_key",
    "storage_url",
    "file_or_webhook",
    "trusted_proxies",
    "smtp",
}
MOST = 90  # variables that are documented: what belongs together is one variable with keys
HEADING = re.compile(r"^## `([A-Z_]+)`$", re.MULTILINE)
LINKED = re.compile(r"\[`([A-Z_]+)`\]\(configuration/[a-z-]+\.md#([a-z_]+)\)")


def names_in(path):
    """Names that commands read outside settings.py are not in `env.names_read` until the command runs."""
    for node in ast.walk(sources.tree_of(path)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in READERS):
            continue
        is_env = getattr(node.func.value, "id", "") == "env"
        if is_env and node.args and isinstance(node.args[0], ast.Constant):
            yield str(node.args[0].value).partition(".")[0]


def names_read():
    assert settings.configured
    paths = [*sources.python_files("apps", "registry_site"), sources.CHECKOUT / "manage.py"]
    for_tests = {name for name in env.names_read if name.startswith("LARDER_TEST_")}
    return {name for path in paths for name in names_in(path)} | (env.names_read - for_tests)


def of_what_is_there(names):
    """Without what rooms would read that are not here: documents name them still."""
    return set(names) if ARE_ALL_HERE else names_read().intersection(names)


def documented():
    return of_what_is_there(HEADING.findall(documents.configuration()))


def test_every_variable_is_documented():
    assert names_read() - documented() == set()
    assert len(documented()) <= MOST


def test_every_key_is_documented_with_its_variable():
    parts = dict(re.findall(r"^## `([A-Z_]+)`\n(.*?)(?=^## |\Z)", documents.configuration(), re.MULTILINE | re.DOTALL))
    pages = {name: documents.text_of("docs/configuration/outgoing.md") for name in env.keys_read if "OUTGOING" in name}
    missing = [
        (name, key) for name, keys in env.keys_read.items() for key in keys if f"`{key}`" not in (parts | pages)[name]
    ]
    assert missing == []


def test_the_page_about_upgrades_has_every_old_name():
    text = documents.text_of("docs/operations/upgrade-from-development.md")
    table = text.partition("## Settings that were merged\n")[2].partition("\n## ")[0]
    rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| `")]
    found = {name: new for old, new in rows for name in re.findall(r"`([A-Z_]+)`", old)}
    assert len(rows) > 40
    assert {name for name in found if ARE_ALL_HERE or name in env.old_names} == env.old_names.keys()
    # The new name in words is `key of VARIABLE`, `key in VARIABLE` or VARIABLE alone.
    assert [name for name, said in env.old_names.items() if said.split()[0].split("=")[0] not in found[name]] == []


def test_the_first_page_lists_every_variable():
    linked = LINKED.findall(documents.text_of("docs/configuration.md"))
    assert of_what_is_there(name for name, _ in linked) == documented()
    assert [name for name, anchor in linked if anchor != name.lower()] == []


def test_no_heading_names_a_variable_that_nobody_reads():
    assert documented() - names_read() == set()


def test_each_heading_says_default_and_example():
    parts = re.findall(r"^## `([A-Z_]+)`\n(.*?)(?=^#|\Z)", documents.configuration(), re.MULTILINE | re.DOTALL)
    assert [name for name, part in parts if "Default:" not in part] == []
    assert [name for name, part in parts if "Change it" not in part and "Set it" not in part] == []
    assert [name for name, part in parts if f"{name}=" not in part] == []


# What the image itself decides, and what is for tests.
OF_THE_IMAGE = {
    "LARDER_DATA_DIR", "LARDER_LISTEN", "LARDER_IN_CONTAINER", "LARDER_CRASH_AT", "SSL_CERT_FILE",
    "NOTIFY_SOCKET",
}  # fmt: skip


def test_compose_passes_every_variable_on():
    listed = re.findall(r"^ +- ([A-Z_]+)$", (sources.CHECKOUT / "compose.yaml").read_text(), re.MULTILINE)
    passed = of_what_is_there(listed) | {name for name in listed if name in env.old_names}
    others = {name for name in passed if name.startswith("OTEL_")}  # that OpenTelemetry's packages read
    wanted = documented() - OF_THE_IMAGE | env.old_names.keys()
    assert passed == wanted | others, "compose.yaml lists every variable of docs/configuration"


def test_the_examples_are_values_that_larder_starts_with(tmp_path):
    examples = dict(re.findall(r"Example: `([A-Z_]+)=([^`]*)`", documents.configuration()))
    # Files and folders of somebody else's machine.
    here = {name: value for name, value in examples.items() if "/" not in value or "://" in value}
    assert len(here) > 30
    providers = tmp_path / "sign-on.yaml"
    providers.write_text("providers: {corp: {issuer: 'https://id.acme.example', client_id: larder}}")
    environment = {"PATH": os.environ["PATH"], "LARDER_DATA_DIR": str(tmp_path)} | here
    environment["LARDER_SIGN_ON_FILE"] = str(providers)
    command = [sys.executable, "-c", "import registry_site.settings"]
    done = subprocess.run(command, cwd=sources.CHECKOUT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
