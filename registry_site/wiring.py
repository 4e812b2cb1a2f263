"""Everything that a room gets from rooms above it, which it must not import. All other calls point down."""

import sys
from collections.abc import Iterator
from typing import Any

from django.contrib.auth.signals import user_logged_in
from django.core.signals import got_request_exception
from django.db import DEFAULT_DB_ALIAS
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from prometheus_client import Metric

from apps.accounts import creations, namespace_deletion
from apps.accounts.access import connections
from apps.accounts.access.gate import Viewer
from apps.accounts.identity import second_factor
from apps.accounts.identity.trusted import publishers
from apps.accounts.models import ApiToken, User
from apps.accounts.people import service_accounts
from apps.admin_base.base import address_condition
from apps.artifacts import gc, repositories
from apps.audit import recorder
from apps.blobs import references, store
from apps.http import mirrors
from apps.http.errors import log_exception
from apps.jobs import database_availability, queue, queues, targets, turns
from apps.jobs.models import Job
from apps.jobs.targets import Source
from apps.lib.process import outside
from apps.modules import lifecycle as module_lifecycle
from apps.modules import package_manifest, reinspection
from apps.modules import publishing as module_publishing
from apps.modules.comparing import guard
from apps.modules.models import ModuleVersion
from apps.notify import outbox, webhooks
from apps.notify.mail import letters
from apps.portal.frame import elsewhere
from apps.portal.upstream import providers as mirrored_providers
from apps.provenance import attesting, referrers, statements
from apps.providers import lifecycle, locked
from apps.providers import lifecycle as provider_lifecycle
from apps.providers import publishing as provider_publishing
from apps.providers.docs import replacing
from apps.providers.models import ProviderVersion
from apps.providers.signatures import requests, resigning
from apps.releases.catalogue import indexing, reading
from apps.releases.lifecycle import purging, release_blobs, verification
from apps.releases.models import Kind, Release
from apps.releases.origin import other_registries, recording
from apps.releases.publishing import pipeline, quotas, staging
from apps.signing import keys, statement_keys
from apps.signing.models import SignatureRequest, SigningKey, StatementKey
from apps.sources import (
    connecting,
    credentials,
    hooks,
    host_scanning,
    places,
    previewing,
    queueing,
    requesting,
)
from apps.sources import health as git_health
from apps.sources import syncing as git_syncing
from apps.sources.models import GitRepository, Tag
from apps.upstream import docs as mirrored_docs
from apps.upstream import health as upstream_health
from apps.upstream import locking, offering, serving, syncing, upstreams, working
from apps.upstream import verification as upstream_verification
from apps.upstream.models import (
    KeyPin,
    UnsignedAllowance,
    Upstream,
    UpstreamPackage,
    UpstreamProvider,
    UpstreamVersion,
)
from apps.upstream.rows import Alarm, AlarmState, LockRun, PolicyException, PolicyRule, Schedule, SyncRun
from registry_site.startup import first_run

# What the site's pages and commands tell of the rooms that fetch from elsewhere; they must not import them.
upstream_status = upstream_health.status
git_status = git_health.status
verify_mirrored = upstream_verification.verify
OUTGOING_LOOKS = {
    "upstreams": upstream_health.registries,
    "advisories": upstream_health.advisory_files,
    "git": git_health.programs,
    "git repositories": git_health.repositories,
}
# Whatever is encrypted under the secret key, and must be again before a line of its file is removed.
SEALED = (
    *second_factor.SEALED,
    *webhooks.SEALED,
    letters.SEALED,
    upstreams.SEALED,
    credentials.SEALED,
    hooks.SEALED,
)


def metric_families() -> Iterator[Metric]:
    yield from upstream_health.families()
    yield from git_health.families()


def upstream_lists() -> tuple[type[Model], ...]:
    """Return what the admin lists of it."""
    return (
        Alarm,
        Upstream,
        UpstreamProvider,
        UpstreamVersion,
        UpstreamPackage,
        KeyPin,
        UnsignedAllowance,
        PolicyRule,
        PolicyException,
        SyncRun,
        Schedule,
    )


def git_lists() -> tuple[type[Model], ...]:
    """Return what the admin lists of the room that publishes from Git."""
    return (GitRepository, Tag)


MIRROR_ALARM = Alarm


def open_alarms() -> QuerySet[Alarm]:
    return Alarm.objects.filter(state=AlarmState.OPEN)


def connect() -> None:
    """Called once, when all apps are loaded."""
    # Defects of pages. The machine edges answer exceptions themselves, and log them.
    got_request_exception.connect(_log_defect, dispatch_uid="larder-defects")
    # The first password, shown at each start, is no longer needed.
    user_logged_in.connect(first_run.forget_password, dispatch_uid="larder-first-password")
    # Who is told of an event.
    recorder.outbox = outbox.add
    # What a thread gives back before it waits for another service.
    outside.give_back = database_availability.release_connection
    # References to blobs by digest, without a foreign key.
    references.checks = (release_blobs.referenced_by_release,)
    # Providers of other registries, beside our own.
    elsewhere.providers = mirrored_providers.found_for
    # Staged bytes that wait for a person, longer than an upload takes.
    store.staging_in_use = lambda: staging.keys_in_use(DEFAULT_DB_ALIAS)
    # Descriptions of the contents of a namespace.
    namespace_deletion.contents_checks = (quotas.versions_in, repositories.contents_of)
    # Whether the address of a rule for CI exists.
    publishers.address_exists = reading.is_named
    # What tokens create, beside people, roles and tokens.
    creations.sources = (keys.CREATED_BY_TOKENS, webhooks.CREATED_BY_TOKENS, connecting.CREATED_BY_TOKENS)
    # What people connect to namespaces, and would leave behind there.
    connections.sources = (publishers.CONNECTIONS, connecting.CONNECTIONS, webhooks.CONNECTIONS)
    connections.secrets = (keys.known_to_their_publishers, service_accounts.known_to_their_makers)
    # What a namespace stops when it is deleted.
    namespace_deletion.endings = (connecting.end_all,)
    # Pushed manifests that versions need, and what is attached to what Larder attaches.
    gc.reference_checks = (package_manifest.needs, referrers.needs)
    # What is said about a release goes with its bytes, and counts to its namespace.
    purging.droppers = (attesting.drop,)
    quotas.kept_elsewhere = (attesting.stored_bytes,)
    # A statement about each release that is published, and the comparison of versions that came before it.
    pipeline.afterwards = (statements.request, guard.compare_later)
    # Hashes of our own providers, for lock files.
    locking.own = locked.hashes_of
    # Modules of other registries, between the room that reads registries and the one that publishes from Git.
    other_registries.modules, other_registries.listed_version = offering.Modules(), places.listed_version
    # Only while a registry is mirrored, or a repository is connected.
    queues.is_needed = {upstream_health.QUEUE: lambda: upstream_health.is_used() or connecting.is_used()}
    # How each kind refreshes its search documents.
    indexing.refreshers = {
        Kind.MODULE: module_lifecycle.ACTIONS.refresh,
        Kind.PROVIDER: provider_lifecycle.ACTIONS.refresh,
    }
    # The lists of work in bulk that are no jobs yet.
    turns.refills = {queueing.SOURCE: queueing.queue_more}
    # Providers of other registries, for both edges of the mirror.
    mirrors.others = serving.Mirrors()
    queue.asked_again = _ask_again
    targets.sources = _of_releases_and_keys() | _of_upstreams() | _of_repositories()


def _ask_again(job: Job, actor_id: int | None, token_id: int | None) -> None:
    """Who has a job tried again that publishes takes part in what comes of it: the admin and the API do not tell why
    it failed before, so that it is as good as a publish.
    """
    user, token = User.objects.filter(pk=actor_id or 0).first(), ApiToken.objects.filter(pk=token_id or 0).first()
    row = targets.attach([job])[0].row
    if isinstance(row, GitRepository | Tag):
        requesting.ask_again(job.kind, row, Viewer(user, token))
    elif isinstance(row, Release) and job.kind in (module_publishing.JOB, provider_publishing.JOB):
        recording.retried(row, Viewer(user, token))


def _of_releases_and_keys() -> dict[str, Source]:
    """The targets of jobs by kind."""
    of_release = (
        module_publishing.JOB,
        provider_publishing.JOB,
        resigning.JOB,
        lifecycle.VERIFY_JOB,
        purging.JOB,
        verification.JOB,
        statements.JOB,
    )
    releases = Source(Release.objects.select_related("namespace").all, _by_address)
    signature_requests = Source(
        SignatureRequest.objects.select_related("key__namespace").all,
        lambda word: Q(key__namespace__name=word) | Q(key__key_id=word.upper()),
    )
    return dict.fromkeys(of_release, releases) | {
        reinspection.JOB: Source(
            ModuleVersion.objects.select_related("release__namespace").without_texts().all,
            lambda word: _by_address(word, "release__"),
        ),
        replacing.JOB: Source(
            ProviderVersion.objects.select_related("release__namespace").all,
            lambda word: _by_address(word, "release__"),
        ),
        **dict.fromkeys((requests.JOB, requests.FORMER_JOB), signature_requests),
        keys.JOB: Source(
            SigningKey.objects.select_related("namespace").all,
            lambda word: Q(namespace__name=word) | Q(key_id=word.upper()),
        ),
        statement_keys.JOB: Source(StatementKey.objects.all, lambda word: Q(key_id=word.lower())),
    }


def _of_upstreams() -> dict[str, Source]:
    """The targets of jobs that fetch from other registries. A search word is a host, or its namespace/type."""
    versions = Source(
        UpstreamVersion.objects.select_related("provider__upstream").defer("sums", "signature").all,
        lambda word: _by_hosted_address(word, "provider__"),
    )
    return {
        locking.JOB: Source(LockRun.objects.all, lambda _: Q(pk__in=[])),
        syncing.JOB: Source(SyncRun.objects.all, lambda _: Q(pk__in=[])),
        working.LIST: Source(UpstreamProvider.objects.select_related("upstream").all, _by_hosted_address),
        working.VERSION: versions,
        mirrored_docs.JOB: versions,
        working.SIZES: versions,
        working.PACKAGE: Source(
            UpstreamPackage.objects.select_related("version__provider__upstream").all,
            lambda word: _by_hosted_address(word, "version__provider__"),
        ),
    }


def _of_repositories() -> dict[str, Source]:
    """The targets of jobs that read Git repositories. A search word is a namespace, or a repository's URL."""
    repositories = Source(
        GitRepository.objects.select_related("namespace").defer("preview", "log", "host_scan").all,
        lambda word: Q(namespace__name=word) | Q(url=word),
    )
    tags = Source(
        Tag.objects.select_related("repository__namespace").all,
        lambda word: Q(repository__namespace__name=word) | Q(repository__url=word) | Q(name=word),
    )
    of_repositories = dict.fromkeys((git_syncing.JOB, previewing.JOB, host_scanning.JOB), repositories)
    return {**of_repositories, queueing.PUBLISH_JOB: tags}


def _by_hosted_address(word: str, provider: str = "") -> Q:
    """Match a host, or a host with the address or its beginning."""
    parts = word.strip("/").split("/")
    names = (f"{provider}upstream__host", f"{provider}namespace", f"{provider}type")
    if len(parts) > len(names):
        return Q(pk__in=[])
    return Q(**dict(zip(names, parts, strict=False)))


def _log_defect(sender: object, request: HttpRequest, **_: Any) -> None:  # noqa: ARG001  # the signal names it
    """The page of a 500 names the request id by which an operator finds the line."""
    log_exception(sys.exc_info()[1], request)


def _by_address(word: str, release: str = "") -> Q:
    """Match an address or its beginning, a namespace, or a version; `release` is the ORM path to the release."""
    by_address = address_condition(word, f"{release}namespace__name", f"{release}name")
    return by_address or Q(**{f"{release}namespace__name": word}) | Q(**{f"{release}version": word})
