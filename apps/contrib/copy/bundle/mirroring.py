"""Providers of other registries in a bundle: with the sums, signature and keys by which the far side verifies them."""

import json
from collections.abc import Iterator
from datetime import datetime

from apps.accounts.access.gate import Viewer
from apps.contrib.copy.bundle import contents
from apps.contrib.copy.bundle.contents import RECORD, SIGNATURE, SUMS, Item
from apps.contrib.copy.bundle.verifying import Opened
from apps.http.mirrors import OtherRegistries
from apps.lib.mirrored import HostedProvider, MirroredProof
from apps.providers.documents import sums_name

# The names of the three files after that of the sums.
_ENDS = {SUMS: "", SIGNATURE: ".sig", RECORD: ".json"}


def files_of(proof: MirroredProof, name: str, version: str) -> Iterator[tuple[str, str, bytes]]:
    """Yield the type, the name and the bytes of each file that proves a version."""
    record = {
        "keys": proof.keys,
        "platforms": proof.platforms,
        "protocols": proof.protocols,
        "since": proof.since.isoformat() if proof.since else "",
        "visibility": proof.visibility,
    }
    raws = {SUMS: proof.sums, SIGNATURE: proof.signature, RECORD: contents.canonical(record)}
    yield from ((kind, sums_name(name, version) + end, raws[kind]) for kind, end in _ENDS.items())


def bring(others: OtherRegistries, opened: Opened, item: Item, viewer: Viewer) -> bool:
    """Store the packages of a version in the mirror here; return whether anything was missing. Raises as `take`."""
    provider = HostedProvider(*item.address.split("/"))
    proving = {kind: sums_name(provider.type, item.version) + end for kind, end in _ENDS.items()}
    digests = {kind: item.files[name] for kind, name in proving.items()}

    def proof() -> MirroredProof:
        record = json.loads(opened.whole(digests[RECORD]))
        return MirroredProof(
            sums=opened.whole(digests[SUMS]),
            signature=opened.whole(digests[SIGNATURE]),
            keys=[(armor, source) for armor, source in record["keys"]],
            platforms={name: (os, arch) for name, (os, arch) in record["platforms"].items()},
            protocols=record["protocols"],
            since=datetime.fromisoformat(record["since"]) if record["since"] else None,
            visibility=record["visibility"],
        )

    return others.take(
        provider,
        item.version,
        {name: one.removeprefix("sha256:") for name, one in item.files.items() if name not in proving.values()},
        proof=proof,
        read=lambda digest: opened.steps(f"sha256:{digest}"),
        viewer=viewer,
        origin=f"{opened.catalogue.registry}, bundle {opened.root}",
    )


def has_proof(item: Item) -> bool:
    """Bundles of an older Larder have none."""
    return sums_name(item.address.rpartition("/")[2], item.version) + _ENDS[RECORD] in item.files
