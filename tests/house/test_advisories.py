"""bin/advisories.py: a silent source of advisories is never taken for a clean bill."""

import os
import subprocess
import sys

import pytest

from tests.house import sources

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


@pytest.mark.parametrize(
    ("scenario", "status", "said"),
    [
        ({"BAD": "something-else"}, 0, "NOT CHECKED: no source"),
        ({"AWAY": "yes"}, 0, "NOT CHECKED: no source"),
        ({"BAD": "jinja2"}, 1, "1 with known vulnerabilities"),
        ({"BAD": "jinja2", "ONLY": "requirements.txt"}, 0, "0 with known vulnerabilities"),
        ({"BAD": "jinja2", "UNKNOWN": "django", "ONLY": "requirements.txt"}, 1, "NOT CHECKED, unknown to pypi: django"),
    ],
    ids=["knows nothing", "away", "a known vulnerability", "clean", "a package it does not know"],
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
