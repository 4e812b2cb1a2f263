"""Modules that load and can never be planned, as `plan` of the clients says it: a warning, and no fault."""

import os
import subprocess

import pytest

from apps.modules.inspection.units import read_module
from tests.modules.inspection.language.plans import FINE, INPUTS, JSON, OF_PROVIDERS, WRONG, output
from tests.needs import CLIENTS
from tests.rows import for_each_row


def files_of(text):
    return text if isinstance(text, dict) else {"main.tf": text}


def read(files):
    found = read_module({path: text.encode() for path, text in files.items()}, {})
    assert found["faults"] == {}
    return [one for unit in found["units"] for one in unit.get("plan_errors", ())]


@for_each_row(("line", "said", "hint", "text"), WRONG.values(), ids=WRONG)
def test_what_can_never_be_planned_is_a_warning_with_its_line_and_how_to_fix_it(line, said, hint, text):
    (found,) = read(files_of(text))
    assert (found["file"], found["line"]) == ("main.tf", line)
    assert said in found["message"]
    assert hint in found["hint"]


@for_each_row("text", [*FINE.values(), *OF_PROVIDERS.values()], ids=[*FINE, *OF_PROVIDERS])
def test_what_can_be_planned_has_no_warning(text):
    assert read(files_of(text)) == []


@for_each_row(("said", "text"), JSON.values(), ids=JSON)
def test_json_is_read_as_the_native_syntax(said, text):
    (found,) = read({"main.tf.json": text, "a/main.tf": INPUTS})
    assert said in found["message"]


def test_a_folder_has_at_most_twenty_and_says_where_each_name_is_used_first():
    text = "".join(f'output "o{at}" {{\n  value = [var.v{at}, var.v{at}]\n}}\n' for at in range(100))
    found = read({"main.tf": text})
    assert [(one["line"], one["message"].split(",")[0]) for one in found][:2] == [
        (2, "found var.v0"),
        (5, "found var.v1"),
    ]
    assert len(found) == 20


def test_a_folder_that_is_not_read_as_a_whole_has_no_warning():
    wrong = {"main.tf": output("var.zone")}
    assert read(wrong)
    for more in ({"b.tofu": ""}, {"override.tf": 'output "x" {\n  value = 1\n}\n'}):
        assert read(wrong | more) == []
    damaged = read_module({"main.tf": wrong["main.tf"].encode(), "b.tf": b'variable "x" {'}, {})
    assert "plan_errors" not in damaged["units"][0]


@pytest.mark.slow
@pytest.mark.parametrize("client", CLIENTS)
def test_the_plan_of_an_installed_client_says_the_same(client, tmp_path):
    alone = os.environ | {"HOME": str(tmp_path), "CHECKPOINT_DISABLE": "1", "TF_CLI_CONFIG_FILE": os.devnull}
    rows = [*((name, one[-1], True) for name, one in WRONG.items()), *((*one, False) for one in FINE.items())]
    for name, text, is_wrong in rows:
        for path, content in files_of(text).items():
            (tmp_path / name / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name / path).write_text(content)

        def run(*words, folder=tmp_path / name):
            return subprocess.run([client, *words], cwd=folder, env=alone, capture_output=True, check=False)

        loaded, planned = run("init", "-backend=false"), run("plan", "-input=false")
        assert (loaded.returncode != 0, planned.returncode != 0) in {(False, is_wrong), (is_wrong, is_wrong)}, (
            name,
            loaded,
            planned,
        )
