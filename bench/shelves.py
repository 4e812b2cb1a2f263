"""Thousands of modules as rows, for a Larder of a benchmark: run inside it, by `manage.py shell`.

Only the newest version of a module is made by the ORM. The older ones are copies of its row by one statement each
(SQLite, as the benchmark's Larder runs on): 200,000 of them by the ORM would take minutes.
"""

import random
from collections.abc import Iterator
from typing import Any

from django.db import connection, transaction
from django.db.models import Model
from django.utils import timezone

from apps.accounts.models import Namespace
from apps.lib.search_terms import terms_of
from apps.lib.versions import parse
from apps.modules.models import Module, ModuleVersion
from apps.releases.catalogue import search
from apps.releases.models import Release, SearchDoc, SearchFacet, SearchTerm

SYSTEMS = ("aws", "azurerm", "google", "kubernetes", "null")
PARTS = [
    first + last for first in ("net", "sub", "clu", "key", "log", "rol") for last in ("work", "set", "map", "zone")
]
NAMESPACES = 50
VERSIONS = [parse(f"1.{minor}.0") for minor in range(20)]


@transaction.atomic
def fill(start: int, stop: int, *, needles: int) -> None:
    """Modules number `start` up to `stop` of 20 versions; the first `needles` of them say "needle"."""
    spaces = [
        Namespace.objects.get_or_create(name=f"team{n}", defaults={"canonical": f"team{n}", "visibility": "public"})[0]
        for n in range(NAMESPACES)
    ]
    modules = Module.objects.bulk_create(
        Module(namespace=spaces[n % NAMESPACES], name=f"module-{n}", system=SYSTEMS[n % 5], canonical=f"module-{n}/x")
        for n in range(start, stop)
    )
    releases = Release.objects.bulk_create(_release(module) for module in modules)
    ModuleVersion.objects.bulk_create(
        ModuleVersion(module=module, release=release, is_prerelease=False)
        for module, release in zip(modules, releases, strict=True)
    )
    _copy_versions(releases[0].pk)
    docs = SearchDoc.objects.bulk_create(_doc(number, release) for number, release in enumerate(releases))
    SearchFacet.objects.bulk_create(
        SearchFacet(doc=doc, facet=facet, value=value)
        for doc, module in zip(docs, modules, strict=True)
        for facet, value in (("system", module.system), ("provider", f"hashicorp/{module.system}"))
    )
    dice = random.Random(start)
    SearchTerm.objects.bulk_create(
        SearchTerm(doc=doc, term=term, weight=weight)
        for number, doc in enumerate(docs)
        for term, weight in _terms(doc, dice, "needle" if number < needles else "")
    )


def _release(module: Module) -> Release:
    return Release(
        kind="module",
        namespace=module.namespace,
        name=module.address.path_name,
        version=VERSIONS[-1].text,
        sort_key=VERSIONS[-1].sort_key,
        state="published",
        digest="0" * 64,
        size=1,
        published_at=timezone.now(),
        staging_key="-",
    )


def _copy_versions(first: int) -> None:
    """The 19 older versions of each release from number `first` on, and the module versions that belong to them."""
    older = [(version.text, version.sort_key) for version in VERSIONS[:-1]]
    numbers = "(VALUES " + ", ".join(["(%s, %s)"] * len(older)) + ") AS older"
    _copy(
        Release,
        {"version": "older.column1", "sort_key": "older.column2", "public_id": "lower(hex(randomblob(16)))"},
        f"CROSS JOIN {numbers} WHERE releases_release.id >= %s",
        [*(value for pair in older for value in pair), first],
    )
    _copy(
        ModuleVersion,
        {"release_id": "old.id"},
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
    with connection.cursor() as cursor:
        # Nothing in it is anybody's input.
        cursor.execute(f"INSERT INTO {table} ({', '.join(columns)}) SELECT {taken} FROM {table} {rest}", values)  # noqa: S608


def _doc(number: int, release: Release) -> SearchDoc:
    return SearchDoc(
        kind="module",
        namespace=release.namespace,
        name=release.name,
        sort_key=search.sort_key(release.namespace.name, release.name),
        description="Some infrastructure",
        release=release,
        version=release.version,
        lifecycle="maintained",
        is_prerelease=False,
        is_listed=True,
        published_at=timezone.now(),
        downloads=number * 7919 % 10_000,
    )


def _terms(doc: SearchDoc, dice: random.Random, needle: str) -> Iterator[tuple[bytes, int]]:
    """Some sixty, as a module with twenty inputs has them."""
    name, _, system = doc.name.partition("/")
    places = {
        search.NAME: [name],
        search.PLACE: [doc.namespace.name, system],
        search.DESCRIPTION: ["Some infrastructure", needle],
        search.INPUT: ["_".join(dice.sample(PARTS, 3)) for _ in range(20)],
        search.OUTPUT: ["_".join(dice.sample(PARTS, 2)) for _ in range(8)],
    }
    found: dict[bytes, int] = {}
    for weight, texts in places.items():
        for text in texts:
            for term in terms_of(text):
                found.setdefault(term.encode(), weight)
    yield from found.items()
