"""The stored packages of other registries while the room is left out."""

import pytest

from apps.blobs import store
from apps.blobs.models import Blob, State
from apps.contrib.mirror.tests import documented
from apps.room import ALWAYS, all_of, by_key
from registry_site.rooms import INSTALLED_ROOMS, left_out


@pytest.mark.both
@pytest.mark.django_db
def test_what_a_room_that_is_left_out_has_stored_stays_safe(settings):
    blob = documented.package().blob
    assert blob is not None
    everything = {name: all_of(name) for name in ALWAYS - {"queues"}}
    settings.ROOMS_LEFT_OUT = left_out(INSTALLED_ROOMS)

    assert not store.remove(blob.digest)
    assert Blob.objects.filter(pk=blob.pk, state=State.READY).exists()
    assert {name: all_of(name) for name in everything} == everything
    assert "upstreams" not in dict(by_key("doctor_looks"))
