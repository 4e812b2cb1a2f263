"""Lists of names in the order of bytes, a page at a time (end-8b). Names are ASCII, so text compares as bytes do."""

from collections.abc import Iterable, Mapping
from itertools import islice
from urllib.parse import urlencode

from apps.lib.errors import Invalid

_MAX_DIGITS = 18


def page_of(names: Iterable[str], query: Mapping[str, str], path: str) -> tuple[list[str], dict[str, str]]:
    """The page that `n` and `last` ask for, and the header that leads to the next. Raises Invalid.

    `last` need not exist. No names and no Link for `n=0`: there is no next page of nothing.
    """
    last = query.get("last", "")
    rest = [name for name in sorted(names) if name > last]
    if "n" not in query:
        return rest, {}
    size = number(query["n"], "n is {}, expected a number of names.")
    page = list(islice(rest, size))
    if not page or len(page) == len(rest):
        return page, {}
    return page, {"Link": f'<{path}?{urlencode({"n": size, "last": page[-1]})}>; rel="next"'}


def number(text: str, refusal: str) -> int:
    """Parse a number of a query. `refusal` is the error message, with `{}` for the text."""
    if not (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS):
        raise Invalid(refusal.format(repr(text[:40])))
    return int(text)
