"""Measure Larder, against other servers and loops in the same run: `make bench`, or parts of it with `--only`.

Prints one table; `--json` writes every round. Nothing here asserts a time.
"""

import argparse
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

from bench import (
    archives,
    fairness,
    init,
    inspection,
    lists,
    modules,
    oci,
    people,
    providers,
    publishing,
    reads,
    report,
    search,
    signing,
    slow,
    stale,
    starts,
    upkeep,
    uploads,
    upstream,
)
from bench.larder import Bench
from bench.report import Figure
from tests import rooms

# In the order in which they run: neighbours share a Larder.
PARTS: dict[str, Callable[[Bench], Iterator[Figure]]] = {
    "archives": archives.measure,
    "lists": lists.measure,
    "search": search.measure,
    "size": reads.measure_size,
    "reads": reads.measure,
    "init": init.measure,
    "upstream": upstream.measure,
    "uploads": uploads.measure,
    "publishing": publishing.measure,
    "fairness": fairness.measure,
    "modules": modules.measure,
    "slow": slow.measure,
    "people": people.measure,
    "providers": providers.measure,
    "oci": oci.measure,
    "inspection": inspection.measure,
    "signing": signing.measure,
    "stale": stale.measure,
    "starts": starts.measure,
    "upkeep": upkeep.measure,
}
# What a room measures of itself.
PARTS |= {part: module.measure for module in rooms.modules("bench") for part in module.PARTS}
DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "performance.md"
BEGIN, END = "<!-- figures: bench/run.py --write-docs -->\n", "<!-- end of the figures -->\n"


def main() -> None:
    options = _options()
    wanted = options.only.split(",") if options.only else list(PARTS)
    if unknown := set(wanted) - set(PARTS):
        sys.exit(f"There is no part {', '.join(sorted(unknown))}. The parts are: {', '.join(PARTS)}.")
    figures: list[Figure] = []
    failed: list[str] = []
    with tempfile.TemporaryDirectory(prefix="larder-bench-") as name:
        keep = Path(options.keep).resolve() if options.keep else Path(name) / "seeded"
        bench = Bench(
            Path(name),
            keep,
            options.seconds,
            options.rounds,
            is_tiny=options.tiny,
            trials=options.trials,
            listed_versions=options.versions,
            database=options.database,
            archives=options.archives,
            against=options.against,
        )
        try:
            for part in PARTS:
                if part in wanted:
                    failed += _measured(part, bench, figures)
        except KeyboardInterrupt:
            bench.skipped.append("the rest: interrupted")
        finally:
            bench.close()
    table = report.table(figures)
    print(f"\n{report.machine()}\n\n{table}")
    bench.skipped += [f"{part}: it failed" for part in failed]
    for line in bench.skipped:
        print(f"Skipped: {line}")
    if options.json:
        Path(options.json).write_text(report.as_json(figures, bench.skipped))
    if options.write_docs:
        write(DOCUMENT, report.as_markdown(figures, bench.skipped, seconds=bench.seconds, rounds=bench.rounds))
    if failed:
        sys.exit(f"Failed, with the traceback above: {', '.join(failed)}.")


def _measured(part: str, bench: Bench, figures: list[Figure]) -> list[str]:
    """Add the figures of a part; return its name if it failed, so that an hour's other figures are not lost."""
    print(f"{part} (load average {os.getloadavg()[0]:.1f})", file=sys.stderr, flush=True)
    started = time.monotonic()
    try:
        for figure in PARTS[part](bench):
            print("  " + " | ".join(cell for cell in figure.cells() if cell), file=sys.stderr, flush=True)
            figures.append(figure)
    except Exception:  # noqa: BLE001  # whatever it is, the other parts can still run
        traceback.print_exc()
        bench.close()  # the next part begins with servers of its own
        return [part]
    print(f"  {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    return []


def write(document: Path, markdown: str) -> None:
    """Replace what is between the two marks."""
    before, _, rest = document.read_text().partition(BEGIN)
    document.write_text(f"{before}{BEGIN}\n{markdown}\n{END}{rest.partition(END)[2]}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/run.py", description="Measure Larder. The parts: " + ", ".join(PARTS))
    parser.add_argument("--only", metavar="PARTS", help="some of them, separated by commas")
    parser.add_argument("--keep", metavar="FOLDER", help="fill the large registry here, or take the one that is there")
    parser.add_argument("--seconds", type=float, default=2.0, help="length of a round under load (default: 2)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each measurement (default: 3)")
    parser.add_argument("--archives", metavar="FOLDER", type=Path, help="modules that the part `modules` publishes")
    parser.add_argument("--against", metavar="CHECKOUT", type=Path, help="publish them in its Larder too, in turns")
    parser.add_argument("--trials", type=int, default=2000, help="changes that `stale` tries (default: 2000)")
    versions = "versions of modules whose lists are measured, with as much of all else (default: 1000000)"
    parser.add_argument("--versions", type=int, default=1_000_000, help=versions)
    parser.add_argument("--database", default="", metavar="URL", help="an empty PostgreSQL for them, or a filled one")
    parser.add_argument("--json", metavar="FILE", help="write every round to this file")
    parser.add_argument("--write-docs", action="store_true", help="put the table into docs/performance.md")
    parser.add_argument("--tiny", action="store_true", help="smallest registry and files: shows that it works at all")
    return parser.parse_args()


if __name__ == "__main__":
    main()
