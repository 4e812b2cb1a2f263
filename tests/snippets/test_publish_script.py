"""/publish.sh, and its versions under their digests: for programs, and the same for everyone."""

import hashlib
import re
import subprocess

import pytest

from apps.snippets import publish_script
from tests.house import sources
from tests.rows import for_each_row

NEWEST = publish_script.newest()
# A pipeline that names one of these downloads it from each Larder after it. A change is a new file: 3.sh.
LANDED = {
    1: "37a176f5937b05f36145e36ccc0945a480b28c99322d81520b4d6577c699988d",
    2: "9e9adc6484f9f998a9d34cefb56b1eafcba5e4c7541d964cc40b62b82b3f7c9c",
}


def test_it_is_served_to_anyone_without_a_session_or_a_query(client, db, django_assert_num_queries):
    with django_assert_num_queries(0):
        answer = client.get("/publish.sh")
    assert answer.status_code == 200
    assert answer.content == NEWEST.body
    assert answer.headers["Content-Type"] == "text/x-shellscript; charset=utf-8"
    assert answer.headers["Cache-Control"] == "public, max-age=300"
    assert "Cookie" not in answer.headers.get("Vary", "")
    assert "Set-Cookie" not in answer.headers
    assert client.post("/publish.sh").status_code == 405


def test_its_digest_names_an_address_that_never_changes_and_nothing_is_sent_twice(client, db):
    digest = hashlib.sha256(client.get("/publish.sh").content).hexdigest()
    answer = client.get(f"/publish/{digest}.sh")
    assert answer.content == NEWEST.body
    assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert answer.headers["ETag"] == f'"{digest}"'
    for path in ("/publish.sh", NEWEST.path):
        tag = client.get(path).headers["ETag"]
        again = client.get(path, headers={"If-None-Match": tag})
        assert (again.status_code, again.content) == (304, b"")
        assert "public" in again.headers["Cache-Control"]
        assert client.get(path, headers={"If-None-Match": '"other"'}).status_code == 200


def test_an_unknown_digest_is_answered_with_those_that_are_there(client, db):
    answer = client.get(f"/publish/{'0' * 64}.sh")
    assert answer.status_code == 404
    assert answer.headers["Content-Type"].startswith("text/plain")
    assert f"version {NEWEST.version}: {NEWEST.path}" in answer.text
    assert client.get("/publish/<script>.sh").text.count("<script>") == 1
    assert client.get("/publish/provider").status_code != 404


def test_a_version_that_was_served_never_changes():
    assert {one.version: one.digest for one in publish_script.scripts()} == LANDED


@pytest.mark.needs("shellcheck")
@for_each_row("script", publish_script.scripts(), ids=lambda one: f"version {one.version}")
def test_shellcheck_finds_nothing(script):
    words = ["shellcheck", "--shell=sh", "-"]
    done = subprocess.run(words, input=script.body, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout.decode()


def test_nothing_offers_the_script_that_was_copied_before():
    for path in [*(sources.CHECKOUT / "docs").rglob("*.md"), *sources.templates()]:
        assert not re.search(r"ci/publish\.sh", path.read_text()), path
