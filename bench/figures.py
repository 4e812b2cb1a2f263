"""Print medians with their spread, and ratios against a reference of the same run, for every benchmark."""

import statistics
from collections.abc import Sequence


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def line(what: str, values: Sequence[float], unit: str) -> str:
    spread = f"{min(values):.3g} to {max(values):.3g}"
    return f"{what:<44} median {median(values):8.3g} {unit:<4} ({spread}, {len(values)} runs)"


def ratio(what: str, value: float, reference: float, bound: str) -> str:
    return f"{what:<44} ratio  {value / reference:8.2f}      (wanted: {bound})"
