"""Small JSON bodies, read like uploads: in chunks, up to a limit, with or without a length."""

import json
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from django.conf import settings
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.serializers import ChoiceField, Field, ListField, ListSerializer, Serializer

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
    for place, unknown, known in unknown_fields(filled, data):
        raise Invalid(
            f"There is no field {'.'.join((*place, unknown))[:80]!a}.", hint=f"Fields are: {', '.join(known)}."
        )
    if not filled.is_valid():
        raise Invalid(next(mistakes(filled, filled.errors, data)), hint=f"Fields are: {', '.join(filled.fields)}.")
    return dict(filled.validated_data)


def mistakes_in(shape: Serializer[Any], data: dict[str, Any]) -> Iterator[str]:
    """Yield the sentence of each error in the data. One instance of a shape is enough for thousands of them."""
    try:
        shape.run_validation(data)
    except ValidationError as error:
        yield from mistakes(shape, error.detail, data)


def unknown_fields(
    shape: Field[Any, Any, Any, Any] | None, data: Any, place: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], str, list[str]]]:
    """Yield each field that the shape lacks: its place, its name, and those that are known there.

    In shapes within a shape as well: a misspelled condition would leave a rule that matches everything.
    """
    if isinstance(shape, ListSerializer | ListField):
        for number, one in enumerate(data if isinstance(data, list) else ()):
            yield from unknown_fields(shape.child, one, (*place, str(number)))
    elif isinstance(shape, Serializer) and isinstance(data, dict):
        known = list(shape.fields)
        yield from ((place, name, known) for name in sorted(data.keys() - set(known)))
        for name in known:
            yield from unknown_fields(shape.fields[name], data.get(name), (*place, name))


def mistakes(
    shape: Field[Any, Any, Any, Any] | None, errors: Any, data: Any, place: tuple[str, ...] = ()
) -> Iterator[str]:
    """Yield the sentence of each error, with its place and what was found.

    Errors nest as the data does: {"tokens": [{}, {"url": ["…"]}]}.
    """
    if isinstance(errors, dict):
        inner = [(str(name), one) for name, one in errors.items()]
    else:
        inner = [(str(number), one) for number, one in enumerate(errors) if isinstance(one, dict | list)]
        yield from (f"{'.'.join(place)}: {one}{_found(shape, one, data)}" for one in errors if isinstance(one, str))
    for name, one in inner:
        if name == "non_field_errors":
            yield from mistakes(shape, one, data, place)
        elif one:
            fields = getattr(shape, "fields", None)
            child = fields.get(name) if fields is not None else getattr(shape, "child", None)
            yield from mistakes(child, one, _at(data, name), (*place, name))


def _at(data: Any, name: str) -> Any:
    if isinstance(data, list):
        return data[int(name)] if name.isdecimal() and int(name) < len(data) else None
    return data.get(name) if isinstance(data, dict) else None


def _found(shape: Field[Any, Any, Any, Any] | None, error: str, value: Any) -> str:
    """Return what an error of Django REST framework leaves out: the value or the choices. Never a secret."""
    if isinstance(shape, ChoiceField) and not isinstance(value, dict | list | None):
        choices = [str(one) for one in shape.choices]
        near = get_close_matches(str(value), choices, 1)
        return f" Did you mean {near[0]}?" if near else f" Expected one of: {', '.join(filter(None, choices))}."
    if isinstance(value, bool | int | float) and getattr(error, "code", "") != "required":
        return f" Found {str(value).lower() if isinstance(value, bool) else value}."
    if isinstance(value, str) and getattr(error, "code", "") == "max_length":
        return f" Found {len(value):,}."
    return ""
