"""Each way that the files of a provider can take, walked to its end: acme/dns 1.2.0, by Alice, with a worker behind."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from django.test import Client
from django.urls import reverse

from tests.house.world import ORIGIN
from tests.providers.desk import work

ADDRESS = {"namespace": "acme", "type": "dns", "version": "1.2.0"}
FORM = "application/x-www-form-urlencoded"


@dataclass
class Courier:
    """Goes on where one door refuses: the next may not. `doors` are those that it knocked at."""

    client: Client
    doors: set[str] = field(default_factory=set)

    def ask(self, method: str, url: str, data: bytes = b"", **more: Any) -> Any:
        response = self.client.generic(method, url, data, **more)
        assert response.status_code < 500, response.content
        self.doors.add(f"{method} {response.resolver_match.view_name}")
        return response


def by_api(courier: Courier, files: Mapping[str, bytes], **wanted: Any) -> None:
    """`wanted` replaces parts of the address."""
    address = ADDRESS | wanted
    courier.ask("POST", reverse("api:provider-release", kwargs=address), json.dumps({"protocols": ["5.0"]}).encode())
    for name, data in files.items():
        courier.ask("PUT", reverse("api:provider-file", kwargs=address | {"filename": name}), data)
    courier.ask("POST", reverse("api:provider-publish", kwargs=address))
    work()


def by_browser(courier: Courier, files: Mapping[str, bytes], **wanted: Any) -> None:
    """As our script sends them: raw, one after the other."""
    page = _opened(courier, **wanted)
    for name, data in files.items():
        courier.ask("PUT", f"{page}/files/{name}", data, headers=ORIGIN)
    _hand_in(courier, page)


def by_form(courier: Courier, files: Mapping[str, bytes], **wanted: Any) -> None:
    """As a browser without scripts sends them: one multipart form."""
    page = _opened(courier, **wanted)
    parts = [
        f'--cut\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n\r\n'.encode() + data + b"\r\n"
        for name, data in files.items()
    ]
    body = b"".join(parts) + b"--cut--\r\n"
    courier.ask("POST", f"{page}/files", body, content_type="multipart/form-data; boundary=cut", headers=ORIGIN)
    _hand_in(courier, page)


def by_admin(courier: Courier, files: Mapping[str, bytes], **wanted: Any) -> None:
    """Opened in the admin; the rest of the way is the portal's."""
    page = _opened(courier, "admin:upload-provider", **wanted)
    for name, data in files.items():
        courier.ask("PUT", f"{page}/files/{name}", data, headers=ORIGIN)
    _hand_in(courier, page)


def _opened(courier: Courier, door: str = "portal:provider-publish", **wanted: Any) -> str:
    told = {"provider": "new", **ADDRESS, **wanted, "protocols": "5.0"}
    response = courier.ask("POST", reverse(door), urlencode(told).encode(), content_type=FORM)
    return response.headers.get("Location", "/releases/00000000-0000-0000-0000-000000000000")


def _hand_in(courier: Courier, page: str) -> None:
    courier.ask("POST", f"{page}/hand-in", urlencode({"protocols": "5.0"}).encode(), content_type=FORM)
    work()


# By the kinds of doors.toml. Those that come in by a browser have a session, the others a token.
WAYS: dict[str, Callable[..., None]] = {"api": by_api, "browser": by_browser, "form": by_form, "admin": by_admin}
