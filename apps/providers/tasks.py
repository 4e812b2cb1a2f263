from django.db.models import Q

from apps.jobs.claims import task
from apps.jobs.targets import Source
from apps.providers import lifecycle, publishing
from apps.providers.docs import replacing
from apps.providers.models import ProviderVersion
from apps.providers.signatures import requests, resigning
from apps.releases.targets import RELEASES, by_address
from apps.signing.models import SignatureRequest

publish_provider = task(publishing.JOB, publishing.run)
sign_release = task(requests.JOB, requests.run)
refuse_former_request = task(requests.FORMER_JOB, requests.run)
resign_provider = task(resigning.JOB, resigning.run)
verify_provider = task(lifecycle.VERIFY_JOB, lifecycle.verify_again)
read_provider_docs = task(replacing.JOB, replacing.run)
_REQUESTS = Source(
    SignatureRequest.objects.select_related("key__namespace").all,
    lambda word: Q(key__namespace__name=word) | Q(key__key_id=word.upper()),
)
TARGETS = {
    **dict.fromkeys((publishing.JOB, resigning.JOB, lifecycle.VERIFY_JOB), RELEASES),
    **dict.fromkeys((requests.JOB, requests.FORMER_JOB), _REQUESTS),
    replacing.JOB: Source(
        ProviderVersion.objects.select_related("release__namespace").all,
        lambda word: by_address(word, "release__"),
    ),
}
