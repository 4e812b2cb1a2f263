"""Each way that the files of a provider can take, walked to its end: acme/dns 1.2.0, by Alice, with a worker behind."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from django.test import Client
from django.urls import reverse

from tests.api.tus_client import MEDIA_TYPE
from tests.house.scenario_uploads import ORIGIN
from tests.providers.draft_client import work

ADDRESS = {"namespace": "acme", "type": "dns", "version": "1.2.0"}
FORM = "application/x-www-form-urlencoded"


@dataclass
class UploadChannel:
    """Goes on where one entry_point refuses: the next may not. `entry_points` are those that it knocked at."""

    client: Client
    entry_points: set[str] = field(default_factory=set)

    def ask(self, method: str, url: str, data: bytes = b"", **more: Any) -> Any:
        response = self.client.generic(method, url, data, **more)
        assert response.status_code < 500, response.content
        self.entry_points.add(f"{method} {response.resolver_match.view_name}")
        return response


def by_api(channel: UploadChannel, files: Mapping[str, bytes], **wanted: Any) -> None:
    """`wanted` replaces parts of the address."""
    address = ADDRESS | wanted
    channel.ask("POST", reverse("api:provider-release", kwargs=address), json.dumps({"protocols": ["5.0"]}).encode())
    for name, data in files.items():
        channel.ask("PUT", reverse("api:provider-file", kwargs=address | {"filename": name}), data)
    channel.ask("POST", reverse("api:provider-publish", kwargs=address))
    work()


def in_pieces(channel: UploadChannel, files: Mapping[str, bytes], **wanted: Any) -> None:
    """By the API, with a client that continues broken uploads."""
    address = ADDRESS | wanted
    channel.ask("POST", reverse("api:provider-release", kwargs=address), json.dumps({"protocols": ["5.0"]}).encode())
    for name, data in files.items():
        begin = reverse("api:provider-file-uploads", kwargs=address | {"filename": name})
        begun = channel.ask("POST", begin, headers={"Upload-Length": str(len(data))})
        if begun.status_code == HTTPStatus.CREATED:
            at = begun.headers["Location"]
            channel.ask("PATCH", at, data, content_type=MEDIA_TYPE, headers={"Upload-Offset": "0"})
    channel.ask("POST", reverse("api:provider-publish", kwargs=address))
    work()


def by_browser(channel: UploadChannel, files: Mapping[str, bytes], **wanted: Any) -> None:
    """As our script sends them: in pieces that may be continued, one after the other."""
    page = _opened(channel, **wanted)
    for name, data in files.items():
        headers = {"Upload-Length": str(len(data)), "Upload-Offset": "0", **ORIGIN}
        channel.ask("PATCH", f"{page}/files/{name}", data, content_type=MEDIA_TYPE, headers=headers)
    _hand_in(channel, page)


def by_form(channel: UploadChannel, files: Mapping[str, bytes], **wanted: Any) -> None:
    """As a browser without scripts sends them: one multipart form."""
    page = _opened(channel, **wanted)
    parts = [
        f'--cut\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n\r\n'.encode() + data + b"\r\n"
        for name, data in files.items()
    ]
    body = b"".join(parts) + b"--cut--\r\n"
    channel.ask("POST", f"{page}/files", body, content_type="multipart/form-data; boundary=cut", headers=ORIGIN)
    _hand_in(channel, page)


def by_admin(channel: UploadChannel, files: Mapping[str, bytes], **wanted: Any) -> None:
    """Opened in the admin; the rest of the way is the portal's."""
    page = _opened(channel, "admin:upload-provider", **wanted)
    for name, data in files.items():
        channel.ask("PUT", f"{page}/files/{name}", data, headers=ORIGIN)
    _hand_in(channel, page)


def _opened(channel: UploadChannel, entry_point: str = "portal:provider-publish", **wanted: Any) -> str:
    told = {"provider": "new", **ADDRESS, **wanted, "protocols": "5.0"}
    response = channel.ask("POST", reverse(entry_point), urlencode(told).encode(), content_type=FORM)
    return response.headers.get("Location", "/releases/00000000-0000-0000-0000-000000000000")


def _hand_in(channel: UploadChannel, page: str) -> None:
    channel.ask("POST", f"{page}/hand-in", urlencode({"protocols": "5.0"}).encode(), content_type=FORM)
    work()


# By the kinds of entry_points.toml. Those that come in by a browser have a session, the others a token.
WAYS: dict[str, Callable[..., None]] = {
    "api": by_api,
    "pieces": in_pieces,
    "browser": by_browser,
    "form": by_form,
    "admin": by_admin,
}
