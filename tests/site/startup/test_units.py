"""deploy/systemd: systemd takes the units, which run the commands of Compose and may do little else.

tests/production.py runs them under the same restrictions.
"""

import configparser
import re
import subprocess
from pathlib import Path

import pytest

from registry_site.server import serving, watchdog
from tests import confined, documents
from tests.production import OURS
from tests.rows import for_each_row

APART = ("python", "manage.py", "beat")  # for those who run the clock apart
COMMANDS = {APART, *(tuple(one["command"]) for one in OURS.values())}
UNITS = sorted(confined.UNITS.glob("*.service"))
TIMERS = sorted(confined.UNITS.glob("*.timer"))
# Exposure as systemd-analyze counts it, from 0 to 10: `3.0 OK` begins a worse class.
MOST_EXPOSED = 3.0


@for_each_row("path", UNITS, ids=lambda path: path.stem)
def test_each_unit_runs_a_command_of_compose(path: Path):
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]  # names of systemd have capitals
    unit.read(path)
    words = unit["Service"]["ExecStart"].split()
    program = words.index("/opt/larder/.venv/bin/python")

    assert ("python", *words[program + 1 :]) in COMMANDS
    assert ("signing" in path.name) == ("LARDER_SIGNING_KEK_FILE" in path.read_text())


@pytest.mark.needs("systemd-analyze")
@for_each_row("path", UNITS, ids=lambda path: path.stem)
def test_each_unit_is_little_exposed(path: Path) -> None:
    words = ["systemd-analyze", "security", "--offline=yes", f"--threshold={int(MOST_EXPOSED * 10)}", str(path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env={"SYSTEMD_COLORS": "0"})
    [level] = re.findall(r"Overall exposure level for .*: ([\d.]+) ", done.stdout)

    assert float(level) < MOST_EXPOSED, done.stdout
    assert done.returncode == 0


def test_a_checking_worker_may_have_no_network_at_all() -> None:
    usual = confined.directives("larder-worker")
    without = confined.directives("larder-worker", "no-network")

    assert usual["RestrictAddressFamilies"] == ["AF_UNIX AF_INET AF_INET6"]
    assert (without["RestrictAddressFamilies"], without["PrivateNetwork"]) == (["AF_UNIX"], ["yes"])


def test_systemd_watches_workers_and_beat_and_leaves_a_worker_that_sleeps_time_to_end_itself() -> None:
    """Its watchdog ends it after a minute, in order; this is for one whose watchdog hangs as well."""
    ends_itself = watchdog.MAX_LOOKS_ASLEEP * watchdog.EVERY.total_seconds() + serving.ASLEEP_END_SECONDS
    found = {path.stem: confined.directives(path.stem) for path in UNITS}
    watched = {name: int(unit["WatchdogSec"][0]) for name, unit in found.items() if "WatchdogSec" in unit}

    assert watched.keys() == {name for name in found if name.endswith(("worker", "beat"))}
    assert min(watched.values()) > ends_itself
    assert all(found[name]["NotifyAccess"] == ["main"] for name in watched)
    assert all(found[name]["Restart"] == ["always"] for name in watched)


def test_a_timer_starts_a_unit_that_ends() -> None:
    for path in TIMERS:
        unit = confined.directives(path.stem)
        assert unit["Type"] == ["oneshot"]
        assert "WantedBy=timers.target" in path.read_text()
    assert [path.stem for path in TIMERS] == ["larder-backup"]


@for_each_row("optional", ["backs-up-one-host", "backs-up-a-folder"])
def test_the_drop_ins_of_the_backup_change_what_they_say(optional: str) -> None:
    usual, changed = confined.directives("larder-backup"), confined.directives("larder-backup", optional)

    differing = {name for name in changed if changed[name] != usual.get(name)}
    expected = {
        "backs-up-one-host": {"User", "ExecStart", "ReadWritePaths"},
        "backs-up-a-folder": {"CapabilityBoundingSet", "AmbientCapabilities"},
    }
    assert differing == expected[optional]
    assert changed["ExecStart"][-1].endswith("/opt/larder/.venv/bin/python manage.py backup")


@pytest.mark.needs("systemd-analyze")
def test_systemd_takes_the_units():
    said = subprocess.run(
        ["systemd-analyze", "verify", *UNITS, *TIMERS], capture_output=True, text=True, check=False
    ).stderr
    # The program is not installed there on this machine.
    assert [line for line in said.splitlines() if "is not executable" not in line] == []


@pytest.mark.needs("systemd-analyze")
def test_systemd_takes_the_unit_of_the_page_for_one_host(tmp_path: Path) -> None:
    [text] = [fence.text for fence in documents.fences("docs/behind-nginx.md") if "ExecStart=" in fence.text]
    unit = tmp_path / "larder.service"
    unit.write_text(text.replace("/opt/larder", str(documents.CHECKOUT)))
    done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert "larder.service:" not in done.stderr  # a line that systemd ignores
