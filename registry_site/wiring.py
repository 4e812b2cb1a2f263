"""The questions that a room asks of rooms above it, which it must not import: this is the whole list.

Everything else in the house is a call downward.
"""

from django.db.models import Q

from apps.accounts import namespace_deletion
from apps.artifacts import garbage, repositories
from apps.blobs import references
from apps.jobs import targets
from apps.jobs.targets import Source
from apps.modules import lifecycle as module_lifecycle
from apps.modules import publishing as module_publishing
from apps.modules import pushed_manifests
from apps.modules.contents import reinspection
from apps.modules.models import ModuleVersion
from apps.providers import lifecycle as provider_lifecycle
from apps.providers import publishing as provider_publishing
from apps.providers.docs import replacing
from apps.providers.models import ProviderVersion
from apps.providers.signatures import resigning, reverification
from apps.releases.catalogue import rebuilding
from apps.releases.lifecycle import blob_references, purging, verification
from apps.releases.models import Kind
from apps.releases.publishing import quotas
from apps.releases.publishing.job_targets import RELEASES, by_address
from apps.signing import keys
from apps.signing.models import SigningKey


def connect() -> None:
    """Called once, when all apps are loaded."""
    # Which blobs does somebody need who knows their digest and no key?
    references.checks = (blob_references.referenced_by_release,)
    # What is in a namespace?
    namespace_deletion.contents_checks = (quotas.versions_in, repositories.contents_of)
    # Which pushed manifests do versions need?
    garbage.asked = (pushed_manifests.needs,)
    # How does a kind refresh what lists say of one of its names?
    rebuilding.refreshers = {
        Kind.MODULE: module_lifecycle.ACTS.refresh,
        Kind.PROVIDER: provider_lifecycle.ACTS.refresh,
    }
    # What do jobs of a kind work on?
    of_release = (
        module_publishing.JOB,
        provider_publishing.JOB,
        resigning.JOB,
        reverification.JOB,
        purging.JOB,
        verification.JOB,
    )
    targets.sources = dict.fromkeys(of_release, RELEASES) | {
        reinspection.JOB: Source(
            ModuleVersion.objects.select_related("release__namespace").without_texts().all,
            lambda word: by_address(word, "release__"),
        ),
        replacing.JOB: Source(
            ProviderVersion.objects.select_related("release__namespace").all,
            lambda word: by_address(word, "release__"),
        ),
        keys.JOB: Source(
            SigningKey.objects.select_related("namespace").all,
            lambda word: Q(namespace__name=word) | Q(key_id=word.upper()),
        ),
    }
