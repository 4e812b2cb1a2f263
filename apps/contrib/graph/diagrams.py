"""Diagrams of boxes and arrows as inline SVG: no script, no inline style (static/css/components/charts.css).

Boxes stand in columns, and arrows lead from a box to one that is usually further right. Text has one size, so the page
scrolls a wide diagram sideways. A table beside it says the same.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

BOX_WIDTH, BOX_HEIGHT = 208, 46
GAP_ACROSS, GAP_DOWN = 56, 14
EDGE = 4
HEAD = 7  # of an arrow
# Monospaced letters that fit.
MAX_LETTERS = 24


@dataclass(frozen=True, slots=True)
class Box:
    """`label` is the small line above the `name`; `tone` is start, module, provider or more. No link without `url`."""

    key: Hashable
    label: str
    name: str
    title: str
    url: str = ""
    tone: str = "module"


@dataclass(frozen=True, slots=True)
class Arrow:
    start: Hashable
    end: Hashable
    title: str


def draw(columns: Sequence[Sequence[Box]], arrows: Iterable[Arrow], *, title: str, description: str) -> SafeString:
    """Arrows from or to boxes that are not there are left out."""
    width = len(columns) * (BOX_WIDTH + GAP_ACROSS) - GAP_ACROSS + 2 * EDGE
    height = max(map(_height, columns), default=0) + 2 * EDGE
    places = {
        box.key: (EDGE + at * (BOX_WIDTH + GAP_ACROSS), (height - _height(column)) // 2 + row * (BOX_HEIGHT + GAP_DOWN))
        for at, column in enumerate(columns)
        for row, box in enumerate(column)
    }
    drawn = [arrow for arrow in arrows if arrow.start in places and arrow.end in places]
    return format_html(
        '<svg class="diagram" width="{0}" height="{1}" viewBox="0 0 {0} {1}" role="group" focusable="false"'
        ' aria-labelledby="diagram-title diagram-text">'
        '<title id="diagram-title">{2}</title><desc id="diagram-text">{3}</desc>{4}{5}</svg>',
        width,
        height,
        title,
        description,
        format_html_join(
            "",
            '<g class="diagram__arrow"><title>{}</title><path d="{}"/><path class="diagram__head" d="{}"/></g>',
            ((arrow.title, *_paths(places, arrow)) for arrow in drawn),
        ),
        format_html_join("", "{}", ((_box(box, *places[box.key]),) for column in columns for box in column)),
    )


def _height(column: Sequence[Box]) -> int:
    return len(column) * (BOX_HEIGHT + GAP_DOWN) - GAP_DOWN


def _paths(places: Mapping[Hashable, tuple[int, int]], arrow: Arrow) -> tuple[str, str]:
    """The line and its head: from the right side of a box to the left side of one further right, else round to its
    right side.
    """
    (left, top), (right, bottom) = places[arrow.start], places[arrow.end]
    x1, y1, y2 = left + BOX_WIDTH, top + BOX_HEIGHT // 2, bottom + BOX_HEIGHT // 2
    if right > left:
        x2 = right - 1
        bend, tip = (x2 - x1) // 2, x2 - HEAD
        curve = f"M{x1} {y1}C{x1 + bend} {y1} {x2 - bend} {y2} {tip} {y2}"
    else:
        x2 = right + BOX_WIDTH + 1
        bend, tip = max(x1, x2) + GAP_ACROSS // 2, x2 + HEAD
        curve = f"M{x1} {y1}C{bend} {y1} {bend} {y2} {tip} {y2}"
    return curve, f"M{tip} {y2 - HEAD // 2 - 1}L{x2} {y2}L{tip} {y2 + HEAD // 2 + 1}Z"


def _box(box: Box, x: int, y: int) -> SafeString:
    inside = format_html(
        '<title>{}</title><rect class="diagram__box diagram__box--{}" x="{}" y="{}" width="{}" height="{}" rx="6"/>'
        '<text class="diagram__label" x="{}" y="{}">{}</text><text class="diagram__name" x="{}" y="{}">{}</text>',
        box.title,
        box.tone,
        x,
        y,
        BOX_WIDTH,
        BOX_HEIGHT,
        x + 10,
        y + 17,
        _short(box.label),
        x + 10,
        y + 35,
        _short(box.name),
    )
    return format_html('<a href="{}">{}</a>', box.url, inside) if box.url else format_html("<g>{}</g>", inside)


def _short(text: str) -> str:
    return text if len(text) <= MAX_LETTERS else f"{text[: MAX_LETTERS - 1]}…"
