"""A large registry as rows, written in bulk through the models: the pipeline would need days for 500,000 versions.

Runs inside a Larder (`manage.py shell`), on SQLite and PostgreSQL. `bench` (public) and `bench-private` hold what the
parts of the benchmark ask for; the namespaces `team0` to `team49` hold the rest.
"""

import hashlib
import json
import random
from dataclasses import asdict, replace
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Model
from django.utils import timezone

from apps.accounts.models import Grant, Namespace, Role, User
from apps.audit import months
from apps.audit.kinds import Kind as AuditKind
from apps.lib.versions import Version, parse
from apps.modules.models import Module, ModuleVersion
from apps.providers.models import Package, Provider, ProviderVersion
from apps.releases.catalogue import indexing
from apps.releases.catalogue.indexing import Entry, Item
from apps.releases.models import DownloadCount, Release, ReleaseBlob, SearchDoc, SearchFacet
from apps.signing.models import SigningKey
from bench.larder import Size
from bench.sql import execute, without_indexes
from tests import rooms
from tests.builders.keys import signing_key
from tests.protocol.catalogue import INSPECTION

NAMESPACES = 50
BATCH = 50  # modules in a transaction
SYSTEMS = ("aws", "azurerm", "google", "kubernetes", "null")
PARTS = [a + b for a in ("net", "sub", "clu", "key", "log", "rol") for b in ("work", "set", "map", "zone")]
PLATFORMS = [f"{os}_{arch}" for os in ("linux", "darwin", "windows", "freebsd") for arch in ("amd64", "arm64", "arm")]
PROSE = [part + end for part in PARTS for end in ("ing", "ed", "er", "able", "less", "ful", "ness", "ward")]
DESCRIPTION = "Some infrastructure"
NEEDLES = 20  # modules that say "needle"
EVENT_DAYS, EVENTS_AT_ONCE, PEOPLE = 399, 1_000_000, 2_000
ADMINS = "team0"  # where `admin` has published everything
INDEXED_WHOLE = 40  # modules of each namespace
indexed: dict[int, list[int]] = {}  # their documents, by namespace
PRIVATE_NAMESPACES = 200  # of the person `member`, who reads them


def fill(text: str) -> None:
    """Fill the database with a `Size`, given as JSON, and let the database look at what it has now."""
    size = Size(**json.loads(text))
    if connection.vendor == "postgresql":  # the role's time-outs are those of requests
        execute("SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0", [])
    spaces = {name: _namespace(name, "public") for name in ("bench", *(f"team{n}" for n in range(NAMESPACES)))}
    spaces["bench-private"] = _namespace("bench-private", "private")
    for space in (spaces["bench"], spaces["bench-private"]):
        for count in (100, 1000):
            _add_modules(space, [f"of-{count}/local"], numbers(count))
        _add_providers(space, _key(space), ["of-50"], numbers(50), PLATFORMS[:5])
    for place in range(NAMESPACES):
        space = spaces[f"team{place}"]
        modules = [f"module-{n}/{SYSTEMS[n % 5]}" for n in range(place, size.modules, NAMESPACES)]
        for start in range(0, len(modules), BATCH):
            _add_modules(space, modules[start : start + BATCH], numbers(size.versions))
        if providers := [f"provider-{n}" for n in range(place, size.providers, NAMESPACES)]:
            _add_providers(space, _key(space), providers, numbers(size.provider_versions), PLATFORMS[: size.platforms])
    _add_configurations(size.configurations)
    for room in rooms.modules("seeding"):
        room.fill(size)
    if size.events:
        _add_events(size.events)
    execute("ANALYZE", [])
    (settings.DATA_DIR / "seeded.json").write_text(json.dumps(asdict(size)))


def add_member() -> None:
    """Add `member` and their private namespaces, of one module each, unless a kept registry has them."""
    if User.objects.filter(username="member").exists():
        return
    with transaction.atomic():
        member = User.objects.create_user(username="member")
        for place in range(PRIVATE_NAMESPACES):
            space = _namespace(f"own{place}", "private")
            Grant.objects.create(namespace=space, user=member, role=Role.READER)
            _add_modules(space, [f"own-{NEEDLES + place}/aws"], numbers(2))


def numbers(count: int) -> list[Version]:
    return [parse(f"{n // 100 + 1}.{n // 10 % 10}.{n % 10}") for n in range(count)]


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _namespace(name: str, visibility: str) -> Namespace:
    return Namespace.objects.create(name=name, canonical=name, visibility=visibility)


def _key(space: Namespace) -> SigningKey:
    made = signing_key("ed25519")
    return SigningKey.objects.create(
        namespace=space,
        custody="publisher",
        fingerprint=made.fingerprint,
        key_id=made.key_id,
        armor=made.armor,
        algorithm="ed25519",
        uid="Bench <bench@example.com>",
        made_at=timezone.now(),
    )


def _releases(space: Namespace, kind: str, names: list[tuple[str, Version]]) -> list[Release]:
    now = timezone.now()
    admin = User.objects.get(username="admin") if space.name == ADMINS else None
    return Release.objects.bulk_create(
        Release(
            created_by=admin,
            kind=kind,
            namespace=space,
            name=name,
            version=number.text,
            sort_key=number.sort_key,
            state="published",
            digest=digest_of(f"{space} {name} {number.text}"),
            size=2_500_000,
            published_at=now,
            finished_at=now,
            staging_key="-",
        )
        for name, number in names
    )


@transaction.atomic
def _add_modules(space: Namespace, names: list[str], versions: list[Version]) -> None:
    """The newest version of each by the ORM, the others as copies of its rows: by the ORM they would take an hour."""
    modules = Module.objects.bulk_create(
        Module(namespace=space, name=name, system=system, canonical=f"{name}/{system}")
        for name, _, system in (path.partition("/") for path in names)
    )
    newest = _releases(space, "module", [(name, versions[-1]) for name in names])
    ModuleVersion.objects.bulk_create(
        ModuleVersion(
            module=module,
            release=release,
            is_prerelease=False,
            readme_html="<p>Network.</p>" * 300,
            inspection=INSPECTION,
            files=[{"name": "main.tf", "size": 1234}],
        )
        for module, release in zip(modules, newest, strict=True)
    )
    _copy_older(newest[0].pk, versions[:-1])
    _record(newest[0].pk)
    today = timezone.now().date()
    DownloadCount.objects.bulk_create(
        DownloadCount(release=release, day=today, client="OpenTofu 1.12.6", count=release.pk % 500 + 1)
        for release in newest
    )
    dice = random.Random(names[0])
    _add_docs(newest, [_module_entry(release, dice) for release in newest])


def _copy_older(first: int, versions: list[Version]) -> None:
    older = "(VALUES " + ", ".join(["(%s, %s)"] * len(versions)) + ") AS older"
    chance = {
        "sqlite": ("lower(hex(randomblob(16)))", "lower(hex(randomblob(32)))"),
        "postgresql": ("gen_random_uuid()", "encode(sha256(random()::text::bytea), 'hex')"),
    }
    public_id, digest = chance[connection.vendor]
    _copy(
        Release,
        {"version": "older.column1", "sort_key": "older.column2", "public_id": public_id, "digest": digest},
        f"CROSS JOIN {older} WHERE releases_release.id >= %s",
        [*(value for version in versions for value in (version.text, version.sort_key)), first],
    )
    _copy(
        ModuleVersion,
        {"release_id": "old.id", "readme_html": "''", "inspection": "'{}'"},
        "JOIN releases_release AS new ON new.id = modules_moduleversion.release_id "
        "JOIN releases_release AS old ON old.kind = new.kind AND old.namespace_id = new.namespace_id "
        "AND old.name = new.name AND old.id <> new.id WHERE new.id >= %s",
        [first],
    )


def _copy(model: type[Model], changed: dict[str, str], rest: str, values: list[Any]) -> None:
    facts = model._meta  # noqa: SLF001  # Django's own name for what is public
    table = facts.db_table
    columns = [str(field.column) for field in facts.concrete_fields if not field.primary_key]
    taken = ", ".join(changed.get(column, f"{table}.{column}") for column in columns)
    execute(f"INSERT INTO {table} ({', '.join(columns)}) SELECT {taken} FROM {table} {rest}", values)  # noqa: S608


def _record(first: int) -> None:
    """An audit row for each release from number `first` on."""
    execute(
        "INSERT INTO audit_auditevent (at, kind, subject, detail, request_id) "
        "SELECT release.published_at, %s, space.name || '/' || release.name || ' ' || release.version, '{}', '' "
        "FROM releases_release AS release JOIN accounts_namespace AS space ON space.id = release.namespace_id "
        "WHERE release.id >= %s",
        [AuditKind.RELEASE_PUBLISHED, first],
    )


def _add_configurations(count: int) -> None:
    """Root configurations of a few pipelines that use five versions each. On PostgreSQL."""
    if not count:
        return
    pipelines = User.objects.bulk_create(User(username=f"pipeline-{n}[bot]", is_service=True) for n in range(20))
    execute(
        "INSERT INTO modules_configuration (reporter_id, repository, folder, reported_at) "
        "SELECT %s + n %% %s, 'https://git.example.com/team/' || n, '', now() - n * interval '1 minute' "
        "FROM generate_series(1, %s) AS n",
        [pipelines[0].pk, len(pipelines), count],
    )
    execute(
        'INSERT INTO modules_configurationuse (configuration_id, release_id, "constraint") '
        "SELECT used.id, release.id, '' FROM modules_configuration AS used CROSS JOIN generate_series(1, 5) AS n "
        "JOIN releases_release AS release ON release.id = 1 + (used.id * 7919 + n * 104729) %% "
        "(SELECT max(id) FROM releases_release) ON CONFLICT DO NOTHING",
        [],
    )


@transaction.atomic
def _add_events(count: int) -> None:
    """Events of 400 days, and links of the last ones, beyond which no worker looks: it would take an hour for them all.

    On PostgreSQL. All at once, or the worker would link some of them.
    """
    now = timezone.now()
    months.add(since=now - timedelta(days=EVENT_DAYS))
    people = User.objects.bulk_create(User(username=f"person-{n}") for n in range(PEOPLE))
    # One account of a pipeline does a quarter of it all; yanks are rare.
    robot = User.objects.create(username="robot[bot]", is_service=True)
    with without_indexes("audit_auditevent"):
        for start in range(0, count, EVENTS_AT_ONCE):
            execute(
                "INSERT INTO audit_auditevent "
                "(at, kind, actor_id, token_id, address, namespace, subject, detail, request_id) "
                "SELECT %s - interval '1 day' * %s * (1 - n::float / %s), "
                "CASE WHEN n %% 1000 = 0 THEN %s WHEN n %% 3 = 0 THEN %s WHEN n %% 3 = 1 THEN %s ELSE %s END, "
                "CASE WHEN n %% 4 = 0 THEN %s ELSE %s + n %% %s END, n %% 1000, "
                "'10.' || n %% 7 || '.' || n %% 200 || '.' || n %% 251, "
                "CASE WHEN n %% 3 = 2 THEN '' ELSE 'team' || n %% %s END, "
                "CASE WHEN n %% 3 = 2 THEN 'user/' || %s + n %% %s "
                "ELSE 'team' || n %% %s || '/module-' || n %% %s || '/aws ' || n %% 50 || '.0.0' END, "
                "'{}', md5(n::text) FROM generate_series(%s, %s) AS n",
                [
                    *(now, EVENT_DAYS, count),
                    *(
                        AuditKind.RELEASE_YANKED,
                        AuditKind.RELEASE_PUBLISHED,
                        AuditKind.TOKEN_ISSUED,
                        AuditKind.USER_SIGNED_IN,
                    ),
                    *(robot.pk, people[0].pk, PEOPLE, NAMESPACES, people[0].pk, PEOPLE, NAMESPACES, 20_000),
                    *(start + 1, min(start + EVENTS_AT_ONCE, count)),
                ],
            )
    execute(
        "INSERT INTO audit_link (event_id, at, previous, digest) SELECT id, at, md5('0' || id), md5('1' || id) "
        "FROM audit_auditevent ORDER BY id DESC LIMIT 20000 ON CONFLICT DO NOTHING",
        [],
    )


@transaction.atomic
def _add_providers(
    space: Namespace, key: SigningKey, names: list[str], versions: list[Version], platforms: list[str]
) -> None:
    providers = Provider.objects.bulk_create(Provider(namespace=space, type=name) for name in names)
    releases = _releases(space, "provider", [(name, number) for name in names for number in versions])
    made = ProviderVersion.objects.bulk_create(
        ProviderVersion(
            provider=providers[place // len(versions)],
            release=release,
            is_prerelease=False,
            protocols=["5.0", "6.0"],
            signing=key.custody,
            key=key,
            sums_digest=release.digest,
            signature_digest=digest_of(f"signature {release}"),
        )
        for place, release in enumerate(releases)
    )
    packages = Package.objects.bulk_create(_package(version, platform) for version in made for platform in platforms)
    ReleaseBlob.objects.bulk_create(
        ReleaseBlob(release=package.version.release, digest=package.digest, name=package.filename)
        for package in packages
    )
    _record(releases[0].pk)
    newest = releases[len(versions) - 1 :: len(versions)]
    entries = [
        Entry(description=DESCRIPTION, words={indexing.NAME: [release.name], indexing.PLACE: [release.namespace.name]})
        for release in newest
    ]
    _add_docs(newest, entries)


def _package(version: ProviderVersion, platform: str) -> Package:
    os, _, arch = platform.partition("_")
    digest = digest_of(f"{version.release} {platform}")
    name = f"terraform-provider-{version.provider.type}_{version.release.version}_{platform}.zip"
    return Package(
        version=version, os=os, arch=arch, filename=name, digest=digest, size=5_000_000, h1=f"h1:{digest[:43]}="
    )


def _module_entry(release: Release, dice: random.Random) -> Entry:
    """Return the entry of a module with twenty inputs: some hundred words, and fifty more in its README."""
    name, _, system = release.name.partition("/")
    number = name.rpartition("-")[2]
    inputs = ["_".join(dice.sample(PARTS, 3)) for _ in range(18)] + ["name", "tags"]
    outputs = ["_".join(dice.sample(PARTS, 2)) for _ in range(8)]
    types = [f"{system}_{dice.choice(PARTS)}_{dice.choice(PARTS)}" for _ in range(6)]
    return Entry(
        description=DESCRIPTION,
        words={
            indexing.NAME: [name],
            indexing.PLACE: [release.namespace.name, system],
            indexing.DESCRIPTION: [DESCRIPTION, *(["needle"] if int(number) < NEEDLES else [])],
        },
        items=[
            *(Item(indexing.RESOURCE, one) for one in types),
            *(Item(indexing.INPUT, one) for one in inputs),
            *(Item(indexing.OUTPUT, one) for one in outputs),
        ],
        readme=" ".join(dice.sample(PROSE, 50)),
    )


def _add_docs(releases: list[Release], entries: list[Entry]) -> None:
    now = timezone.now()
    docs = SearchDoc.objects.bulk_create(
        SearchDoc(
            kind=release.kind,
            namespace=release.namespace,
            name=release.name,
            sort_key=indexing.sort_key(release.namespace.name, release.name),
            description=DESCRIPTION,
            release=release,
            indexed_release=release.pk,
            version=release.version,
            lifecycle="maintained",
            is_prerelease=False,
            is_listed=True,
            published_at=now,
            downloads=release.pk * 7919 % 10_000,
        )
        for release in releases
    )
    SearchFacet.objects.bulk_create(
        SearchFacet(doc=doc, facet=facet, value=value)
        for doc in docs
        for system in doc.name.split("/")[1:]
        for facet, value in (("system", system), ("provider", f"hashicorp/{system}"))
    )
    for doc, entry in zip(docs, entries, strict=True):
        _index_words(doc, entry)


def _index_words(doc: SearchDoc, entry: Entry) -> None:
    """Index the first modules of a namespace, and the others by their names and by what one of the first declares."""
    first = indexed.setdefault(doc.namespace_id, [])
    if not entry.items or len(first) < INDEXED_WHOLE:
        indexing.index_words(doc, entry)
        if entry.items:
            first.append(doc.pk)
        return
    indexing.index_words(doc, replace(entry, items=[], readme=""))
    columns = "is_name, term, place, name, unit"
    execute(
        f"INSERT INTO releases_searchword (namespace_id, doc_id, {columns}) SELECT namespace_id, %s, {columns} "  # noqa: S608
        "FROM releases_searchword WHERE doc_id = %s AND place IN (%s, %s, %s, %s) ON CONFLICT DO NOTHING",
        [
            *(doc.pk, first[doc.pk % INDEXED_WHOLE]),
            *(indexing.RESOURCE, indexing.INPUT, indexing.OUTPUT, indexing.README),
        ],
    )
