"""Compares every file of a copy with what should be there now, and repairs what differs.

In steps, between which the writer of changes comes round. Nothing is believed: neither rows, nor names, nor a list that
a bucket gives.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from django.utils import timezone

from apps.contrib.copy.models import Root
from apps.contrib.copy.tree import documents, layout, manifest
from apps.contrib.copy.tree.documents import Rendered, stored_as
from apps.contrib.copy.writing import following, writer
from apps.contrib.copy.writing.writer import Writer

AT_ONCE = 50  # addresses, or files that no address has

# A path, what was found there, and what was expected.
Difference = tuple[str, str, str]


def differences(url: str, *, repair: bool) -> Iterator[Difference]:
    """Yield each file that is missing, is another one, or should not be there. Raises StorageUnavailable.

    `repair`: write the whole address again, and remove what should not be there.
    """
    with writer.opened(url) as own:
        left = following.everything_counted(own.copy)
    while some := list(islice(left, AT_ONCE)):
        with writer.opened(url) as own:
            now = timezone.now()
            for address in some:
                yield from _of_address(own, documents.render(address, now=now), repair=repair)
    with writer.opened(url) as own:
        surplus = list(_surplus(own))
        yield from ((path, "a file", "none") for path in surplus)
        if repair:
            own.target.remove(surplus)
        yield from _of_manifest(own, repair=repair)


def _of_manifest(own: Writer, *, repair: bool) -> Iterator[Difference]:
    """Compare the shards, and the signed root where it was written."""
    root = Root.objects.filter(copy=own.copy).first()
    wanted = (
        {layout.shard_path(shard): one for shard, one in manifest.shards_of(bytes(root.payload)).items()}
        if root
        else {}
    )
    if root and root.put_at:
        wanted[layout.MANIFEST] = stored_as(bytes(root.envelope)).digest
    for path, digest in wanted.items():
        stored = own.target.stored(path)
        if stored is None or stored.digest != digest:
            yield path, stored.digest if stored else "nothing", digest
            if repair:
                own.copy.addresses.filter(shard=path[-7:-5]).update(is_sealed=False)
                Root.objects.filter(copy=own.copy).update(put_at=None)


def _of_address(own: Writer, rendered: Rendered, *, repair: bool) -> Iterator[Difference]:
    wanted = {layout.path_of(place, is_public=rendered.is_public): one for place, one in rendered.files.items()}
    found = []
    for path, content in wanted.items():
        stored, expected = own.target.stored(path), stored_as(content)
        if stored != expected:
            found.append((path, stored.digest if stored else "nothing", expected.digest))
    row = own.copy.addresses.filter(address=str(rendered.address)).first()
    listed = own.target.stored(rendered.address.list_path)
    if (row.digest if row else "") != (listed.digest if listed else ""):
        found.append((rendered.address.list_path, listed.digest if listed else "nothing", "the list of its files"))
    yield from found
    if found and repair:
        own.write([rendered], distrust=True)


def _surplus(own: Writer) -> Iterator[str]:
    """Yield each file of which no row says that it should be there. Those of an address come one after the other."""
    rows = lru_cache(maxsize=8)(lambda address: own.copy.addresses.filter(address=str(address)).first())
    for path in own.target.paths():
        found = [rows(address) for address in layout.addresses_at(path.partition("/")[2])]
        if not any(row and path in row.paths for row in found):
            yield path
