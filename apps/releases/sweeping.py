"""Ending what nobody will end: reservations whose upload died."""

from django.utils import timezone

from apps.blobs import store
from apps.releases.models import Release, State
from apps.releases.reserving import UNFINISHED
from apps.releases.transitions import Moved, reject


def sweep() -> int:
    """Reject each reservation whose lease lapsed and drop what was staged for it; answers how many there were."""
    lapsed = Release.objects.filter(state=State.RECEIVING, receiving_until__lt=timezone.now()).select_related(
        "namespace"
    )
    swept = 0
    for release in lapsed.order_by("pk")[:500]:
        try:
            reject(release, [UNFINISHED])
        except Moved:
            continue
        store.discard_staged(release.staging_key)
        swept += 1
    return swept
