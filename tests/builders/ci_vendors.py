"""The ways in which each CI gives a run its id token, on loopback: an address to ask, a program on the PATH, or a
variable.

The audience is what the run asked for, so one that asks for another is refused by the exchange.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from tests.builders.serving import Quiet, serving

Signed = Callable[[str], str]  # an id token with this audience; empty for the vendor's own
CREDENTIAL = "credential-of-the-job"

CIRCLECI = """#!/bin/sh
test "$1 $2 $3 $4" = "run oidc get --claims" || exit 64
exec curl -fsS --get --data-urlencode "claims=$5" {url}/circleci
"""
BUILDKITE = """#!/bin/sh
test "$1 $2 $3" = "oidc request-token --audience" || exit 64
test "$5 $6 $7 $8" = "--claim organization_id --claim pipeline_id" || exit 64
exec curl -fsS --get --data-urlencode "audience=$4" {url}/buildkite
"""


@dataclass
class Vendors:
    url: str
    signed: Signed = lambda _audience: ""
    asked: list[str] = field(default_factory=list)

    def token(self, method: str, path: str, credential: str) -> str:
        """The answer's body; empty for a refusal."""
        parts = urlsplit(path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        self.asked.append(f"{method} {parts.path}")
        if (method, parts.path) == ("GET", "/github") and credential == CREDENTIAL and query.get("job") == "7":
            return json.dumps({"count": 1, "value": self.signed(query["audience"])})
        if (method, parts.path, query) == ("POST", "/azure", {"api-version": "7.1"}) and credential == CREDENTIAL:
            return json.dumps({"oidcToken": self.signed("")})
        if parts.path == "/circleci":
            return self.signed(json.loads(query["claims"])["aud"])
        return self.signed(query["audience"]) if parts.path == "/buildkite" else ""

    def environment(self, kind: str, programs: Path, audience: str) -> dict[str, str]:
        """The variables of a job, whose programs are in this folder. `audience`: what its file asks for."""
        if kind == "github":
            return {
                "GITHUB_ACTIONS": "true",
                "ACTIONS_ID_TOKEN_REQUEST_URL": f"{self.url}/github?job=7",
                "ACTIONS_ID_TOKEN_REQUEST_TOKEN": CREDENTIAL,
            }
        if kind == "azure":
            return {"TF_BUILD": "True", "SYSTEM_OIDCREQUESTURI": f"{self.url}/azure"}
        if kind in ("circleci", "buildkite"):
            name, text = ("circleci", CIRCLECI) if kind == "circleci" else ("buildkite-agent", BUILDKITE)
            (programs / name).write_text(text.format(url=self.url))
            (programs / name).chmod(0o755)
            return {"CIRCLECI" if kind == "circleci" else "BUILDKITE": "true"}
        if kind == "bitbucket":
            return {"BITBUCKET_BUILD_NUMBER": "1", "BITBUCKET_STEP_OIDC_TOKEN": self.signed(audience)}
        return {"GITLAB_CI": "true" if kind == "gitlab" else "", "LARDER_ID_TOKEN": self.signed(audience)}


@contextmanager
def running() -> Iterator[Vendors]:
    class Handler(Quiet, BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            scheme, _, credential = self.headers.get("Authorization", "").partition(" ")
            body = vendors.token(self.command, self.path, credential if scheme == "Bearer" else "").encode()
            self.send_response(200 if body else 401)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.do_GET()

    with serving(Handler) as url:
        vendors = Vendors(url)
        yield vendors
