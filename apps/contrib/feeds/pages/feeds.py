"""Atom feeds (RFC 4287) of what was published: /modules/<address>/feed.atom, of providers and of namespaces.

Read with a session, or as feed readers can: with an API token, by Bearer or as the password of Basic credentials.
"""

import hashlib
import re
from collections.abc import Iterable
from datetime import datetime

from django.conf import settings
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.urls import path, reverse
from django.utils.cache import get_conditional_response
from django.utils.feedgenerator import Atom1Feed
from rest_framework.request import Request

from apps.accounts.access import gate
from apps.accounts.access.gate import Viewer
from apps.accounts.identity.sessions import session_viewer
from apps.accounts.models import ApiToken, Namespace, User
from apps.http.authentication import TokenAuthentication
from apps.http.errors import registry_dialect
from apps.http.views import MachineView, ReadyAtAddress, ReadyInNamespace
from apps.portal.frame.page_urls import Address, url_of
from apps.portal.modules.frame import MODULES
from apps.portal.providers.pages import PROVIDERS
from apps.portal.versions.pages import VersionPages
from apps.releases.cooldown import shown
from apps.releases.models import Lifecycle, Release, ReleaseQuerySet

ENTRIES = 50
# XML 1.0 has no place for them.
_NOT_IN_XML = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


class TokenOrSession(TokenAuthentication):
    def authenticate(self, request: Request) -> tuple[User, ApiToken | None] | None:  # type: ignore[override]  # a session has no token
        if "HTTP_AUTHORIZATION" in request.META:
            return super().authenticate(request)
        if settings.SESSION_COOKIE_NAME not in request.COOKIES:
            return None
        user = request._request.user  # noqa: SLF001  # the session's, which REST framework replaces
        return (user, None) if isinstance(user, User) else None

    def authenticate_header(self, request: Request) -> str:  # noqa: ARG002
        return 'Basic realm="Larder", charset="UTF-8"'


class FeedView(MachineView):
    http_method_names = ["get", "head"]
    authentication_classes = [TokenOrSession]
    dialect = registry_dialect

    @property
    def viewer(self) -> Viewer:
        return super().viewer if self.request.auth else session_viewer(self.request)

    def challenge(self, error: Exception) -> str:  # noqa: ARG002
        """Feed readers can answer this one."""
        return 'Basic realm="Larder", charset="UTF-8"'

    def answer(self, title: str, page: str, releases: Iterable[Release]) -> HttpResponseBase:
        """Without those in their cool-down, which join when clients see them."""
        found = shown(releases, lambda release: release.visible_at)
        self.ready_until = found.next_at
        body = atom(title, page, self.request.path, found.rows)
        headers = {"ETag": f'"{hashlib.sha256(body).hexdigest()}"'}
        whole = HttpResponse(body, content_type="application/atom+xml; charset=utf-8", headers=headers)
        return get_conditional_response(self.request, etag=headers["ETag"], response=whole) or whole


class VersionFeed(ReadyAtAddress, FeedView):
    def get(self, request: Request, *, pages: VersionPages, **names: str) -> HttpResponseBase:  # noqa: ARG002
        parent, _ = pages.parent_and_role(self.viewer, pages.address_type(**names))
        releases = Release.objects.filter(kind=pages.kind, namespace=parent.namespace, name=parent.address.path_name)
        return self.answer(f"{parent.address}", url_of(parent.address), _latest(releases))


class NamespaceFeed(ReadyInNamespace, FeedView):
    def get(self, request: Request, namespace: str) -> HttpResponseBase:  # noqa: ARG002
        row = gate.namespace_for(self.viewer, namespace)
        page = reverse("portal:namespace", args=[row.name])
        return self.answer(row.name, page, _latest(Release.objects.filter(namespace=row)))


def _latest(releases: ReleaseQuerySet) -> ReleaseQuerySet:
    """Yanked ones included: their entries say so."""
    return releases.published().select_related("namespace").order_by("-published_at", "-pk")[:ENTRIES]


class _Feed(Atom1Feed):
    def latest_post_date(self) -> datetime:
        """Of an empty feed a steady one, so that equal feeds are equal bytes."""
        return super().latest_post_date() if self.items else datetime.fromisoformat("1970-01-01T00:00:00+00:00")


def atom(title: str, page: str, own_path: str, releases: Iterable[Release]) -> bytes:
    """Return the feed. It names no person: what is public is read by everyone."""
    site = settings.PUBLIC_URL
    feed = _Feed(
        title=f"{title}: versions",
        link=f"{site}{page}",
        feed_url=f"{site}{own_path}",
        description="",
        language="en",
        author_name=f"Larder at {settings.PUBLIC_HOST}",
        feed_guid=f"{site}{own_path}",
    )
    for release in releases:
        names = [release.namespace.name, *release.name.split("/"), release.version]
        url = site + reverse(f"portal:{release.kind}-version", args=names)
        feed.add_item(
            title=f"{release.namespace.name}/{release.name} {release.version}",
            link=url,
            unique_id=url,
            description=_NOT_IN_XML.sub("\ufffd", summary_of(release)),
            pubdate=release.published_at,
            updateddate=max(filter(None, (release.published_at, release.lifecycle_at))),
        )
    return feed.writeString("utf-8").encode()


def summary_of(release: Release) -> str:
    text = f"Version {release.version} of the {release.kind} {release.namespace.name}/{release.name}."
    if release.lifecycle != Lifecycle.MAINTAINED:
        text += f" {Lifecycle(release.lifecycle).label}: {release.lifecycle_reason}"
        if release.lifecycle_replacement:
            text += f" Use instead: {release.lifecycle_replacement}."
    return text


def of_address(_: Viewer, address: Address) -> dict[str, str]:
    """Return the values of portal/feeds/head.html and link.html for a module or provider."""
    return {"of": f"of {address}", "url": url_of(address, "feed")}


def of_namespace(_: Viewer, namespace: Namespace) -> dict[str, str]:
    return {"of": f"in {namespace.name}", "url": reverse("portal:namespace-feed", args=[namespace.name])}


urlpatterns = [
    path("namespaces/<str:namespace>/feed.atom", NamespaceFeed.as_view(), name="namespace-feed"),
    *(
        path(f"{pages.path}/feed.atom", VersionFeed.as_view(), {"pages": pages}, name=f"{pages.kind}-feed")
        for pages in (MODULES, PROVIDERS)
    ),
]
