"""bin/advisories.py: a silent source of advisories is never taken for a clean bill, and CI says that it was silent."""

import os
import shutil
import subprocess
import sys

import pytest

from tests.house import sources
from tests.rows import for_each_row

# It stands for pip-audit and its source, which may be out of reach here.
PIP_AUDIT = """
import json, os, sys
lines = [line.split(" ;")[0].rstrip(chr(92)) for line in open(sys.argv[sys.argv.index("-r") + 1]) if "==" in line]
pins = [line.split()[0].split("==") for line in lines if line[0].isalnum()]
packages = [{"name": name, "version": version, "vulns": []} for name, version in pins]
for package in packages:
    if package["name"] in os.environ["BAD"].split():
        package["vulns"] = [{"id": "PYSEC-1"}]
    if package["name"] in os.environ["UNKNOWN"].split():
        package["skip_reason"] = "not found"
if os.environ["AWAY"]:
    sys.exit("no route to host")
print(json.dumps({"dependencies": packages}))
"""


@for_each_row(
    ("scenario", "status", "said"),
    [
        ({"BAD": "something-else"}, 2, "NOT CHECKED: no source"),
        ({"AWAY": "yes"}, 2, "NOT CHECKED: no source"),
        ({"BAD": "jinja2"}, 1, "1 with known vulnerabilities"),
        ({"BAD": "jinja2", "ONLY": "requirements.txt"}, 0, "0 with known vulnerabilities"),
        ({"BAD": "jinja2", "UNKNOWN": "django", "ONLY": "requirements.txt"}, 2, "NOT CHECKED, unknown to pypi: django"),
        ({"BAD": "jinja2", "UNKNOWN": "django"}, 1, "NOT CHECKED, unknown to pypi: django"),
    ],
    ids=["knows nothing", "away", "vulnerable", "clean", "a package it does not know", "vulnerable, and one unknown"],
)
def test_what_was_not_checked_is_said_aloud(tmp_path, scenario, status, said):
    (tmp_path / "pip_audit.py").write_text(PIP_AUDIT)
    command = [sys.executable, str(sources.CHECKOUT / "bin" / "advisories.py")]
    only = scenario.pop("ONLY", None)
    environment = os.environ | {"BAD": "", "UNKNOWN": "", "AWAY": "", "PYTHONPATH": str(tmp_path)} | scenario
    done = subprocess.run(
        [*command, *([only] if only else [])], env=environment, capture_output=True, text=True, check=False
    )
    assert said in done.stdout
    assert done.returncode == status


@pytest.fixture
def ci(tmp_path):
    """Run .ci/run where every program that it calls succeeds, but for the script that looks for advisories."""
    programs = tmp_path / "programs"
    for folder in (".ci", ".venv/bin", "programs"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(sources.CHECKOUT / ".ci" / "run", tmp_path / ".ci" / "run")
    (tmp_path / "bin").mkdir()
    for program in (tmp_path / "bin" / "prepare", *(programs / name for name in ("azurite-blob", "make", "python3"))):
        program.write_text("#!/bin/sh\n")
    (tmp_path / ".venv" / "bin" / "python").write_text(
        '#!/bin/sh\ncase $1 in bin/advisories.py) exit "$ADVISORIES" ;; esac\n'
    )
    for file in [tmp_path / "bin" / "prepare", *programs.iterdir(), tmp_path / ".venv" / "bin" / "python"]:
        file.chmod(0o755)

    def run(advisories: int, **environment: str) -> "subprocess.CompletedProcess[str]":
        path = f"{programs}:{os.environ['PATH']}"
        environment = {"PATH": path, "HOME": str(tmp_path), "ADVISORIES": str(advisories)} | environment
        command = [tmp_path / ".ci" / "run"]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    return run


def test_ci_goes_on_where_nothing_could_be_checked_and_says_so_last(ci):
    done = ci(2)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "+ make test-all" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("!!!! NOT CHECKED: whether a pinned package has known")


@for_each_row(("advisories", "require"), [(1, ""), (1, "advisories"), (2, "advisories"), (2, "tofu,advisories")])
def test_ci_fails_for_a_known_vulnerability_and_where_it_must_not_miss_one(ci, advisories, require):
    done = ci(advisories, LARDER_REQUIRE=require)

    assert done.returncode == advisories, done.stdout + done.stderr
    assert ("!!!! NOT CHECKED: whether" in done.stdout) == (advisories == 2)


def test_ci_says_nothing_of_advisories_where_all_were_checked(ci):
    done = ci(0, LARDER_REQUIRE="advisories")

    assert (done.returncode, "NOT CHECKED" in done.stdout) == (0, False)
