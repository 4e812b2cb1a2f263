"""Checks an uploaded archive in a child process that can do nothing but read it (D17).

listing = archives.inspect(file, limits, wanted=["readme.md", "*.tf"])   # or archives.Refusal, with .reasons
"""

from collections.abc import Collection
from dataclasses import asdict
from typing import Any, BinaryIO

from apps.lib import confined
from apps.lib.archive_rules.exchange import read_listing
from apps.lib.archive_rules.limits import Limits
from apps.lib.archive_rules.outcome import Entry, Listing, Refusal, too_expensive
from apps.lib.confined import CheckBroken
from apps.lib.zips.reader import read_zip

__all__ = ["CheckBroken", "Entry", "Limits", "Listing", "Refusal", "inspect", "read_zip"]

_INSPECTING = "apps.lib.archive_programs.inspecting"


def inspect(file: BinaryIO, limits: Limits, wanted: Collection[str] = ()) -> Listing:
    """Checks a zip in a child process; `file` is a real file, whose position does not matter and is not moved.

    Raises Refusal where the archive is at fault (also for what it costs), CheckBroken where the check is.
    `wanted` as for `read_zip`. Takes some 50 ms and what the archive needs, at most `limits.seconds` and a little.
    """
    request: dict[str, Any] = {"limits": asdict(limits), "wanted": list(wanted)}
    costs = confined.Limits(seconds=limits.seconds, memory_bytes=limits.memory_bytes)
    try:
        answer = confined.run(program=_INSPECTING, request=request, stdin=file, limits=costs)
    except confined.TooExpensive as cost:
        raise too_expensive(str(cost)) from None
    try:
        return read_listing(answer)
    except (ValueError, KeyError, TypeError) as error:
        raise CheckBroken(f"the check answered {str(answer)[:80]}") from error
