"""The figures of a run: one table of medians with their spread, and the same as JSON."""

import json
import os
import platform
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime

HEAD = ("Work", "Larder", "Reference", "Ratio (spread)", "Wanted", "p50 ms", "p99 ms", "CPU ms")


@dataclass(frozen=True)
class Figure:
    """One line of the table. `values` and `reference` have an entry for each round, in the same order."""

    work: str
    values: Sequence[float]
    unit: str
    reference: Sequence[float] = ()
    against: str = ""  # what the reference is
    wanted: str = ""
    p50: Sequence[float] = ()  # ms
    p99: Sequence[float] = ()  # ms
    cpu: Sequence[float] = ()  # ms of all server processes for one request
    note: dict[str, object] = field(default_factory=dict)
    is_detail: bool = False  # for the JSON alone

    def ratios(self) -> list[float]:
        """Round by round if both have the same rounds; otherwise against the median of the reference."""
        if len(self.values) == len(self.reference):
            return [ours / theirs for ours, theirs in zip(self.values, self.reference, strict=True) if theirs]
        middle = statistics.median(self.reference) if self.reference else 0
        return [value / middle for value in self.values] if middle else []

    def cells(self) -> tuple[str, ...]:
        against = f"{_middle(self.reference)} {self.against}" if self.reference else ""
        rest = (_middle(self.p50), _middle(self.p99), _middle(self.cpu))
        return (self.work, f"{_spread(self.values)} {self.unit}", against, _spread(self.ratios()), self.wanted, *rest)


def _middle(values: Sequence[float]) -> str:
    return _number(statistics.median(values)) if values else ""


def _spread(values: Sequence[float]) -> str:
    if len(values) < 2:
        return _middle(values)
    return f"{_middle(values)} ({_number(min(values))} to {_number(max(values))})"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def table(figures: Iterable[Figure]) -> str:
    """Markdown that reads as a table in a terminal too."""
    rows = [HEAD, *(figure.cells() for figure in figures if not figure.is_detail)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    padded = [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows]
    lines = [f"| {' | '.join(cells)} |" for cells in padded]
    return "\n".join([lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]])


def machine() -> str:
    return f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}"


def as_json(figures: Iterable[Figure], skipped: Sequence[str]) -> str:
    rows = [asdict(figure) | {"ratios": figure.ratios()} for figure in figures]
    return json.dumps({"machine": machine(), "skipped": skipped, "figures": rows}, indent=1) + "\n"


def as_markdown(figures: Iterable[Figure], skipped: Sequence[str], *, seconds: float, rounds: int) -> str:
    said = f"{datetime.now(UTC):%Y-%m-%d}, {machine()}; medians of {rounds} rounds of {seconds:g} s; "
    said += f"load average at the end {os.getloadavg()[0]:.1f}.\n"
    lines = "".join(f"\nSkipped: {line}.\n" for line in skipped)
    return f"{said}{lines}\n{table(figures)}\n"
