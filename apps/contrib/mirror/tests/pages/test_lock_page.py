"""/lock: paste, choose platforms, wait, download; without scripts and without an account."""

import pytest

from apps.contrib.mirror.models import LockRun, Upstream
from apps.contrib.mirror.tests.locks import HOST, PLATFORMS, complete, entry, finish
from tests.rows import for_each_row

pytestmark = pytest.mark.django_db
BLOCK = entry("tool", f"{HOST}/acme/tool")
FORM = {"required_providers": BLOCK, "platforms": list(PLATFORMS)}


@pytest.fixture
def tool(registry, upstream):
    return registry.add_provider(versions=["1.0.0"], platforms=[*PLATFORMS, "freebsd_amd64"])


@pytest.mark.both
def test_a_visitor_completes_a_lock_file(tool, client, monkeypatch):
    opened = client.get("/lock")
    assert opened.status_code == 200
    assert b"required_providers" in opened.content
    began = client.post("/lock", FORM)
    assert began.status_code == 303
    waiting = client.get(began.url)
    assert b"0 of 2 packages" in waiting.content
    assert b'hx-trigger="every 2s"' in waiting.content
    assert client.get(f"{began.url}/file").status_code == 404

    finish(monkeypatch)
    done = client.get(began.url)
    assert b'http-equiv="refresh"' not in done.content
    assert b"h1:" in done.content
    file = client.get(f"{began.url}/file")
    assert file.content.decode() == complete(block=BLOCK)
    assert file.headers["Content-Disposition"] == 'attachment; filename=".terraform.lock.hcl"'
    assert file.headers["Cache-Control"].startswith("max-age=0")
    # Now all of it is stored: no worker is needed.
    again = client.post("/lock", FORM)
    assert client.get(f"{again.url}/file").content == file.content


def test_further_platforms_are_typed(tool, client):
    complete(block=BLOCK, platforms=["freebsd_amd64", "linux_amd64"])
    sent = client.post("/lock", {**FORM, "platforms": ["linux_amd64"], "more": "freebsd_amd64, freebsd_amd64"})
    assert client.get(f"{sent.url}/file").content.decode() == complete(
        block=BLOCK, platforms=["freebsd_amd64", "linux_amd64"]
    )


@for_each_row(
    ("form", "part", "kept"),
    [
        ({}, "neither a lock file nor", ""),
        (FORM | {"platforms": []}, "No platform is named", HOST),
        (FORM | {"more": "linux"}, "operating system", HOST),
        (FORM | {"required_providers": 'a = { source = "other.example/a/b" }'}, "unknown or private", "other.example"),
        (FORM | {"client": "pulumi"}, "pulumi", HOST),
    ],
)
def test_the_form_says_what_is_wrong_and_keeps_what_was_entered(tool, client, form, part, kept):
    answer = client.post("/lock", form)
    assert answer.status_code == 422
    assert part in answer.content.decode()
    assert kept in answer.content.decode()


def test_a_refusal_of_policy_is_on_the_page_and_so_is_why_a_run_failed(tool, client):
    began = client.post("/lock", FORM)
    LockRun.objects.update(state="failed", problem="First <b>problem</b>.\nSecond problem.")
    page = client.get(began.url).content.decode()
    assert "First &lt;b&gt;problem&lt;/b&gt;." in page
    assert "<li>Second problem.</li>" in page

    complete(block=BLOCK)
    Upstream.objects.update(is_sealed=True)
    answer = client.post("/lock", FORM | {"more": "freebsd_amd64"})
    assert answer.status_code == 403
    assert b"not stored" in answer.content
