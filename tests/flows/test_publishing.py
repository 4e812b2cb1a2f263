"""The publish flow through HTTP, with the worker's half run in this process: what it leaves, what it refuses."""

import hashlib

import pytest

from apps.accounts.access.gate import Viewer
from apps.audit.models import AuditEvent
from apps.jobs.models import Job
from apps.lib.addresses import ModuleAddress
from apps.lib.archives import sandboxed
from apps.lib.errors import Conflict
from apps.modules import publishing
from apps.modules.models import Module, ModuleVersion
from apps.releases.models import Release
from apps.releases.publishing import reserving
from tests.builders.archives import corpus, module_zip
from tests.rows import for_each_row

pytestmark = pytest.mark.both

PATH = "/api/v1/modules/acme/vpc/aws/1.2.0"


@pytest.fixture
def put(alice, bearer, client):
    def send(data: bytes = b"", path: str = PATH, user=None):
        return client.put(path, data, content_type="application/zip", headers=bearer(user or alice))

    return send


def test_publishing_leaves_exactly_this(put, work, stored_files, alice, bearer, client):
    data = module_zip()
    digest = hashlib.sha256(data).hexdigest()

    answer = put(data)
    assert (answer.json()["state"], answer.json()["uploaded_digest"]) == ("received", f"sha256:{digest}")
    work()

    assert answer.status_code == 202
    asker = bearer(alice)
    document = client.get(answer.headers["Location"], headers=asker).json()
    assert answer.headers["Location"] == f"/api/v1/releases/{document['id']}"
    assert document == client.get(PATH, headers=asker).json()
    assert [step["state"] for step in document["steps"]] == ["done", "done", "done"]
    assert stored_files() == ["ledger/module/acme/vpc/aws/1.2.0.json", f"sha256/{digest[:2]}/{digest}"]
    kinds = (
        AuditEvent.objects.filter(kind__startswith="namespace:release").order_by("pk").values_list("kind", "actor_id")
    )
    assert list(kinds) == [
        ("namespace:release:reserved", alice.pk),
        ("namespace:release:received", alice.pk),
        ("namespace:release:published", alice.pk),
    ]
    release = Release.objects.get()
    assert (release.state, release.digest, release.size) == ("published", digest, len(data))
    jobs = Job.objects.order_by("pk").values_list("kind", "state")
    assert list(jobs) == [("publish-module", "succeeded"), ("state-release", "queued")]
    assert ModuleVersion.objects.get().readme_html


def test_a_refused_archive_leaves_nothing_and_its_number_is_free(put, work, stored_files, client, alice, bearer):
    put(module_zip({"readme.txt": "no module here"}))
    work()

    document = client.get(PATH, headers=bearer(alice)).json()
    assert document["state"] == "rejected"
    assert "readme.txt" in document["reasons"][0]["sentence"]
    assert stored_files() == []
    assert not Module.objects.exists()
    assert put(module_zip()).status_code == 202
    work()
    assert client.get(PATH, headers=bearer(alice)).json()["state"] == "published"


# What a reader refuses by itself and the pipeline looks at: a link is followed, and this one leads nowhere.
FOLLOWED = {"a symlink": "broken_link"}


# One of each way to end; what the reader says of the whole corpus is held in tests/lib/archives/test_corpus.py.
REPRESENTATIVES = (
    "a good module",
    "a tar.gz",
    "0 bytes",
    "an HTML page",
    "the bad name '../x.tf'",
    "a symlink",
    "65 MiB of zeros",
    "a wrong CRC",
)


@pytest.mark.parametrize("name", REPRESENTATIVES)
def test_an_archive_ends_with_its_verdict(name, put, work, client, alice, bearer, stored_files):
    """Through HTTP, worker and limited child: 202 and a verdict, or a clear 4xx; never a 5xx."""
    case = next(one for one in corpus() if one.name == name)
    data = case.data() if callable(case.data) else case.data

    answer = put(data, path=f"{PATH}?confirm=unloadable")  # what is in them is no matter here
    work()

    # A file that does not begin as a zip is no zip to the pipeline, whatever comes later in it; a tarball is welcome.
    form = sandboxed.form_of(data[: sandboxed.HEAD_BYTES])
    expected = FOLLOWED.get(case.name, case.reason_code) if form == "zip" else "not_an_archive"
    if answer.status_code == 202 and (case.reason_code is None or form in ("tar.gz", "tar.xz")):
        document = client.get(PATH, headers=bearer(alice)).json()
        codes = {reason["code"] for reason in document["reasons"]}
        assert document["state"] == "published" or codes <= {"empty", "no_module_file"}
    elif answer.status_code == 202:
        document = client.get(PATH, headers=bearer(alice)).json()
        assert document["state"] == "rejected"
        assert expected in {reason["code"] for reason in document["reasons"]}
        assert stored_files() == []
    else:
        assert 400 <= answer.status_code < 500
        assert not [name for name in stored_files() if name.startswith("staging/")]


@for_each_row("path", [PATH, f"{PATH}+build.2", PATH.replace("/vpc/", "/VPC/")])
def test_a_ledger_entry_of_a_forgotten_publish_refuses_other_bytes(put, work, client, alice, bearer, path):
    """Also under a number or name that counts as the same."""
    put(module_zip())
    work()
    for model in (ModuleVersion, Module, Release):
        model.objects.all().delete()  # as a restored database would have forgotten it

    assert put(module_zip(comment=b"other"), path=path).status_code == 202
    work()

    document = client.get(path, headers=bearer(alice)).json()
    assert document["state"] == "rejected"
    assert document["reasons"][0]["code"] == "ledger_conflict"


def test_the_same_bytes_after_a_restored_database_are_published_again(put, work, client, alice, bearer):
    put(module_zip())
    work()
    ModuleVersion.objects.all().delete()
    Release.objects.all().delete()

    put(module_zip())
    work()

    assert client.get(PATH, headers=bearer(alice)).json()["state"] == "published"


def test_the_constraint_alone_decides_between_two_reservations(alice, monkeypatch):
    """Toy 9: two simultaneous publishers are decided by the constraint, not by a check beforehand."""
    monkeypatch.setattr(reserving, "_free_lapsed", lambda *_: None)
    address = ModuleAddress.parse("acme/vpc/aws")
    publishing.reserve_release(viewer=Viewer(alice), address=address, version="1.0.0")
    with pytest.raises(Conflict):
        publishing.reserve_release(viewer=Viewer(alice), address=address, version="1.0.0+build")
