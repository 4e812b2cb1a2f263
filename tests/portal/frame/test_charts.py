"""Charts, as SVG that a strict policy lets through, and colours that can be told apart."""

import re
from xml.etree import ElementTree as ET

from django.conf import settings

from apps.portal.frame.charts import Series, bars, ceiling, highest, sparkline
from tests.rows import for_each_row

CSS = (settings.BASE_DIR / "static" / "css" / "components" / "charts.css").read_text()
TONES = dict(re.findall(r"--chart-(\w+): light-dark\((#\w+, #\w+)\)", CSS))
TOKENS = (settings.BASE_DIR / "static" / "css" / "tokens.css").read_text()
COLOURS = {name: (light, dark) for name, light, dark in re.findall(r"--([\w-]+): light-dark\((#\w+), (#\w+)\)", TOKENS)}
SURFACES = ["paper", "surface", "surface-sunken", "surface-hover"]
PAIRS = [
    *[(text, on) for text in ("ink", "ink-soft", "ink-faint", "accent", "bad") for on in SURFACES],
    *[(text, on) for text in ("ok", "warn", "info", "accent-strong") for on in ("surface", "surface-sunken")],  # source
    *[(tone, "accent-wash") for tone in ("ok", "warn", "info", "ink-faint")],  # a line that is pointed to
    *[("ink", f"{tone}-wash") for tone in ("accent", "ok", "warn", "bad", "info")],
    *[(tone, f"{tone}-wash") for tone in ("accent", "ok", "warn", "bad", "info")],
    ("accent-strong", "accent-wash"),
    ("ink-soft", "accent-wash"),
    ("on-accent", "accent-fill"),
    ("on-accent", "accent-fill-strong"),
    ("on-accent", "bad-fill"),
    *[(f"hue-{number}", on) for number in (3, 4) for on in ("surface", "accent-wash")],  # words of source
]
HUES = [f"hue-{number}" for number in range(1, 7)]
TINT = 0.13  # of its hue in a mark: static/css/components/marks.css


def luminance(colour: str) -> float:
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def parsed(svg: str) -> ET.Element:
    return ET.fromstring(svg)  # noqa: S314  # our own text


@for_each_row(
    ("highest_value", "top"),
    [(0, 2), (1, 2), (2, 2), (3, 4), (9, 10), (11, 12), (17, 20), (61, 80), (100, 100), (101, 120), (234_567, 300_000)],
)
def test_the_scale_ends_at_a_number_that_reads_well(highest_value, top):
    assert ceiling(highest_value) == top
    assert top % 2 == 0


def test_a_bar_is_as_high_as_its_value():
    chart = parsed(bars(["1 Nov", "2 Nov"], [Series("Downloads", [50, 100])], title="Downloads"))

    pieces = [rect for rect in chart.iter("rect") if "piece--hit" not in rect.attrib["class"]]
    assert [(rect.attrib["height"], rect.attrib["y"]) for rect in pieces] == [("50", "50"), ("100", "0")]
    assert [rect.attrib["x"] for rect in pieces] == ["1", "11"]


def test_pieces_stand_on_each_other_in_the_order_of_the_series():
    series = [Series("1.0.0", [60], "1"), Series("other", [40], "other")]
    chart = parsed(bars(["1 Nov"], series, title="Downloads"))

    pieces = {rect.attrib["class"].split("--")[1]: rect.attrib for rect in chart.iter("rect")}
    assert highest(series) == 100
    assert (pieces["1"]["y"], pieces["1"]["height"]) == ("40", "60")
    assert (pieces["other"]["y"], pieces["other"]["height"]) == ("0", "40")


def test_a_little_beside_much_is_still_seen():
    chart = parsed(bars(["1 Nov", "2 Nov"], [Series("Downloads", [1, 9000])], title="Downloads"))

    assert next(rect for rect in chart.iter("rect") if rect.attrib["width"] == "8").attrib["height"] == "1"


def test_it_says_what_it_is_and_what_each_bar_is():
    series = [Series("1.0.0", [1200, 0]), Series("other", [34, 0], "other")]
    chart = parsed(bars(["1 Nov", "2 Nov"], series, title="Downloads by day: 1,234"))

    assert chart.attrib["role"] == "img"
    assert chart[0].tag == "title"
    assert [title.text for title in chart.iter("title")] == [
        "Downloads by day: 1,234",
        "1 Nov: 1,234 (1.0.0 1,200, other 34)",
        "2 Nov: 0",
    ]


@for_each_row("values", [[], [0], [0, 0, 0], [5], [1, 2, 3]])
def test_a_sparkline_has_a_point_for_each_value_within_its_box(values):
    chart = parsed(sparkline(values, title="Downloads"))

    points = [tuple(map(float, point.split(","))) for point in next(chart.iter("polyline")).attrib["points"].split()]
    assert len(points) == len(values)
    assert all(0 <= y <= 30 for _, y in points)
    assert chart[0].text == "Downloads"


def test_names_cannot_break_out_of_the_picture_and_nothing_needs_an_inline_style():
    chart = bars(["<b>"], [Series('"><script>', [1]), Series("&", [1])], title="<i>")

    assert "<b>" not in chart
    assert "<script>" not in chart
    assert parsed(chart)[0].text == "<i>"
    svg = bars(["1 Nov"], [Series("a", [1])], title="t") + sparkline([1, 2], title="t")
    assert not re.search(r"style|\son\w+=", svg)


@for_each_row("theme", [0, 1], ids=["light", "dark"])
@for_each_row("tone", sorted(TONES))
def test_each_colour_stands_out_from_the_surface(tone, theme):
    """WCAG 2.2, 1.4.11: 3 to 1 for what a picture is understood by."""
    assert contrast(TONES[tone].split(", ")[theme], COLOURS["surface"][theme]) >= 3


def test_every_series_has_its_colour_in_picture_and_legend():
    assert set(TONES) == {"1", "2", "3", "4", "5", "other"}
    for tone in set(TONES) - {"1"}:
        assert f".chart__piece--{tone} " in CSS
        assert f".legend__mark--{tone} " in CSS


# --- tokens.css: text is readable in both themes (WCAG 2.2, 1.4.3: 4.5 to 1) -----------------------------------------


def too_close(pairs: list[tuple[str, str]], least: float) -> list[tuple[str, str, str]]:
    themes = [(0, "light"), (1, "dark")]
    return [
        (one, other, theme)
        for one, other in pairs
        for number, theme in themes
        if contrast(COLOURS[one][number], COLOURS[other][number]) < least
    ]


def test_text_stands_out_from_its_surface():
    assert too_close(PAIRS, 4.5) == []


def test_borders_of_fields_and_the_focus_are_visible():
    """1.4.11: 3 to 1 for what a control is recognised by."""
    assert too_close([(line, on) for line in ("line-strong", "focus") for on in ("paper", "surface")], 3) == []


def test_bars_and_curves_stand_out_from_their_surface():
    assert too_close([(fill, on) for fill in ("ok-fill", "warn-fill", "data") for on in ("surface", "paper")], 3) == []


@for_each_row("theme", [0, 1], ids=["light", "dark"])
@for_each_row("hue", HUES)
def test_the_letter_of_a_mark_stands_out_from_its_tile(hue, theme):
    tile = mixed(COLOURS[hue][theme], COLOURS["surface"][theme], TINT)
    assert contrast(COLOURS[hue][theme], tile) >= 4.5


def mixed(one: str, other: str, share: float) -> str:
    pairs = ((int(one[start : start + 2], 16), int(other[start : start + 2], 16)) for start in (1, 3, 5))
    return "#" + "".join(f"{round(first * share + second * (1 - share)):02x}" for first, second in pairs)
