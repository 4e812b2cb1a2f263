"""A Larder that runs: a worker is killed while it states a release."""

from collections.abc import Iterator

import httpx
import pytest

from tests.builders.archives import module_zip
from tests.larders import STATING
from tests.live import Live
from tests.site.processes import eventually

pytestmark = pytest.mark.live

URL = "/api/v1/modules/stated/vpc/aws/0.7.0/statement"


@pytest.fixture(scope="module")
def larder(impatient: Live) -> Iterator[Live]:
    """A worker is killed once, between the signature and its row."""
    with impatient.more_workers(1):
        yield impatient


@pytest.fixture(scope="module")
def envelope(larder: Live) -> bytes:
    with larder.client(larder.token()) as client:
        client.put("/api/v1/namespaces/stated", json={"visibility": "public"}).raise_for_status()
    release = larder.publish("stated/vpc/aws", "0.7.0", module_zip(), larder.token())
    assert release["state"] == "published", release
    with larder.client() as anybody:
        return answered(anybody, URL)


def answered(client: httpx.Client, url: str) -> bytes:
    def is_signed() -> bool:
        answer = client.get(url)
        assert answer.status_code == 200 or "has not been signed yet" in answer.text
        return answer.status_code == 200

    eventually(is_signed, seconds=120, what="its statement")
    return client.get(url).content


def test_a_worker_that_was_killed_after_it_signed_leaves_one_statement(larder, envelope):
    marker = larder.data_dir / f"crashed-{STATING.replace(':', '-')}"
    assert marker.exists(), "the worker was not killed at that point"
    mine = (
        "SELECT COUNT(*) FROM provenance_statement AS stated JOIN releases_release AS release "
        "ON release.id = stated.release_id JOIN accounts_namespace AS space ON space.id = release.namespace_id "
        "WHERE space.name = 'stated'"
    )
    events = (
        "SELECT COUNT(*) FROM audit_auditevent "
        "WHERE kind = 'namespace:release:stated' AND subject = 'stated/vpc/aws 0.7.0'"
    )
    assert (larder.query(mine), larder.query(events)) == (1, 1)
    assert larder.query("SELECT COUNT(*) FROM signing_statementkey") == 1
