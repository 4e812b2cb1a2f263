"""An issuer of id tokens on loopback, with real keys: it answers its discovery document and its keys, or misbehaves.

`at_keys` and `at_discovery` are asked before each answer, and may answer in its place: a status and a body.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from tests.builders.serving import Quiet, serving

ALGORITHMS = ("RS256", "ES256", "EdDSA")
Answer = tuple[int, bytes, dict[str, str]]


def new_key(algorithm: str) -> Any:
    if algorithm == "RS256":
        return rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return ec.generate_private_key(ec.SECP256R1()) if algorithm == "ES256" else ed25519.Ed25519PrivateKey.generate()


def public_jwk(key: Any, algorithm: str, kid: str) -> dict[str, Any]:
    kind = jwt.get_algorithm_by_name(algorithm)
    return {**json.loads(kind.to_jwk(key.public_key())), "kid": kid, "use": "sig", "alg": algorithm}


class Issuer:
    def __init__(self, url: str, keys: dict[str, Any]) -> None:
        self.url, self.keys = url, keys
        self.published = [public_jwk(key, algorithm, f"key-{algorithm}") for algorithm, key in keys.items()]
        self.asked: list[str] = []
        self.at_keys: Callable[[], Answer | None] = lambda: None
        self.at_discovery: Callable[[], Answer | None] = lambda: None
        self.tokens = 0

    def claims(self, **more: Any) -> dict[str, Any]:
        """Return the claims of every id token; None takes a claim out."""
        now = int(time.time())
        self.tokens += 1
        usual = {
            "iss": self.url,
            "aud": "https://larder.test",
            "iat": now,
            "nbf": now,
            "exp": now + 300,
            "sub": "whatever",
            "jti": f"{self.url}/{self.tokens}",
        }
        return {name: value for name, value in {**usual, **more}.items() if value is not None}

    def signed(self, claims: dict[str, Any], *, algorithm: str = "RS256", key: Any = None, **header: Any) -> str:
        header = {"kid": f"key-{algorithm}", **header}
        kept = {name: value for name, value in header.items() if value is not None}
        return jwt.encode(claims, key or self.keys[algorithm], algorithm=algorithm, headers=kept)

    def answer(self, path: str) -> Answer:
        self.asked.append(path)
        if path == "/.well-known/openid-configuration":
            document = {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}
            return self.at_discovery() or (200, json.dumps(document).encode(), {})
        if path == "/keys":
            return self.at_keys() or (200, json.dumps({"keys": self.published}).encode(), {})
        return 404, b"", {}


@contextmanager
def running(keys: dict[str, Any]) -> Iterator[Issuer]:
    class Handler(Quiet, BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body, headers = issuer.answer(self.path)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            try:
                self.wfile.write(body)
            except OSError:  # a reader that has seen enough
                self.close_connection = True

    with serving(Handler) as url:
        issuer = Issuer(url, keys)
        yield issuer
