"""Case 9 of the list of faults: a service that answers 404 to reads of what it has stored a moment ago."""

import pytest

from apps.blobs import store
from apps.blobs.models import Blob, State
from apps.releases.publishing import ledger
from tests import s3
from tests.chaos.faulty_storage import Proxy

DATA = b"Shown a little later.\n"


@pytest.fixture
def proxy(settings, credentials, s3_url) -> Proxy:
    port = int(s3_url.partition("127.0.0.1:")[2].partition("&")[0])
    before = Proxy(port)
    s3.make_bucket(f"http://127.0.0.1:{port}", "late")  # the driver suite looks at all of the other one
    settings.STORAGE_URL = f"s3://late?endpoint=http://127.0.0.1:{before.port}&region=us-east-1"
    before.fault = "late"
    return before


@pytest.mark.slow
def test_what_was_just_stored_may_show_late(db, proxy):
    staged = store.stage("one", [DATA])

    store.store_staged("one", digest=staged.digest, size=staged.size)

    assert proxy.injected > 1
    assert Blob.objects.get().state == State.READY
    assert b"".join(store.read(staged.digest)) == DATA


def test_an_entry_of_the_ledger_that_does_not_show_is_no_conflict(published, proxy):
    proxy.fault = ""
    release = published()
    proxy.fault, proxy.stored = "late", dict.fromkeys(proxy.stored, float("inf"))

    with pytest.raises(store.StorageUnavailable):
        ledger.enter(release, digest=release.digest)
