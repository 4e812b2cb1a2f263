"""Search documents as rows, with a release of their own: no pipeline, no archive."""

import hashlib
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from apps.lib import versions
from apps.releases.catalogue import indexing
from apps.releases.catalogue.indexing import Entry, Item
from apps.releases.models import Release, SearchDoc

START = timezone.now() - timedelta(days=400)


def add_doc(
    namespace,
    path_name,
    description="",
    *,
    submodules=(),
    resources=(),
    inputs=(),
    outputs=(),
    data_sources=(),
    readme="",
    kind="module",
    providers=None,
    version="1.0.0",
    downloads=0,
    is_listed=True,
    release=None,
) -> SearchDoc:
    """`add_doc(acme, "vpc/aws", inputs=["cidr"])`: later ones are published later."""
    name, _, system = path_name.partition("/")
    declared = {
        indexing.SUBMODULE: submodules,
        indexing.RESOURCE: resources,
        indexing.DATA_SOURCE: data_sources,
        indexing.INPUT: inputs,
        indexing.OUTPUT: outputs,
    }
    entry = Entry(
        description=description,
        words={
            indexing.NAME: [name],
            indexing.PLACE: [namespace.name, system],
            indexing.DESCRIPTION: [description],
        },
        items=[Item(place, text) for place, texts in declared.items() for text in texts],
        readme=readme,
        facets={"system": [system], "provider": [f"hashicorp/{system}"] if providers is None else providers},
    )
    with transaction.atomic():
        lifecycle = "maintained" if is_listed else "yanked"
        release = release or add_release(namespace, path_name, version, kind=kind, lifecycle=lifecycle)
        doc = indexing.put(release=release, entry=entry, is_listed=is_listed)
        if downloads:
            SearchDoc.objects.filter(pk=doc.pk).update(downloads=downloads)
    return doc


def add_release(namespace, path_name, version, kind="module", **more) -> Release:
    return Release.objects.create(
        kind=kind,
        namespace=namespace,
        name=path_name,
        version=version,
        sort_key=versions.sort_key(version),
        state="published",
        digest=hashlib.sha256(f"{namespace}/{path_name} {version}".encode()).hexdigest(),
        size=1,
        published_at=START + timedelta(hours=Release.objects.count()),
        staging_key="",
        **more,
    )
