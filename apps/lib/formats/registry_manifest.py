"""`terraform-registry-manifest.json`: the plugin protocol versions of a provider (D11: never guessed)."""

import json
import re
from collections.abc import Sequence
from typing import Any

from apps.lib.amounts import amount_text
from apps.lib.archives.rules.limits import at_most
from apps.lib.archives.rules.outcome import Refusal, refuse, shown
from apps.lib.errors import Reason

FILE_NAME = "terraform-registry-manifest.json"
MAX_BYTES = 64 * 1024
MAX_PROTOCOLS = 10

_EXAMPLE = '{"version": 1, "metadata": {"protocol_versions": ["5.0"]}}'
_HINT = f"Write {_EXAMPLE} with the provider's protocols."
_PROTOCOL = re.compile(r"(?:0|[1-9][0-9]{0,2})\.(?:0|[1-9][0-9]{0,2})")


def parse(data: bytes, *, file: str = FILE_NAME) -> list[str]:
    """The protocols of a manifest, in its order. `file` is its name in a refusal. Raises Refusal."""
    if len(data) > MAX_BYTES:
        raise _refuse("manifest_too_large", amount_text(len(data)), at_most(MAX_BYTES, "bytes"), file)
    try:
        fields = json.loads(data.decode("utf-8"), object_pairs_hook=_once)
    except _Twice as twice:
        found = f"the repeated key {_short_json(str(twice))}"
        raise _refuse("manifest_duplicate", found, "each key once", file) from None
    except UnicodeDecodeError:
        raise _refuse("manifest_encoding", "bytes that are not UTF-8", "JSON in UTF-8", file) from None
    except (ValueError, RecursionError) as error:
        why = f" ({error})" if isinstance(error, json.JSONDecodeError) else ""
        raise _refuse("manifest_not_json", f"no JSON{why}", f"a JSON object such as {_EXAMPLE}", file) from None
    if not isinstance(fields, dict):
        raise _refuse("manifest_not_json", _short_json(fields), f"a JSON object such as {_EXAMPLE}", file)
    version = fields.get("version")
    if type(version) is not int or version != 1:
        raise _refuse("manifest_version", f'"version" {_short_json(version)}', '"version": 1', file)
    metadata = fields.get("metadata")
    if not isinstance(metadata, dict):
        raise _refuse("manifest_metadata", f'"metadata" {_short_json(metadata)}', "an object", file)
    protocols = metadata.get("protocol_versions")
    if not isinstance(protocols, list):
        raise _refuse("manifest_protocols", f'"protocol_versions" {_short_json(protocols)}', "a list of texts", file)
    return protocols_checked(protocols, file=file)


def protocols_checked(protocols: Sequence[Any], *, file: str = "") -> list[str]:
    """Validate protocols of a manifest or of a person. Raises Refusal for any that clients cannot read."""
    reasons = [
        _reason(f"the protocol {_short_json(protocol)}", file)
        for protocol in protocols
        if not (isinstance(protocol, str) and _PROTOCOL.fullmatch(protocol) is not None)
    ]
    if not protocols:
        reasons = [_reason("no protocol", file)]
    elif len(protocols) > MAX_PROTOCOLS:
        reasons = [_reason(f"{len(protocols)} protocols", file, expected=f"at most {MAX_PROTOCOLS}")]
    elif not reasons and len(set(protocols)) < len(protocols):
        twice = next(protocol for at, protocol in enumerate(protocols) if protocol in protocols[:at])
        reasons = [_reason(f"the repeated protocol {_short_json(twice)}", file, expected="each once")]
    if reasons:
        raise Refusal(reasons)
    return list(protocols)


def _reason(found: str, file: str, expected: str = "major and minor number, such as 5.0 or 6.0") -> Reason:
    hint = "Use the protocol of the provider's plugin library: 5.0 for SDKv2, 6.0 by default for the framework."
    return Reason("manifest_protocols", found, expected, hint, shown(file))


class _Twice(Exception):
    """A duplicate key in an object: readers differ in which value they take."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for key, value in pairs:
        if key in fields:
            raise _Twice(key)
        fields[key] = value
    return fields


def _short_json(value: object) -> str:
    """A value as JSON in one short line."""
    if value is None:
        return "that is missing or null"
    if isinstance(value, dict | list):
        return "a list" if isinstance(value, list) else "an object"
    return shown(json.dumps(value)[:80])


def _refuse(code: str, found: str, expected: str, file: str) -> Refusal:
    return refuse(code, found, expected, _HINT, file)
