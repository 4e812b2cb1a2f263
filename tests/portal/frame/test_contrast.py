"""static/css/tokens.css: text is readable in both themes (WCAG 2.2, 1.4.3: 4.5 to 1)"""

import re

from django.conf import settings

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
]


def luminance(colour: str) -> float:
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


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
