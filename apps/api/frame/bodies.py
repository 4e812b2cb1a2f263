"""Small JSON bodies, read like uploads: in chunks, up to a limit, with or without a length."""

import json
from typing import Any

from django.conf import settings
from rest_framework.request import Request
from rest_framework.serializers import Serializer

from apps.lib.digests import counted
from apps.lib.errors import Invalid, RegistryError
from apps.lib.net.bodies import chunks


class Unreadable(RegistryError):
    """The body has the wrong format for this endpoint."""

    code = "unreadable"


def read_json(request: Request) -> dict[str, Any]:
    """Raises Unreadable, or TooLarge beyond JSON_MAX_BYTES."""
    return parse_json(read_body(request))


def read_body(request: Request) -> bytes:
    """The bytes of a JSON body. Raises TooLarge beyond JSON_MAX_BYTES."""
    limit = settings.JSON_MAX_BYTES
    setting = "json_max_bytes of LARDER_LIMITS"
    return b"".join(counted(chunks(request.META), limit=limit, what="The JSON body", setting=setting))


def parse_json(body: bytes) -> dict[str, Any]:
    """One object that a database can store. Raises Unreadable."""
    try:
        data = json.loads(body)
        text = json.dumps(data, ensure_ascii=False).encode()
    except RecursionError:
        raise Unreadable("The body is nested too deeply.", hint="Send one flat JSON object.") from None
    except UnicodeEncodeError:  # "\ud800": JSON can spell what UTF-8 cannot encode
        raise Unreadable("The body contains an unpaired surrogate.", hint="Send Unicode text.") from None
    except ValueError as error:  # also for bad UTF-8 and numbers with too many digits
        raise Unreadable(f"The body is not JSON: {error}", hint="Send one JSON object.") from None
    if rb"\u0000" in text.replace(rb"\\", b""):  # which PostgreSQL refuses
        raise Unreadable("The body contains a NUL character.", hint="Send text without it.")
    if not isinstance(data, dict):
        raise Unreadable(f"The body is a JSON {type(data).__name__}.", hint="Send one JSON object.")
    return data


def refuse_form(request: Request, *, expected: str, hint: str) -> None:
    """Raises Unreadable for a multipart form in place of a raw body."""
    if request.headers.get("Content-Type", "").lower().startswith("multipart/"):
        raise Unreadable(f"The body is a multipart form, expected {expected}.", hint=hint)


def file_name_of(said: str) -> str:
    """The file's name on the sender's machine, or ""; shown, never used as a path."""
    last = said.replace("\\", "/").rpartition("/")[2]
    return "".join(character for character in last if character.isprintable())[:255]


def validated(serializer: type[Serializer[Any]], data: dict[str, Any]) -> dict[str, Any]:
    """The validated data. Raises Invalid, naming the first wrong or unknown field."""
    filled = serializer(data=data)
    known = list(filled.fields)
    unknown = sorted(set(data) - set(known))
    if unknown:
        raise Invalid(f"There is no field {unknown[0][:80]!a}.", hint=f"Fields are: {', '.join(known)}.")
    if not filled.is_valid():
        raise Invalid(_first_of(filled.errors), hint=f"Fields are: {', '.join(known)}.")
    return dict(filled.validated_data)


def _first_of(errors: Any, place: tuple[str, ...] = ()) -> str:
    """The first message with its place. Errors nest as the data does: {"tokens": [{}, {"url": ["…"]}]}."""
    if isinstance(errors, dict):
        entries = list(errors.items())
    else:
        entries = [(number, inner) for number, inner in enumerate(errors) if isinstance(inner, dict)]
    for name, inner in entries:
        if inner:
            return _first_of(inner, place if name == "non_field_errors" else (*place, str(name)))
    return f"{'.'.join(place)}: {errors[0]}"
