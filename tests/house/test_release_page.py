"""bin/release_page.py: what it asks GitHub and GitLab for, on a server that answers as they do."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from tests.builders.serving import Quiet, serving
from tests.house import sources
from tests.rows import for_each_row

FILES = ("larder-1.2.0.tgz", "SHA256SUMS")


class Service(Quiet, BaseHTTPRequestHandler):
    """Remembers requests; `answers` has what it says to them: (status, document) by method and end of the path."""

    asked: list[tuple[str, str, bytes]]
    answers: dict[tuple[str, str], tuple[int, object]]

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.asked.append((self.command, self.path, body))
        said = next(
            (
                said
                for (method, end), said in self.answers.items()
                if method == self.command and self.path.endswith(end)
            ),
            (200, {}),
        )
        text = json.dumps(said[1]).encode()
        self.send_response(said[0])
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer  # noqa: N815  # as the base class calls them


@pytest.fixture
def service() -> Iterator[type[Service]]:
    class Mine(Service):
        asked = []
        answers = {}

    with serving(Mine) as url:
        Mine.url = url  # type: ignore[attr-defined]
        yield Mine


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "bin").mkdir()
    shutil.copy2(sources.CHECKOUT / "bin/release_page.py", tmp_path / "bin")
    (tmp_path / "dist").mkdir()
    for name in FILES:
        (tmp_path / "dist" / name).write_text(name)
    (tmp_path / "dist/notes.md").write_text("What has changed.")
    return tmp_path


def publish(checkout: Path, tag: str = "v1.2.0", **variables: str) -> "subprocess.CompletedProcess[str]":
    words = [sys.executable, str(checkout / "bin/release_page.py"), "publish", tag]
    environment = {"PATH": os.environ["PATH"], **variables}
    return subprocess.run(words, env=environment, capture_output=True, text=True, check=False)


def github(service: type[Service]) -> dict[str, str]:
    return {"GITHUB_API_URL": service.url, "GITHUB_REPOSITORY": "acme/larder", "GITHUB_TOKEN": "secret"}  # type: ignore[attr-defined]


def test_github_shows_the_page_once_all_files_are_there(checkout, service):
    service.answers = {
        ("GET", "per_page=100"): (200, [{"tag_name": "v1.1.0", "id": 6}, {"tag_name": "v1.2.0", "id": 7}]),
        ("POST", "/releases"): (201, {"id": 8, "upload_url": f"{service.url}/upload/8{{?name,label}}"}),
        ("PATCH", "/8"): (200, {"html_url": "https://github.example/acme/larder/releases/tag/v1.2.0"}),
    }

    done = publish(checkout, **github(service))

    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith("/releases/tag/v1.2.0")
    base = "/repos/acme/larder/releases"
    assert [(method, path) for method, path, _ in service.asked] == [
        ("GET", f"{base}?per_page=100"),
        ("DELETE", f"{base}/7"),  # half done by a run before
        ("POST", base),
        ("POST", "/upload/8?name=SHA256SUMS"),
        ("POST", "/upload/8?name=larder-1.2.0.tgz"),
        ("PATCH", f"{base}/8"),
    ]
    page = json.loads(service.asked[2][2])
    assert (page["tag_name"], page["body"], page["draft"]) == ("v1.2.0", "What has changed.", True)
    assert service.asked[4][2] == b"larder-1.2.0.tgz"


def test_gitlab_has_the_files_before_the_page_names_them(checkout, service):
    service.answers = {
        ("DELETE", "/releases/v1.2.0"): (404, {"message": "404 Not found"}),
        ("POST", "/releases"): (201, {"_links": {"self": "https://gitlab.example/acme/larder/-/releases/v1.2.0"}}),
    }

    done = publish(checkout, GITLAB_CI="true", CI_API_V4_URL=service.url, CI_PROJECT_ID="42", CI_JOB_TOKEN="secret")

    assert done.returncode == 0, done.stderr
    files = [f"/projects/42/packages/generic/larder/1.2.0/{name}" for name in sorted(FILES)]
    assert [(method, path) for method, path, _ in service.asked] == [
        *(("PUT", path) for path in files),
        ("DELETE", "/projects/42/releases/v1.2.0"),
        ("POST", "/projects/42/releases"),
    ]
    page = json.loads(service.asked[-1][2])
    assert [one["url"] for one in page["assets"]["links"]] == [f"{service.url}{path}" for path in files]


def test_a_refusal_says_what_was_asked_and_answered_and_shows_no_page(checkout, service):
    service.answers = {
        ("GET", "per_page=100"): (200, []),
        ("POST", "/releases"): (201, {"id": 8, "upload_url": f"{service.url}/upload/8"}),
        ("POST", "name=SHA256SUMS"): (413, {"message": "too large"}),
    }

    done = publish(checkout, **github(service))

    assert done.returncode == 1
    assert "POST" in done.stderr
    assert "was answered 413" in done.stderr
    assert "too large" in done.stderr
    assert "secret" not in done.stderr
    assert not [method for method, _, _ in service.asked if method == "PATCH"]


@for_each_row(
    ("tag", "missing", "words"),
    [("v1.3.0", "", "no file of v1.3.0"), ("v1.2.0", "GITHUB_TOKEN", "GITHUB_TOKEN is missing")],
    ids=["of another tag", "without a permission"],
)
def test_what_cannot_be_published_is_said_before_anything_is_asked(checkout, service, tag, missing, words):
    variables = {name: value for name, value in github(service).items() if name != missing}

    done = publish(checkout, tag, **variables)

    assert (done.returncode, service.asked) == (1, [])
    assert words in done.stderr
