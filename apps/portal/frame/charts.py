"""Charts as inline SVG: no script, no inline style, coloured by classes (static/css/components/charts.css).

A chart is a picture with a title; a table beside it has the same numbers for screen readers. It stretches to the
available width, so it contains no text: scale and days are HTML.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

STEP = 10  # between bars
BAR = 8
HEIGHT = 100
SPARK_HEIGHT = 30
SMALL = (2, 4, 6, 8)
# Keep a day with one download visible beside a day with thousands.
LEAST = 1.0


@dataclass(frozen=True, slots=True)
class Series:
    """One colour of the chart: `tone` is 1 to 5, or `other`."""

    name: str
    values: Sequence[int]
    tone: str = "1"

    @property
    def total(self) -> int:
        return sum(self.values)


def ceiling(highest: int) -> int:
    """The top of the scale: a round number a little above, whose half is round too."""
    if highest <= SMALL[-1]:
        return next(top for top in SMALL if top >= highest)
    power = 1
    while True:
        for digits in (10, 12, 16, 20, 30, 40, 60, 80):
            if digits * power >= highest:
                return digits * power
        power *= 10


def sparkline(values: Sequence[int], *, title: str) -> SafeString:
    """A line without a scale, to show a trend in little space."""
    top = max(ceiling(max(values, default=0)), 1)
    points = " ".join(
        f"{position * STEP},{_number(SPARK_HEIGHT - value / top * (SPARK_HEIGHT - 2) - 1)}"
        for position, value in enumerate(values)
    )
    width = max(len(values) - 1, 1) * STEP
    return format_html(
        '<svg class="spark" viewBox="0 0 {0} {1}" preserveAspectRatio="none" role="img" focusable="false">'
        '<title>{2}</title><polygon class="spark__area" points="0,{1} {3} {0},{1}"/>'
        '<polyline class="spark__line" points="{3}" vector-effect="non-scaling-stroke"/></svg>',
        width,
        SPARK_HEIGHT,
        title,
        points,
    )


def bars(
    labels: Sequence[str], series: Sequence[Series], *, title: str, worded: Callable[[int], str] = "{:,}".format
) -> SafeString:
    """A stacked bar for each label, with a piece for each series; the first series is at the bottom."""
    top = ceiling(highest(series))
    drawn = []
    for at, label in enumerate(labels):
        total = sum(one.values[at] for one in series)
        parts = [f"{one.name} {worded(one.values[at])}" for one in series if one.values[at]]
        tooltip = f"{label}: {worded(total)}" + (f" ({', '.join(parts)})" if len(series) > 1 and parts else "")
        drawn.append((tooltip, _bar(series, at, top)))
    return format_html(
        '<svg class="chart__picture" viewBox="0 0 {} {}" preserveAspectRatio="none" role="img" focusable="false">'
        "<title>{}</title>{}{}</svg>",
        len(labels) * STEP,
        HEIGHT,
        title,
        format_html_join(
            "",
            '<line class="chart__line" x1="0" x2="{}" y1="{}" y2="{}" vector-effect="non-scaling-stroke"/>',
            ((len(labels) * STEP, at, at) for at in (0, HEIGHT // 2, HEIGHT)),
        ),
        format_html_join("", "<g><title>{}</title>{}</g>", drawn),
    )


def highest(series: Sequence[Series]) -> int:
    """The highest stack."""
    return max((sum(values) for values in zip(*(one.values for one in series), strict=True)), default=0)


def _bar(series: Sequence[Series], at: int, top: int) -> SafeString:
    """The pieces, and an invisible one of full height that shows the title under the mouse."""
    pieces: list[tuple[str, int, str, str, int]] = [("hit", at * STEP, "0", str(HEIGHT), STEP)]
    floor = float(HEIGHT)
    for one in series:
        if one.values[at]:
            height = max(one.values[at] / top * HEIGHT, LEAST)
            floor -= height
            pieces.append((one.tone, at * STEP + (STEP - BAR) // 2, _number(floor), _number(height), BAR))
    return format_html_join(
        "", '<rect class="chart__piece chart__piece--{}" x="{}" y="{}" height="{}" width="{}"/>', pieces
    )


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
