"""An identity provider in a thread, which the test scripts: what it answers, and what it signs with which key."""

import base64
import contextlib
import hashlib
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ec

from apps.contrib.openid.providers import OpenIdProvider
from tests.builders.serving import Quiet, serving

DROPS = 50
CLIENT, SECRET = "larder", "only-for-tests"
Answer = Callable[[BaseHTTPRequestHandler], None]


@dataclass
class Key:
    kid: str = "first"
    private: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    @property
    def public(self) -> dict[str, Any]:
        public = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(self.private.public_key()))
        return public | {"kid": self.kid, "use": "sig", "alg": "ES256"}


@dataclass
class Scripted:
    """`person` has the claims of who signs in; `answers` replaces the answer of a path.

    The answers of `slow` paths come in drops, those of `large` ones after a mebibyte of blanks: right but for that.
    """

    issuer: str
    key: Key
    person: dict[str, Any] = field(default_factory=lambda: {"sub": "a-1", "preferred_username": "ann", "groups": []})
    userinfo: dict[str, Any] = field(default_factory=dict)
    answers: dict[str, Answer] = field(default_factory=dict)
    slow: set[str] = field(default_factory=set)
    large: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)
    grants: dict[str, dict[str, str]] = field(default_factory=dict)
    keys: list[Key] | None = None
    token: Callable[[dict[str, Any]], str] | None = None

    def provider(self, name: str = "corp", **changes: Any) -> OpenIdProvider:
        fields: dict[str, Any] = {
            "id": name,
            "issuer": self.issuer,
            "client_id": CLIENT,
            "secret": SECRET,
            "name": "Acme ID",
            "scopes": ("openid", "profile"),
            "groups_claim": "groups",
            "new_accounts": "everyone",
        }
        return OpenIdProvider(**fields | changes)

    def padding(self, path: str) -> dict[str, int]:
        return {"drops": DROPS if path in self.slow else 0, "blanks": 1024 * 1024 if path in self.large else 0}

    def documents(self) -> dict[str, Any]:
        return {
            "/.well-known/openid-configuration": {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
                "userinfo_endpoint": f"{self.issuer}/userinfo",
                "jwks_uri": f"{self.issuer}/keys",
                "token_endpoint_auth_methods_supported": ["client_secret_post"],
            },
            "/keys": {"keys": [key.public for key in self.keys or [self.key]]},
            "/userinfo": {"sub": self.person["sub"], **self.userinfo},
        }

    def consent(self, url: str) -> str:
        """Consent like the provider's page: remember what was asked, and lead back with a code."""
        asked = dict(parse_qsl(urlsplit(url).query))
        code = f"code-{len(self.grants)}"
        self.grants[code] = asked
        return f"{urlsplit(asked['redirect_uri']).path}?{urlencode({'code': code, 'state': asked['state']})}"

    def claims(self, **changes: Any) -> dict[str, Any]:
        now = int(time.time())
        return {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 300, **self.person, **changes}

    def sign(self, claims: dict[str, Any], key: Key | None = None) -> str:
        key = key or self.key
        return jwt.encode(claims, key.private, algorithm="ES256", headers={"kid": key.kid})

    def exchange(self, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        """The token endpoint: a code once, for who can prove that the code was asked for by them (PKCE)."""
        asked = self.grants.pop(form.get("code", ""), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        proof = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if asked is None or asked.get("code_challenge_method") != "S256" or asked["code_challenge"] != proof:
            return 400, {"error": "invalid_grant"}
        if (form["client_id"], form["client_secret"], form["redirect_uri"]) != (CLIENT, SECRET, asked["redirect_uri"]):
            return 401, {"error": "invalid_client"}
        claims = self.claims(nonce=asked["nonce"])
        signed = self.token(claims) if self.token else self.sign(claims)
        return 200, {"access_token": "access", "token_type": "Bearer", "id_token": signed}


def answer(handler: BaseHTTPRequestHandler, status: int, document: Any, *, drops: int = 0, blanks: int = 0) -> None:
    """`drops`: so many blanks come before the document, one now and then. Each is in time, all of them are not."""
    body = b" " * (drops + blanks) + json.dumps(document).encode()
    handler.send_response(status)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    with contextlib.suppress(OSError):  # the client has had enough
        for place in range(drops):
            handler.wfile.write(body[place : place + 1])
            time.sleep(0.02)
        handler.wfile.write(body[drops:])


@contextmanager
def running(key: Key) -> Iterator[Scripted]:
    class Handler(Quiet, BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            scripted.asked.append(path)
            documents = scripted.documents()
            if path in scripted.answers:
                scripted.answers[path](self)
            else:
                answer(self, 200 if path in documents else 404, documents.get(path), **scripted.padding(path))

        def do_POST(self) -> None:
            scripted.asked.append(self.path)
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            if self.path in scripted.answers:
                scripted.answers[self.path](self)
                return
            form = {name: values[0] for name, values in parse_qs(body).items()}
            answer(self, *scripted.exchange(form), **scripted.padding(self.path))

    with serving(Handler) as url:
        scripted = Scripted(url, key)
        yield scripted
