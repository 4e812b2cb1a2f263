"""The provider of oidc-provider-mock, a process of its own: `python -m` of this module, with PORT USER….

It ignores PKCE, so this checks it: a code counts only with the verifier of the challenge that asked for it.
"""

import base64
import hashlib
import json
import sys
import warnings
from typing import Any
from urllib.parse import parse_qs, urlsplit

warnings.simplefilter("ignore")

import flask  # noqa: E402  # after the filter: its own imports are deprecated
from oidc_provider_mock import User  # noqa: E402
from oidc_provider_mock import app as provider  # noqa: E402


def main(port: str, *people: str) -> None:
    claims: list[dict[str, Any]] = [json.loads(person) for person in people]
    app = provider(require_nonce=True, user_claims=[User(sub=one.pop("sub"), claims=one) for one in claims])
    challenges: dict[str, str] = {}

    @app.after_request  # type: ignore[untyped-decorator]  # Flask is not typed here
    def remember(response: flask.Response) -> flask.Response:
        if flask.request.path == "/oauth2/authorize" and "code=" in response.headers.get("Location", ""):
            asked = flask.request.args
            assert asked["code_challenge_method"] == "S256"
            code = parse_qs(urlsplit(response.headers["Location"]).query)["code"][0]
            challenges[code] = asked["code_challenge"]
        return response

    @app.before_request  # type: ignore[untyped-decorator]  # Flask is not typed here
    def prove() -> tuple[str, int] | None:
        if flask.request.path != "/oauth2/token":
            return None
        digest = hashlib.sha256(flask.request.form["code_verifier"].encode()).digest()
        proof = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        return None if challenges.pop(flask.request.form["code"], "") == proof else ("no proof", 400)

    app.run(port=int(port), threaded=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
