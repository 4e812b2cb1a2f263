"""Search documents as rows, with a release of their own: no pipeline, no archive."""

import hashlib
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from apps.lib import versions
from apps.releases.catalogue import search
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
    providers=None,
    version="1.0.0",
    downloads=0,
    is_listed=True,
    release=None,
) -> SearchDoc:
    """`add_doc(acme, "vpc/aws", inputs=["cidr"])`: later ones are published later."""
    name, _, system = path_name.partition("/")
    words = {
        search.NAME: [name],
        search.PLACE: [namespace.name, system],
        search.DESCRIPTION: [description],
        search.SUBMODULE: submodules,
        search.RESOURCE: resources,
        search.INPUT: inputs,
        search.OUTPUT: outputs,
    }
    facets = {"system": [system], "provider": [f"hashicorp/{system}"] if providers is None else providers}
    with transaction.atomic():
        release = release or add_release(
            namespace, path_name, version, lifecycle="maintained" if is_listed else "yanked"
        )
        doc = search.put(release=release, description=description, words=words, facets=facets, is_listed=is_listed)
        if downloads:
            SearchDoc.objects.filter(pk=doc.pk).update(downloads=downloads)
    return doc


def add_release(namespace, path_name, version, **more) -> Release:
    return Release.objects.create(
        kind="module",
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
