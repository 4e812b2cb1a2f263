"""Forms in the bodies of machine requests, which have no Django parser in front."""

from urllib.parse import parse_qs

from rest_framework.request import Request

from apps.lib.digests import counted
from apps.lib.errors import Invalid
from apps.lib.net.bodies import chunks

MAX_BYTES = 64 * 1024
_MAX_FIELDS = 200


def read_form(request: Request) -> dict[str, list[str]]:
    """Raises Invalid, or TooLarge."""
    pieces = counted(chunks(request.META), limit=MAX_BYTES, what="The form")
    return fields_of(b"".join(pieces).decode(errors="replace"))


def fields_of(text: str) -> dict[str, list[str]]:
    """Raises Invalid."""
    try:
        return parse_qs(text, max_num_fields=_MAX_FIELDS)
    except ValueError:
        raise Invalid(f"More than {_MAX_FIELDS} parameters came.", hint="Send fewer in one request.") from None
