"""Times for people. The page is complete without JavaScript; static/js/time.js adds the reader's time zone."""

import math
from datetime import UTC, datetime

from django import template
from django.utils import timezone

register = template.Library()

STEPS = (
    ("year", 31_536_000),
    ("month", 2_592_000),
    ("week", 604_800),
    ("day", 86_400),
    ("hour", 3_600),
    ("minute", 60),
)
NEARLY_TWO = 1.95


@register.filter
def iso_time(at: datetime) -> str:
    """For `<time datetime>`: 2026-11-20T14:03:00Z."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@register.filter
def utc_time(at: datetime) -> str:
    """20 Nov 2026, 14:03 UTC."""
    utc = at.astimezone(UTC)
    return f"{utc.day} {utc:%b %Y, %H:%M} UTC"


@register.filter
def rest_text(seconds: int) -> str:
    """Of an estimate: less than a minute, about 12 minutes, about 3 hours."""
    for unit, size in STEPS:
        if seconds >= NEARLY_TWO * size or (seconds >= size and unit == "minute"):
            count = round(seconds / size)
            return f"about {count} {unit}{'' if count == 1 else 's'}"
    return "less than a minute"


@register.filter
def relative_time(at: datetime) -> str:
    """3 days ago, in 2 weeks, just now: the words of Intl.RelativeTimeFormat, so that time.js changes nothing."""
    seconds = (timezone.now() - at).total_seconds()
    for unit, size in STEPS:
        count = int(seconds // size)
        if seconds <= 0:  # rounded from about two units on: 90 days ahead are 3 months, also a second later
            count = (
                math.floor(0.5 - seconds / size) if -seconds / size >= (1 if unit == "minute" else NEARLY_TWO) else 0
            )
        if count:
            past = seconds > 0
            if count == 1 and unit == "day":
                return "yesterday" if past else "tomorrow"
            if count == 1 and unit in ("week", "month", "year"):
                return f"last {unit}" if past else f"next {unit}"
            text = f"{count} {unit}{'' if count == 1 else 's'}"
            return f"{text} ago" if past else f"in {text}"
    return "just now"
