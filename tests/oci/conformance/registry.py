"""A client of one repository, with the token dance that every real client does."""

import hashlib
import re
from collections.abc import Generator, Iterable
from typing import Any

import httpx

from tests.oci.conformance.content import Document

_PARAMETER = re.compile(r'(\w+)="([^"]*)"')


class TokenDance(httpx.Auth):
    """Asks bare; on a challenge fetches a token for exactly its scope and asks again. `keeps`: until it is refused."""

    requires_request_body = True

    def __init__(self, http: httpx.Client, secret: str, *, keeps: bool = True) -> None:
        self.http, self.secret, self.keeps = http, secret, keeps
        self.fetched = 0
        self._tokens: dict[str, str] = {}

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        place = request.url.path.partition("/blobs/")[0].partition("/manifests/")[0]
        place = f"{place} {request.method in ('GET', 'HEAD')} {request.method == 'DELETE'}"
        if self.keeps and place in self._tokens:
            request.headers["Authorization"] = f"Bearer {self._tokens[place]}"
        response = yield request
        if response.status_code == 401:
            self._tokens[place] = self._fetch(response.headers["WWW-Authenticate"])
            request.headers["Authorization"] = f"Bearer {self._tokens[place]}"
            yield request

    def _fetch(self, challenge: str) -> str:
        scheme, _, rest = challenge.partition(" ")
        found = dict(_PARAMETER.findall(rest))
        assert scheme == "Bearer", challenge
        answer = self.http.get(
            found["realm"],
            params={name: found[name] for name in ("service", "scope") if name in found},
            auth=("whoever", self.secret),
        )
        assert answer.status_code == 200, answer.text
        self.fetched += 1
        token: str = answer.json()["token"]
        return token


class Registry:
    """One repository on a registry. `auth` None: nobody."""

    def __init__(self, http: httpx.Client, name: str, auth: httpx.Auth | None) -> None:
        self.http, self.name, self.auth = http, name, auth

    def ask(self, method: str, path: str | httpx.URL, **more: Any) -> httpx.Response:
        """`path` below the repository, or a whole URL."""
        url = path if isinstance(path, httpx.URL) else f"/v2/{self.name}/{path}"
        return self.http.request(method, url, auth=self.auth, **more)

    # --- Blobs

    def begin(self, **parameters: str) -> httpx.Response:
        return self.ask("POST", "blobs/uploads/", params=parameters, headers={"Content-Length": "0"})

    def session(self, **parameters: str) -> httpx.URL:
        answer = self.begin(**parameters)
        assert answer.status_code == 202, answer.text
        return location(answer)

    def patch(self, session: httpx.URL, data: bytes | Iterable[bytes], start: int | None = None) -> httpx.Response:
        headers = {"Content-Type": "application/octet-stream"}
        if start is not None:
            assert isinstance(data, bytes)
            headers["Content-Range"] = f"{start}-{start + len(data) - 1}"
        return self.ask("PATCH", session, content=data, headers=headers)

    def put(self, session: httpx.URL, digest: str, data: bytes = b"", start: int | None = None) -> httpx.Response:
        headers = {"Content-Type": "application/octet-stream"}
        if start is not None:
            headers["Content-Range"] = f"{start}-{start + len(data) - 1}"
        return self.ask("PUT", session.copy_merge_params({"digest": digest}), content=data, headers=headers)

    def push_blob(self, data: bytes, algorithm: str = "sha256") -> httpx.Response:
        return self.put(self.session(), digest_of(data, algorithm), data)

    # --- Manifests

    def push(self, document: Document, reference: str = "", **parameters: Any) -> httpx.Response:
        return self.ask(
            "PUT",
            f"manifests/{reference or document.digest}",
            content=document.raw,
            headers={"Content-Type": document.media_type},
            **parameters,
        )

    def referrers(self, digest: str, **parameters: str) -> httpx.Response:
        return self.ask("GET", f"referrers/{digest}", params=parameters)


def digest_of(data: bytes, algorithm: str = "sha256") -> str:
    return f"{algorithm}:{hashlib.new(algorithm, data).hexdigest()}"


def location(answer: httpx.Response) -> httpx.URL:
    return answer.url.join(answer.headers["Location"])
