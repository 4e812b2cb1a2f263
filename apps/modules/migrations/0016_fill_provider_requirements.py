"""Read the required providers out of the stored inspections."""

import re
from typing import Any

import idna
from django.conf import settings
from django.db import migrations, transaction

BATCH = 50  # an inspection can have a megabyte
_TARGET = re.compile(r"([0-9a-z]+(?:[-_][0-9a-z]+)*)/([0-9a-z]+(?:-[0-9a-z]+)*)", re.ASCII)


def host_of(text: str) -> str:
    name, colon, port = text.strip().lower().partition(":")
    try:
        encoded = name if name.isascii() else idna.encode(name, uts46=True).decode()
    except (idna.IDNAError, UnicodeError):
        return ""
    return f"{encoded}{colon}{port}".removesuffix(":443")


def fill(apps: Any, schema_editor: Any) -> None:
    alias = schema_editor.connection.alias
    versions = apps.get_model("modules", "ModuleVersion").objects.using(alias)
    requirement = apps.get_model("modules", "ProviderRequirement")
    hosts = {host_of(host) for host in (settings.PUBLIC_HOST, *settings.HOSTNAMES)}
    last = 0
    while batch := list(versions.filter(pk__gt=last).order_by("pk").values_list("pk", "inspection")[:BATCH]):
        last = batch[-1][0]
        rows = [
            requirement(version_id=pk, **found)
            for pk, inspection in batch
            for unit in inspection.get("units", [])
            if unit["kind"] not in ("example", "other")
            for row in unit["providers"]
            if (found := found_in(unit, row, hosts))
        ]
        with transaction.atomic(using=alias):  # once more, where a run ended half-way
            requirement.objects.using(alias).filter(version__in=[pk for pk, _ in batch]).delete()
            requirement.objects.using(alias).bulk_create(rows)


def found_in(unit: dict[str, Any], row: dict[str, Any], hosts: set[str]) -> dict[str, str] | None:
    host, _, path = row["source"].strip().lower().partition("/")
    target = _TARGET.fullmatch(path)
    if target is None or len(target[1]) > 64 or len(target[2]) > 63 or host_of(host) not in hosts:
        return None
    return {
        "unit": unit["path"][:300],
        "constraint": row["version"][:200],
        "target_namespace": target[1].replace("_", "-"),
        "target_type": target[2],
    }


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("modules", "0015_provider_requirements")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
