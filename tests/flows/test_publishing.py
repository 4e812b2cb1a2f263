"""The publish flow through HTTP, with the worker's half run in this process: what it leaves, what it refuses."""

import hashlib

import pytest

from apps.accounts.access.gate import Viewer
from apps.audit.models import AuditEvent
from apps.jobs.models import Job
from apps.lib.addresses import ModuleAddress
from apps.lib.errors import Conflict
from apps.modules import publishing
from apps.modules.models import Module, ModuleVersion
from apps.releases.models import Release
from apps.releases.publishing import reserving
from tests.builders.archives import corpus, module_zip
from tests.rows import for_each_row

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


# One of each way to end; what the reader says of the whole corpus is held in tests/lib/archives/test_corpus.py.
REPRESENTATIVES = {
    "a good module": None,
    "a tar.gz": None,
    "an HTML page": "not_an_archive",
    "the bad name '../x.tf'": "name_dots",
    "a symlink": "broken_link",  # it is followed, and leads nowhere
    "65 MiB of zeros": "ratio",
    "a wrong CRC": "crc_mismatch",
}


@pytest.mark.parametrize(("name", "code"), REPRESENTATIVES.items())
def test_an_archive_ends_with_its_verdict(name, code, put, work, client, alice, bearer, stored_files):
    """Through HTTP, worker and limited child: 202 and a verdict."""
    case = next(one for one in corpus() if one.name == name)
    data = case.data() if callable(case.data) else case.data

    answer = put(data, path=f"{PATH}?confirm=unloadable")  # what is in them is no matter here
    work()

    assert answer.status_code == 202
    document = client.get(PATH, headers=bearer(alice)).json()
    assert [reason["code"] for reason in document["reasons"]] == ([code] if code else [])
    assert document["state"] == ("rejected" if code else "published")
    assert bool(stored_files()) == (code is None)
    assert not [name for name in stored_files() if name.startswith("staging/")]


@pytest.mark.both
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
    put(module_zip(), path=path)
    work()
    assert client.get(path, headers=bearer(alice)).json()["state"] == "published", "the same bytes are welcome"


@pytest.mark.both
def test_the_constraint_alone_decides_between_two_reservations(alice, monkeypatch):
    """Toy 9: two simultaneous publishers are decided by the constraint, not by a check beforehand."""
    monkeypatch.setattr(reserving, "_free_lapsed", lambda *_: None)
    address = ModuleAddress.parse("acme/vpc/aws")
    publishing.reserve_release(viewer=Viewer(alice), address=address, version="1.0.0")
    with pytest.raises(Conflict):
        publishing.reserve_release(viewer=Viewer(alice), address=address, version="1.0.0+build")
