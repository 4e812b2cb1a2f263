"""An upload in several requests: its parts are objects of their own, so storage need not append."""

import pytest

from apps.blobs import store
from apps.releases.models import Release, Upload
from tests.api.tus_client import TusClient

pytestmark = pytest.mark.django_db
BYTES = bytes(range(256)) * 100


def test_parts_are_joined_in_their_order_and_leave_nothing_else_behind(backend, keys, tofu, alice):
    sender = TusClient(tofu(alice))
    url = sender.begin("/api/v1/modules/acme/vpc/aws/1.2.0/uploads", len(BYTES)).headers["Location"]
    for start, end in ((0, 1), (1, 7_000), (7_000, 7_001)):
        sender.break_off(url, start, BYTES[start:end])
        assert sender.offset(url) == end
    assert Upload.objects.get().parts.count() == len(keys()) == 3
    assert sender.patch(url, 7_001, BYTES[7_001:]).status_code == 204

    assert len(keys()) == 1
    with store.open_staged(Release.objects.get().staging_key) as staged:
        assert staged.read() == BYTES
