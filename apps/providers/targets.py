"""Releases of providers, their versions and requests for signatures as targets of jobs."""

from django.db.models import Q

from apps.jobs.targets import Source
from apps.providers import lifecycle, publishing
from apps.providers.docs import replacing
from apps.providers.models import ProviderVersion
from apps.providers.signatures import requests, resigning
from apps.releases.targets import RELEASES, by_address
from apps.signing.models import SignatureRequest

_REQUESTS = Source(
    SignatureRequest.objects.select_related("key__namespace").all,
    lambda word: Q(key__namespace__name=word) | Q(key__key_id=word.upper()),
)
SOURCES = {
    **dict.fromkeys((publishing.JOB, resigning.JOB, lifecycle.VERIFY_JOB), RELEASES),
    **dict.fromkeys((requests.JOB, requests.FORMER_JOB), _REQUESTS),
    replacing.JOB: Source(
        ProviderVersion.objects.select_related("release__namespace").all,
        lambda word: by_address(word, "release__"),
    ),
}
