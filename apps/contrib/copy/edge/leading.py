"""The tree as a follower reads it, with a token: the manifest names what is private, so only operators get it."""

import re
import time
from collections.abc import Iterator

from django.conf import settings
from django.http.response import HttpResponseBase
from rest_framework.request import Request

from apps.accounts.access import gate
from apps.blobs.backends import Missing
from apps.contrib.copy.tree import layout
from apps.contrib.copy.writing import targets
from apps.http.byte_ranges import byte_response
from apps.lib.errors import CredentialsRequired, NotFound, RoleRequired
from apps.protocol.base import ProtocolView

_MANIFEST = re.compile(r"manifest\.dsse|manifest/[0-9a-f]{2}(?:/[0-9a-f]{64})?\.json", re.ASCII)
_FILE = re.compile(r"(?:public|private)/(.+)", re.ASCII | re.DOTALL)


class Tree(ProtocolView):
    """A file of the static copy by its path from the root, as bytes, with ranges."""

    def get(self, request: Request, path: str) -> HttpResponseBase:
        viewer = self.viewer
        if viewer.user is None:
            raise CredentialsRequired(
                "Following this registry needs a token.", hint="Use one of an operator, without limits."
            )
        if not gate.operates(viewer) or (viewer.token and (viewer.token.is_limited or viewer.token.only_name)):
            raise RoleRequired("Following this registry needs a token of an operator, without limits.")
        found = _FILE.fullmatch(path)
        is_ours = layout.is_place(found[1]) if found else _MANIFEST.fullmatch(path)
        copy = targets.at(settings.STATIC_COPY.url) if is_ours and settings.STATIC_COPY.url else None
        size = copy.size(path) if copy else None
        if copy is None or size is None:
            raise NotFound(
                "The static copy has no such file.", hint="It is written where LARDER_STATIC_COPY_URL is set."
            )

        def read(part: range) -> Iterator[bytes]:
            try:
                yield from copy.read(path, part.start, part.stop)
            except Missing:
                raise NotFound("The static copy no longer has this file.") from None

        headers = {"Content-Type": "application/octet-stream", "Cache-Control": "no-store"}
        # No two answers have the same, because nothing tells versions of a file apart: followers compare digests.
        return byte_response(request, size=size, etag=f'"{time.time_ns():x}"', headers=headers, read=read)
