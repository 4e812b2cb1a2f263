"""`make bench` in its smallest form, so that it works when somebody needs it. No time is asserted anywhere."""

import json
import re
import subprocess
import sys
from importlib.util import find_spec

import pytest

from bench import report, run
from bench.report import Figure
from tests.live import CHECKOUT


@pytest.mark.live
@pytest.mark.nightly
@pytest.mark.needs("curl", "nginx", "postgres", "wrk")
def test_every_part_of_the_benchmark_runs_or_says_what_it_misses(tmp_path):
    figures = tmp_path / "figures.json"
    command = [sys.executable, "-m", "bench.run", "--tiny", "--rounds", "1", "--seconds", "0.2", "--json", figures]
    said = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, timeout=360, check=False)
    assert said.returncode == 0, said.stderr[-3000:]
    found = json.loads(figures.read_text())
    skipped = {line.partition(":")[0] for line in found["skipped"]}
    begun = [line.split(" (")[0] for line in said.stderr.splitlines() if "(load average" in line]
    assert begun == list(run.PARTS)
    assert skipped <= {"archives", "init", "reads", "size", "oci", "providers", "stale", "upkeep", "upstream"}
    works = " ".join(one["work"] for one in found["figures"])
    for part, work in {
        "reads": "discovery",
        "init": "init, repeated",
        "archives": "1 MiB",
        "oci": "HEAD of a manifest",
        "starts": "/readyz",
        "upstream": "first fetch of 100 MB",
        "stale": "stale answers after push",
        "upkeep": "restore, with its verification",
    }.items():
        assert (work in works) is (part not in skipped), said.stdout
    assert [one for one in found["figures"] if one["work"].startswith("stale ") and one["values"] != [0]] == []
    assert all(min(one["values"]) >= 0 for one in found["figures"] if one["unit"] == "/s")


def test_a_part_that_fails_costs_no_other_its_figures(monkeypatch, capsys, tmp_path):
    def broken(_bench):
        yield Figure("half of it", [1], "s")
        raise RuntimeError("the disk is full")

    monkeypatch.setattr(run, "PARTS", {"broken": broken, "sound": lambda _bench: iter([Figure("the other", [2], "s")])})
    monkeypatch.setattr(sys, "argv", ["bench", "--json", str(tmp_path / "figures.json")])
    with pytest.raises(SystemExit, match="broken"):
        run.main()
    said = capsys.readouterr()

    assert "the disk is full" in said.err
    assert "Skipped: broken: it failed" in said.out
    assert [one["work"] for one in json.loads((tmp_path / "figures.json").read_text())["figures"]] == [
        "half of it",
        "the other",
    ]


@pytest.mark.needs("make")
def test_make_bench_runs_what_is_there():
    said = subprocess.run(["make", "-n", "bench"], cwd=CHECKOUT, capture_output=True, text=True, check=True).stdout
    modules = re.findall(r"-m (\S+)", said)
    assert modules
    assert [module for module in modules if find_spec(module) is None] == []


def test_the_table_gives_medians_and_ratios_round_by_round():
    figure = Figure("reads", [10, 30, 20], "/s", [100, 100, 50], "nginx", ">= 0.50", p99=[1, 2, 9])
    row = report.table([figure, Figure("hidden", [1], "s", is_detail=True)]).splitlines()
    assert len(row) == 3
    cells = [cell.strip() for cell in row[2].strip("|").split("|")]
    assert cells == ["reads", "20 (10 to 30) /s", "100 nginx", "0.3 (0.1 to 0.4)", ">= 0.50", "", "2", ""]


def test_the_figures_in_the_document_are_replaced_and_nothing_else_is(tmp_path):
    document = tmp_path / "performance.md"
    document.write_text(f"Before.\n{run.BEGIN}\nold\n{run.END}After.\n")
    run.write(document, "new")
    assert document.read_text() == f"Before.\n{run.BEGIN}\nnew\n{run.END}After.\n"
    assert run.DOCUMENT.read_text().count(run.BEGIN) == run.DOCUMENT.read_text().count(run.END) == 1
