"""Larder asks before it publishes a module that no client loads: in the API and in the browser (OCI: test_refused)."""

import re
import shutil
import subprocess

import pytest

from apps.accounts.access.gate import Viewer
from apps.lib.errors import Reason
from apps.modules import answers
from apps.modules.inspection.loading import faults_in, question
from apps.modules.inspection.units import read_module
from apps.releases.models import Release
from tests.builders.archives import MODULE, PRIVATE_KEY, module_zip
from tests.needs import CLIENTS
from tests.rows import for_each_row

CALL = 'module "x" {{\n  source = "{}"\n}}\n'
SIZE = 'variable "size" {}\n'
PROVIDER = 'provider "terraform" {}\n'
REQUIRED = "terraform {\n  required_providers {}\n}\n"
CHECKS = {"main.tf": 'check "a" {\n  data "terraform_remote_state" "a" {\n    backend = "local"\n  }\n}\n'}

# Measured with `terraform get` 1.11 and `tofu get` 1.12: the test below asks those that are installed again.
REFUSED_BY_CLIENTS: dict[str, tuple[dict[str, str], str]] = {
    "a call that leaves the archive": ({"main.tf": CALL.format("../x")}, "leads out of the archive"),
    "a call of a submodule that leaves it": (
        {"main.tf": "", "modules/a/main.tf": CALL.format("../../../x")},
        "leads out of the archive",
    ),
    "a call of a folder that is not there": ({"main.tf": CALL.format("./x")}, "there is no x"),
    "a call of a file": ({"main.tf": CALL.format("./main.tf")}, "there is no main.tf"),
    "a call in another letter case": (
        {"main.tf": CALL.format("./lib/A"), "lib/a/main.tf": ""},
        "there is no lib/A",
    ),
    "a call two folders further on": (
        {
            "main.tf": CALL.format("./lib/a"),
            "lib/a/main.tf": CALL.format("../b"),
            "lib/b/main.tf": CALL.format("../c"),
        },
        "there is no lib/c",
    ),
    "a block that is unclosed": ({"main.tf": 'variable "a" {\n'}, "unclosed"),
    "two arguments on a line": ({"main.tf": "locals {\n  a = 1 b = 2\n}\n"}, "line 2: "),
    "an argument twice": ({"main.tf": 'variable "a" {\n  default = 1\n  default = 2\n}\n'}, "twice"),
    "JSON that is cut off": ({"main.tf.json": '{"variable": {'}, "main.tf.json, line 1: "),
    "a variable twice": (
        {"main.tf": SIZE, "variables.tf": SIZE},
        "variable size is already declared in main.tf, line 1",
    ),
    "a variable in HCL and in JSON": ({"a.tf": SIZE, "b.tf.json": '{"variable": {"size": {}}}'}, "declared in a.tf"),
    "a local value twice": (
        {"main.tf": "locals {\n  a = 1\n}\nlocals {\n  a = 2\n}\n"},
        "local a is already declared in main.tf",
    ),
    "a local value twice in JSON": (
        {"main.tf.json": '{"locals": [{"a": 1}, {"a": 2}]}'},
        "local a is already declared",
    ),
    "a provider twice": ({"main.tf": PROVIDER * 2}, "provider terraform is already configured"),
    "required_providers twice": ({"a.tf": REQUIRED, "b.tf": REQUIRED}, "required_providers is already set in a.tf"),
    "a data source and the same in a check": (
        {**CHECKS, "b.tf": 'data "terraform_remote_state" "a" {\n  backend = "local"\n}\n'},
        "data terraform_remote_state.a is already declared",
    ),
    "an override of nothing": ({"main.tf": "", "override.tf": SIZE}, "no variable size to override"),
}
LOADED_BY_CLIENTS: dict[str, dict[str, str]] = {
    "a folder without configuration": {"main.tf": CALL.format("./docs"), "docs/README.md": "# Docs\n"},
    "a way round, with slashes to spare": {
        "main.tf": CALL.format("./modules/../modules//a/"),
        "modules/a/main.tf": "",
    },
    "the root from below": {"main.tf": SIZE, "modules/a/main.tf": CALL.format("../../").replace("}", "  size = 1\n}")},
    "an override, also twice": {"main.tf": SIZE, "override.tf": SIZE * 2, "a_override.tf": SIZE},
    "an override of a call": {
        "main.tf": CALL.format("./none"),
        "override.tf": CALL.format("./a"),
        "a/main.tf": "",
    },
    "a provider that is only in an override": {"main.tf": "", "override.tf": PROVIDER},
    "a tofu file beside one of the same name": {"main.tf": SIZE, "main.tofu": SIZE},
    "a tofu file that replaces what one client refuses": {"main.tf": "{", "main.tofu": SIZE},
    "a tofu file that one client refuses": {"main.tf": SIZE, "other.tofu": SIZE},
    "a tf file that one client refuses": {"a.tofu": SIZE, "b.tf": SIZE},
    "a damaged tofu file that one client refuses": {"main.tf": SIZE, "other.tofu": "{"},
    "two blocks of one key in JSON": {"main.tf.json": '{"variable": {"a": {}}, "variable": {"b": {}}}'},
    "null for a block in JSON": {"main.tf.json": '{"variable": {"a": null}}'},
    "an exponent": {"main.tf": "locals {\n  a = 1e5\n}\n"},
    "providers that an alias tells apart": {"main.tf": PROVIDER + PROVIDER.replace("{}", '{\n  alias = "b"\n}')},
}


@pytest.fixture
def put(sent):
    def send(files, query: str = "", version: str = "1.2.0") -> Release:
        sent(module_zip(files), query, version)
        return Release.objects.latest("pk")

    return send


def asked(files: dict[str, str]) -> Reason | None:
    """What is asked about these files."""
    return question(faults_in(read_module({name: text.encode() for name, text in files.items()}, {}), files))


@for_each_row(("files", "words"), REFUSED_BY_CLIENTS.values(), ids=REFUSED_BY_CLIENTS)
def test_what_no_client_loads_is_asked_about(files, words):
    reason = asked(files)
    assert reason is not None
    assert words in reason.found


@for_each_row("files", LOADED_BY_CLIENTS.values(), ids=LOADED_BY_CLIENTS)
def test_nothing_is_asked_where_some_client_loads_it(files):
    assert asked(files) is None


@pytest.mark.parametrize("client", CLIENTS)
def test_real_clients_say_the_same(client, tmp_path):
    def get(cases) -> str:
        """The client's output for a configuration that calls all of them, each by `m<number>`."""
        blocks = []
        for number, files in enumerate(cases):
            archive = tmp_path / f"{number}.zip"
            archive.write_bytes(module_zip(files))
            folder = "//modules/a" if "modules/a/main.tf" in files else ""
            blocks.append(CALL.format(f"{archive}{folder}").replace('"x"', f'"m{number}"'))
        (tmp_path / "main.tf").write_text("".join(blocks))
        ended = subprocess.run([client, "get", "-no-color"], cwd=tmp_path, capture_output=True, check=False)
        return ended.stderr.decode()

    loaded = get(files for name, files in LOADED_BY_CLIENTS.items() if "one client" not in name)
    shutil.rmtree(tmp_path / ".terraform")
    refused = get(files for files, _ in REFUSED_BY_CLIENTS.values())

    assert "Error" not in loaded
    missing = [name for at, name in enumerate(REFUSED_BY_CLIENTS) if not re.search(rf"[./]m{at}\b|{at}\.zip", refused)]
    assert missing == []


def test_the_number_is_free_again_and_yes_publishes_it_with_a_warning(put):
    files = {"main.tf": CALL.format("../x"), "README.md": "# VPC\n"}
    refused = put(files)
    assert (refused.state, [reason["code"] for reason in refused.reasons]) == ("rejected", ["unloadable"])
    assert Reason.from_dict(refused.reasons[0]).sentence.startswith(f"Found {refused.reasons[0]['found']}")
    assert "?confirm=unloadable" in refused.reasons[0]["hint"]

    release = put(files, "?confirm=unloadable")

    assert (release.state, release.confirmed) == ("published", ["unloadable"])
    assert [warning["file"] for warning in release.notes["warnings"]] == ["main.tf"]

    files = {"modules/a/main.tf": CALL.format("../b"), "modules/b/main.tf": SIZE.replace("{}", "{\n  default = 1\n}")}
    assert put(files, "?folder=modules/a", "1.3.0").reasons[0]["code"] == "unloadable", "one folder is judged alone"
    assert put(files, version="1.3.0").state == "published"


def test_examples_tests_and_templates_are_warned_of(put, client, alice):
    broken = {
        "examples/a/main.tf": CALL.format("../../../none"),
        "test/main.tf": "{",
        "modules/a/main.tf": "",
        "modules/a/tests/main.tf": SIZE * 2,
        "modules/a/templates/main.tf": "${body}\n",
        "wrappers/main.tf": CALL.format("../modules/b"),
    }
    release = put({**MODULE, **broken})

    assert release.state == "published"
    files = {warning["file"] for warning in release.notes["warnings"] if warning["code"] == "unloadable"}
    assert files == set(broken) - {"modules/a/main.tf"}
    client.force_login(alice)
    page = client.get(f"/releases/{release.public_id}").text
    assert page.count('data-warning="unloadable"') == len(files)
    assert "was left out" not in page

    many = put({"main.tf": "", **{f"test/t{number}/main.tf": "{" for number in range(23)}}, version="1.3.0")
    said = [warning["found"] for warning in many.notes["warnings"]]
    assert (len(said), said[-1]) == (21, "and 3 more like this")


def test_what_the_root_calls_counts_and_many_or_long_faults_are_said_in_short(put):
    release = put({"main.tf": CALL.format("./examples/a"), "examples/a/main.tf": SIZE * 2})
    assert release.reasons[0]["file"] == "examples/a/main.tf", "wherever it lies"

    long = put({"main.tf": CALL.format("../" + "x" * 9_000)})
    assert len(long.reasons[0]["found"]) < 400

    (reason,) = put({"main.tf": "", **{f"modules/m{number}/main.tf": "{" for number in range(9)}}).reasons
    assert reason["found"].count("modules/") == 5
    assert reason["found"].endswith("and 4 more")


def test_a_person_is_asked_everything_at_once(uploaded, alice, work, client, stored_files):
    release = uploaded({"main.tf": CALL.format("./none"), "id_rsa": PRIVATE_KEY, "terraform.tfstate": "{}"})

    assert release.state == "held"
    codes = ["state_file", "private_key", "unloadable"]
    assert [question["code"] for question in release.questions] == codes
    assert len([key for key in stored_files() if key.startswith("staging/")]) == 1
    client.force_login(alice)
    page = client.get(f"/releases/{release.public_id}").text
    assert "If you publish it as it is, clients will fail with: main.tf, line 1: the source of module x, ./none" in page
    assert 'name="unloadable"' in page
    answers.answer(release=release, viewer=Viewer(alice), confirm=codes)
    work()
    release.refresh_from_db()
    assert release.state == "published"
