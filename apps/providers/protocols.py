"""Which plugin protocols a provider speaks: told by its manifest or by its publisher, never guessed (D11)."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from apps.lib.archives import Refusal
from apps.lib.errors import Invalid, Reason

MOST = 10
# Clients read each as a version; one that they cannot read fails the provider for everybody.
_PROTOCOL = re.compile(r"(?:0|[1-9][0-9]{0,2})\.(?:0|[1-9][0-9]{0,2})", re.ASCII)
_MEND = 'Name them as the provider was built: "5.0" for SDKv2, "6.0" for the plugin framework.'


def cleaned(protocols: Iterable[object]) -> list[str]:
    """The protocols in their order, each once. Raises Invalid for what clients cannot read or do not speak."""
    found = list(protocols)
    for one in found:
        if not isinstance(one, str) or not _PROTOCOL.fullmatch(one):
            raise Invalid(f'found the protocol {str(one)[:40]!r}, expected a text like "5.0" or "6.7"', mend=_MEND)
    if len(found) > MOST:
        raise Invalid(f"found {len(found)} protocols, expected at most {MOST}", mend=_MEND)
    unique = {str(one) for one in found}
    if unique and not any(one.partition(".")[0] in ("5", "6") for one in unique):
        raise Invalid(
            f"found the protocols {', '.join(sorted(unique))}, expected one that clients speak: 5.x or 6.x", mend=_MEND
        )
    return sorted(unique, key=lambda one: [int(part) for part in one.split(".")])


def read_manifest(data: bytes, *, file: str) -> list[str]:
    """What a `terraform-registry-manifest.json` says. Raises Refusal."""
    try:
        manifest: Any = json.loads(data)
        is_known = manifest["version"] == 1
        told = manifest["metadata"]["protocol_versions"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Refusal([_unreadable("a manifest that cannot be read", file)]) from None
    if not is_known:
        raise Refusal([_unreadable(f"a manifest of version {str(manifest['version'])[:20]!r}", file)])
    if not isinstance(told, list) or not told:
        raise Refusal([_unreadable("a manifest without protocol_versions", file)])
    return told_by(told, file=file)


def told_by(protocols: Iterable[object], *, file: str) -> list[str]:
    """What a file of the upload says. Raises Refusal where Invalid would be for a person's own words."""
    try:
        return cleaned(protocols)
    except Invalid as error:
        found, _, expected = str(error).removeprefix("found ").partition(", expected ")
        raise Refusal([Reason("protocols-invalid", found, expected, error.mend, file)]) from None


def agreed(told: Mapping[str, list[str]]) -> list[str]:
    """What all that was told agrees on; the keys say where. Raises Refusal: for nothing told, or two different."""
    said = {where: protocols for where, protocols in told.items() if protocols}
    if not said:
        raise Refusal([UNKNOWN])
    (first, protocols), *others = said.items()
    for where, other in others:
        if other != protocols:
            raise Refusal([_differing(first, protocols, where, other)])
    return protocols


UNKNOWN = Reason(
    code="protocols-unknown",
    found="no manifest, and nobody who said which plugin protocols the provider speaks",
    expected='the file …_manifest.json, or {"protocols": ["5.0"]} where the draft is opened',
    mend="Which protocols does it speak? SDKv2 is 5.0, the plugin framework 6.0, or as its main.go says",
)


def _differing(first: str, protocols: list[str], where: str, other: list[str]) -> Reason:
    return Reason(
        code="protocols-differ",
        found=f"{', '.join(protocols)} in {first} and {', '.join(other)} in {where}",
        expected="the same protocols wherever they are named",
        mend="Open the draft without protocols where a manifest names them, or mend the manifest",
    )


def _unreadable(found: str, file: str) -> Reason:
    return Reason(
        code="manifest-invalid",
        found=found,
        expected='{"version": 1, "metadata": {"protocol_versions": ["5.0"]}}',
        mend="Write it as GoReleaser's terraform-registry-manifest.json is written, or leave it out and name them",
        file=file,
    )
