"""Lists of a repository: its tags (end-8), what is attached to a manifest (end-12), and the list of repositories.

Names are in the order of bytes, a page at a time (end-8b); they are ASCII, so text compares as bytes do.
"""

import json
from collections.abc import Iterable, Mapping
from itertools import islice
from urllib.parse import urlencode

from django.http import HttpResponse
from django.urls import path, re_path
from rest_framework.request import Request
from rest_framework.response import Response

from apps.artifacts.attachments import Page
from apps.artifacts.names import Digest, ProviderMirror, parse_name
from apps.http.waits import WaitingView
from apps.lib.errors import CredentialsRequired, Invalid
from apps.lib.formats.oci_manifests import IMAGE_INDEX
from apps.oci import hosted_mirrors, mirrors, packages, referrers, repositories
from apps.oci.base import OciView, ReadyInRepository
from apps.oci.registry_tokens import CATALOG
from apps.releases.cooldown import Shown

FILTERED = "OCI-Filters-Applied"
_MAX_DIGITS = 18


class TagList(ReadyInRepository, WaitingView, OciView):
    def get(self, request: Request, name: str) -> Response:
        address = parse_name(name)
        if isinstance(address, ProviderMirror) and mirrors.hosted(address) is not None:
            tags, self.seconds = hosted_mirrors.tags(self.caller, address, self.asker(self.viewer))
            found = Shown(tags)
        elif isinstance(address, ProviderMirror):
            found = mirrors.tags(self.caller, address)
        else:
            repository = repositories.find(self.caller, address)
            found = packages.tags(repository)
            if not found.rows:
                repositories.require_there(repository)
        self.ready_until = found.next_at
        page, headers = page_of(found.rows, request.GET, f"/v2/{name}/tags/list")
        return Response({"name": name, "tags": page}, headers=headers)


class Catalog(OciView):
    """Docker began it, and `oras repo ls` asks for it. An anonymous token lists public repositories."""

    def get(self, request: Request) -> Response:
        if not self.caller.has_token:
            raise CredentialsRequired("Ask the token service for a token; an anonymous one lists public repositories.")
        if self.caller.scopes is not None and not self.caller.scopes.catalog:
            raise CredentialsRequired(f"This registry token was not granted {CATALOG}.", hint="Ask for that scope.")
        page, headers = page_of(repositories.visible_names(self.viewer), request.GET, "/v2/_catalog")
        return Response({"repositories": page}, headers=headers)

    def asks_for(self) -> str:
        return CATALOG


class Referrers(ReadyInRepository, WaitingView, OciView):
    """Never 404: 200 with an empty index for a missing manifest."""

    def get(self, request: Request, name: str, digest: str) -> HttpResponse:
        address, subject = parse_name(name), Digest.parse(digest)
        artifact_type = request.GET.get("artifactType", "")
        wanted = {"artifact_type": artifact_type, "last": request.GET.get("last", "")}
        if isinstance(address, ProviderMirror):
            page = self._of_mirror(address, subject, wanted)
        else:
            page = referrers.page_of(repositories.find(self.caller, address), subject, **wanted)
        index = {"schemaVersion": 2, "mediaType": IMAGE_INDEX, "manifests": page.descriptors}
        body = json.dumps(index, ensure_ascii=False, separators=(",", ":")).encode()
        response = HttpResponse(body, content_type=IMAGE_INDEX)
        if artifact_type:
            response.headers[FILTERED] = "artifactType"
        if page.next_after:
            query = {"artifactType": artifact_type} if artifact_type else {}
            link = f"/v2/{name}/referrers/{subject}?{urlencode(query | {'last': page.next_after})}"
            response.headers["Link"] = f'<{link}>; rel="next"'
        return response

    def _of_mirror(self, mirror: ProviderMirror, subject: Digest, wanted: dict[str, str]) -> Page:
        """Asks the gate. To what comes from another registry nothing is attached."""
        if mirrors.hosted(mirror) is not None:
            hosted_mirrors.require_visible(self.caller, mirror, self.asker(self.viewer))
            return Page()
        return referrers.page_of_mirror(mirror, mirrors.namespace_of(self.caller, mirror), subject, **wanted)


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


urlpatterns = [
    path("_catalog", Catalog.as_view(), name="catalog"),
    re_path(r"^(?P<name>.+)/tags/list\Z", TagList.as_view(), name="tags"),
    re_path(r"^(?P<name>.+)/referrers/(?P<digest>[^/]+)\Z", Referrers.as_view(), name="referrers"),
]
