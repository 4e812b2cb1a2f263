"""Uploaded archives: checked and repacked in a child process that can do nothing but read them (D17).

form = archives.form_of(head)                                   # None: raise archives.refuse_form(head)
listing = archives.inspect(file, limits, wanted=["readme.md", "*.tf"], form=form)   # or Refusal, with .reasons
layout = archives.layout_of(entry.name for entry in listing.entries)
chunks = archives.repack(file, limits, form=form, folder=layout.top_folder, leave_out=layout.left_out)
"""

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, BinaryIO, TypeVar

from apps.lib.archives.child_inspecting import read
from apps.lib.archives.layouts import Layout, layout_of
from apps.lib.archives.rules.limits import Limits
from apps.lib.archives.rules.magic import FORMS, HEAD_BYTES, Form, form_of, refuse_form
from apps.lib.archives.rules.outcome import Entry, Listing, Refusal, raise_refusal, too_expensive
from apps.lib.sandbox import parent
from apps.lib.sandbox.parent import CheckBroken

__all__ = [
    "FORMS",
    "HEAD_BYTES",
    "CheckBroken",
    "Entry",
    "Form",
    "Layout",
    "Limits",
    "Listing",
    "Refusal",
    "form_of",
    "inspect",
    "layout_of",
    "read",
    "refuse_form",
    "repack",
    "run_check",
]

_INSPECTING = "apps.lib.archives.child_inspecting"
_REPACKING = "apps.lib.archives.child_repacking"
Outcome = TypeVar("Outcome")


def inspect(
    file: BinaryIO, limits: Limits, wanted: Collection[str] = (), *, form: Form = "zip", links: bool = False
) -> Listing:
    """Checks an archive in a child process; `file` is a real file, whose position does not matter and is not moved.

    Raises Refusal if the archive is at fault (also for its costs), CheckBroken if the check is.
    `wanted` are patterns of paths such as `*.tf` and `modules/*/*.tf`, the most important first; the listing's `texts`
    are filled in their order. Links are refused unless `links` is set: then they are entries without bytes, for
    `links.Tree` to follow. Takes some 50 ms and what the archive needs, at most `limits.seconds` and a little.
    """
    request = {"limits": asdict(limits), "wanted": list(wanted), "form": form, "links": links}
    return run_check(_INSPECTING, request, file, limits, Listing.from_fields)


def run_check(
    program: str, request: dict[str, Any], file: BinaryIO, limits: Limits, outcome: Callable[[dict[str, Any]], Outcome]
) -> Outcome:
    """Runs a program that checks the file. `outcome` reads its answer, and raises Refusal if that is one."""
    costs = parent.Limits(seconds=limits.seconds, memory_bytes=limits.memory_bytes)
    try:
        return outcome(parent.run(program=program, request=request, stdin=file, limits=costs))
    except parent.TooExpensive as cost:
        raise too_expensive(str(cost)) from None
    except (ValueError, KeyError, TypeError) as error:
        raise CheckBroken(f"the check gave an invalid answer ({error!r})") from error


def repack(
    file: BinaryIO,
    limits: Limits,
    *,
    form: Form,
    folder: str = "",
    only: Sequence[str] = (),
    leave_out: Collection[str] = (),
    copies: Mapping[str, Sequence[str]] | None = None,
) -> Generator[bytes, None, None]:
    """The files below `folder` (empty: all) as a zip, in pieces, without those whose full names are in `leave_out`.
    `only`: of these, the ones in some folders below it.

    `copies` are further full names, all below `folder`, under which a member from anywhere in the archive is
    written: the links that lead to it. Links as such are not written.

    The same archive, folder and names give the same bytes, as long as zlib is the same: a zip's files by name, a tar's
    in their own order (sorting would need room for all of it). Memory stays flat here and in the child, which is
    killed when the generator is closed. Raises as `inspect` does, also after many pieces, which the caller must then
    discard. The zip may be larger than the archive (xz packs better) and than `packed_bytes`.
    """
    request = {
        "limits": asdict(limits),
        "form": form,
        "folder": folder.strip("/"),
        "only": list(only),
        "leave_out": sorted(leave_out),
        "copies": {member: list(names) for member, names in (copies or {}).items()},
    }
    costs = parent.Limits(seconds=limits.repack_seconds, memory_bytes=limits.memory_bytes)
    try:
        answer = yield from parent.stream(program=_REPACKING, request=request, stdin=file, limits=costs)
    except parent.TooExpensive as cost:
        raise too_expensive(str(cost)) from None
    raise_refusal(answer)
