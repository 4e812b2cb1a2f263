"""Published modules as rows, for pages: hundreds of them cost a moment, which the pipeline would not."""

import hashlib
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from apps.accounts.models import Namespace
from apps.lib import versions
from apps.lib.addresses import canonical
from apps.modules.catalogue import entries
from apps.modules.models import Module, ModuleVersion
from apps.releases.models import Release


def add_module(namespace: Namespace, path_name: str, *numbers: str, **version_fields) -> Module:
    """`add_module(acme, "vpc/aws", "1.0.0", "1.1.0", readme_html="…")`: later numbers are published later."""
    return add_modules(namespace, [path_name], numbers or ("1.0.0",), **version_fields)[0]


def add_modules(namespace: Namespace, path_names, numbers=("1.0.0",), **version_fields) -> list[Module]:
    start = timezone.now() - timedelta(days=400)
    split = [path_name.split("/") for path_name in path_names]
    rows = [
        Module(namespace=namespace, name=name, system=system, canonical=canonical(f"{name}/{system}"))
        for name, system in split
    ]
    modules = Module.objects.bulk_create(rows)
    for module in modules:
        releases = Release.objects.bulk_create(
            [_release(module, number, start + timedelta(hours=position)) for position, number in enumerate(numbers)]
        )
        ModuleVersion.objects.bulk_create(
            [
                ModuleVersion(
                    module=module,
                    release=release,
                    is_prerelease=versions.parse(release.version).is_prerelease,
                    **{"files": [{"name": "main.tf", "size": 1234}], **version_fields},
                )
                for release in releases
            ]
        )
    with transaction.atomic():
        for module in modules:
            entries.refresh(module)
    return modules


def _release(module: Module, number: str, at) -> Release:
    return Release(
        kind="module",
        namespace=module.namespace,
        name=f"{module.name}/{module.system}",
        version=number,
        sort_key=versions.sort_key(number),
        state="published",
        digest=hashlib.sha256(f"{module} {number}".encode()).hexdigest(),
        size=2_500_000,
        published_at=at,
        staging_key="",
    )
