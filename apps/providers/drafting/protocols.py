"""The plugin protocols of a provider: declared by its manifest or its publisher, never guessed (D11)."""

from collections.abc import Iterable, Mapping

from apps.lib.archives.sandboxed import Refusal
from apps.lib.errors import Reason
from apps.lib.formats import registry_manifest

# Current clients accept >= 5, < 7: one of a provider's protocols must be among them.
SPOKEN = ("5", "6")


def cleaned(protocols: Iterable[object], *, file: str = "") -> list[str]:
    """Sorted, without duplicates; empty if none were declared. Raises Refusal."""
    declared = list(protocols)
    if not declared:
        return []
    ordered = sorted(
        registry_manifest.protocols_checked(declared, file=file), key=lambda one: [int(part) for part in one.split(".")]
    )
    if not any(one.partition(".")[0] in SPOKEN for one in ordered):
        raise Refusal(
            [
                Reason(
                    code="protocols_unspoken",
                    found=", ".join(ordered),
                    expected="one that clients support: 5.x or 6.x",
                    hint="Build the provider for one of them",
                    file=file,
                )
            ]
        )
    return ordered


def read_manifest(data: bytes, *, file: str) -> list[str]:
    """The protocols of a `terraform-registry-manifest.json`. Raises Refusal."""
    return cleaned(registry_manifest.parse(data, file=file), file=file)


def agreed(declared: Mapping[str, list[str]]) -> list[str]:
    """The protocols that all sources agree on, keyed by source. Raises Refusal if there are none or they differ."""
    given = {where: protocols for where, protocols in declared.items() if protocols}
    if not given:
        raise Refusal([UNKNOWN])
    (first, protocols), *others = given.items()
    for where, other in others:
        if other != protocols:
            raise Refusal(
                [
                    Reason(
                        code="protocols_differ",
                        found=f"{', '.join(protocols)} in {first} and {', '.join(other)} in {where}",
                        expected="the same protocols in all places",
                        hint="Open the draft without protocols if a manifest names them, or correct the manifest",
                    )
                ]
            )
    return protocols


UNKNOWN = Reason(
    code="protocols_unknown",
    found="no manifest, and no plugin protocols in the draft",
    expected='the file …_manifest.json, or {"protocols": ["5.0"]} when you open the draft',
    hint="Set the protocols: SDKv2 uses 5.0 and the plugin framework 6.0, unless main.go sets another",
)
