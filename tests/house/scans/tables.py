"""Which tables grow with use, and how to fill them: rows by SQL, as many as no query may read.

A model stands in one of the two lists, or the test fails. `GROWING` says what the rows of a table look like where the
type of a column does not: SQL by column, with `g` for the number of the row. `SMALL` says why a table stays small.
"""

from collections.abc import Callable
from typing import Any

from django.apps import apps
from django.db import connection, models

from apps.modules import inspection
from apps.modules.contents import readme
from tests import rooms
from tests.house.scans.filled import DOCS_PAGE, OLD, SEMVER, ZIP

# More than an admin list sorts whatever its order is (MAX_SORTED_ROWS).
ROWS, FEW = 24_000, 100
# Their numbers begin here, above those of the scene.
FIRST = 1_000_000
# Prime to ROWS, so that each parent has one child.
_STEP = 7_919

_CONTENT = "django.contrib.contenttypes and auth: written by migrations"
_PEOPLE = "a few for each person or team"
_SIGN_ON = "a few for each person who signs on"
_UPLOADS = "in progress: they end, or expire within a day"
_PROVIDERS = "g % 3 = 0"
_SYSTEM = "(ARRAY['aws', 'azurerm', 'google'])[1 + g % 3]"
_DONE = {"state": "'succeeded'", "finished_at": OLD}
_OCI_DIGEST = "'sha256:' || md5(g::text) || md5(g::text || 'b')"

SMALL: dict[str, str] = {
    "accounts.Namespace": "a few hundred in a large company: people create them one by one",
    "accounts.User": "people and their machines, not what they do",
    "accounts.User_groups": _PEOPLE,
    "accounts.User_user_permissions": _PEOPLE,
    "accounts.Team": "as many as a company has teams",
    "accounts.DeletedTeam": "as many as a company had teams",
    "accounts.Membership": _PEOPLE,
    "accounts.Grant": "a few for each namespace",
    "accounts.GroupMapping": "a few for each team",
    "accounts.GroupAssignment": _PEOPLE,
    "accounts.PastIdentity": _SIGN_ON,
    "accounts.TrustedPublisher": "a few for each namespace",
    "accounts.ConnectionChange": "a few for each connection",
    "accounts.MachineAct": "a few for each trusted publisher and repository",
    "accounts.Epoch": "one row",
    "accounts.Invitation": "one for each person who comes",
    "audit.Generation": "buckets of names (generation._BUCKETS)",
    "blobs.Run": "one for each kind of check",
    "jobs.Heartbeat": "one for each worker",
    "notify.Webhook": "a few for each namespace",
    "notify.Preference": _PEOPLE,
    "notify.Watch": _PEOPLE,
    "oci.UploadSession": _UPLOADS,
    "oci.UploadChunk": _UPLOADS,
    "releases.Upload": _UPLOADS,
    "releases.UploadPart": _UPLOADS,
    "releases.CleanupRule": "one for each namespace",
    "signing.SigningKey": "a few for each namespace",
    "signing.PrivateKey": "one for each signing key",
    "signing.StatementKey": "one at a time",
    "signing.PrivateStatementKey": "one for each statement key",
    "signing.KeyFingerprint": "one for each key and host",
    "account.EmailAddress": _SIGN_ON,
    "account.EmailConfirmation": _SIGN_ON,
    "mfa.Authenticator": _SIGN_ON,
    "socialaccount.SocialApp": "one for each identity provider",
    "socialaccount.SocialAccount": _SIGN_ON,
    "socialaccount.SocialToken": _SIGN_ON,
    "auth.Permission": _CONTENT,
    "auth.Group_permissions": _CONTENT,
    "auth.Group": _CONTENT,
    "contenttypes.ContentType": _CONTENT,
    **rooms.rows("SMALL"),
}

GROWING: dict[str, dict[str, str]] = {
    "accounts.ApiToken": {
        "scope": "'publish'",
        "expires_at": "now() + g * interval '1 minute'",
        "label": "'ci'",
        "last_used_at": f"CASE WHEN g % 2 = 0 THEN NULL ELSE {OLD} END",  # half of them were never used
    },
    "accounts.ApiToken_namespaces": {},
    "accounts.LoginCode": {},
    "accounts.TokenExchange": {"refused": "CASE WHEN g % 9 = 0 THEN 'repository' ELSE '' END"},
    "accounts.UsedIdToken": {},
    "admin.LogEntry": {"action_flag": "1", "object_id": "g::text"},
    "oci.Repository": {"path": "'image-' || g"},
    "oci.RepositoryBlob": {},
    "oci.Manifest": {"digest": _OCI_DIGEST, "media_type": "'application/vnd.oci.image.manifest.v1+json'"},
    "oci.ManifestBlob": {},
    "oci.ManifestChild": {"digest": _OCI_DIGEST},
    "oci.Tag": {"name": "'v' || g"},
    "oci.Collection": {},
    "audit.AuditEvent": {
        "kind": "(ARRAY['namespace:release:published', 'namespace:release:yanked', 'account:token:issued'])[1 + g % 3]",
        "namespace": f"'filled-' || ({FIRST} + 1 + g % {FEW})",
        "subject": "'team/module-' || g || '/aws ' || (g % 9) || '.0.0'",
    },
    "audit.Link": {},
    "blobs.Blob": {"state": "'ready'", "size": "g", "checked_at": OLD},
    "jobs.Job": {
        "kind": "CASE WHEN g % 2 = 0 THEN 'publish-module' ELSE 'verify-release' END",
        "target": f"{FIRST} + g",
        **_DONE,
    },
    "modules.Module": {"canonical": "'module-' || g || '/aws'", "name": "'module-' || g", "system": _SYSTEM},
    "modules.ModuleVersion": {"inspector": f"'{inspection.INSPECTOR}'", "readme_renderer": f"'{readme.RENDERER}'"},
    "modules.ModuleCall": {"target_namespace": "''", "source": "'hashicorp/consul/aws'"},
    "modules.ProviderRequirement": {"target_namespace": "'hashicorp'", "target_type": "'type' || g"},
    "modules.Configuration": {"repository": "'https://git.example/' || g"},
    "modules.ConfigurationUse": {},
    "notify.OutboxEvent": {},
    "notify.Delivery": {
        "state": "'delivered'",
        "ended_at": OLD,
        "event": "'release.published'",
        "event_id": f"{FIRST} + g",
    },
    "notify.Letter": {"state": "'sent'", "ended_at": OLD, "topic": "'published'"},
    "provenance.Statement": {"manifest_digest": _OCI_DIGEST},
    "provenance.Attestation": {"form": "'dsse'", "manifest_digest": _OCI_DIGEST},
    "provenance.Referrer": {"digest": _OCI_DIGEST, "attestation_id": "NULL"},
    "providers.Provider": {"type": "'provider-' || g"},
    "providers.ProviderVersion": {"signing": "'registry'"},
    "providers.FormerSignature": {},
    "providers.Package": ZIP,
    "providers.DocsPage": DOCS_PAGE,
    "providers.DocsArchive": {"state": "'shown'"},
    "releases.Release": {
        "kind": f"CASE WHEN {_PROVIDERS} THEN 'provider' ELSE 'module' END",
        "name": f"CASE WHEN {_PROVIDERS} THEN 'provider-' || (g / 10) ELSE 'module-' || (g / 10) || '/aws' END",
        "version": SEMVER,
        "sort_key": "decode(md5(g::text), 'hex')",
        # One in a thousand waits for somebody, one in fifty was refused.
        "state": "CASE WHEN g % 1000 = 1 THEN 'awaiting-approval' WHEN g % 1000 = 2 THEN 'held' "
        "WHEN g % 50 = 3 THEN 'rejected' ELSE 'published' END",
        "size": "g",
        "published_at": "now() - g * interval '1 hour'",
        "finished_at": OLD,
        "ticket_digest": "''",
        "verified_as": "CASE WHEN g % 5 = 0 THEN 'sound' ELSE '' END",
        "lifecycle": "CASE WHEN g % 200 = 0 THEN 'yanked' ELSE 'maintained' END",
    },
    "releases.ReleaseFile": {},
    "releases.ReleaseBlob": {},
    "releases.DownloadCount": {"client": "'OpenTofu 1.12.6'", "count": "g"},
    "releases.Fetch": {"count": "g"},
    "releases.TeamDownload": {"count": "g"},
    "releases.SearchDoc": {
        "kind": f"CASE WHEN {_PROVIDERS} THEN 'provider' ELSE 'module' END",
        "name": f"CASE WHEN {_PROVIDERS} THEN 'provider-' || g ELSE 'module-' || g || '/aws' END",
        "sort_key": "('module-' || lpad(g::text, 6, '0'))::bytea",
        "lifecycle": "'maintained'",
        "is_listed": "TRUE",
        "downloads": "g",
    },
    "releases.SearchWord": {"term": "('word' || g)::bytea"},
    "releases.SearchGram": {"gram": "decode(left(md5(g::text), 6), 'hex')", "word": "('word' || g)::bytea"},
    "releases.SearchTerm": {"term": "('word' || g)::bytea"},
    "releases.SearchFacet": {"facet": "'system'", "value": _SYSTEM},
    "releases.Origin": {"way": "'api'"},
    "releases.Participant": {"part": "'token'", "mark": "''"},
    "releases.Approval": {"decision": "'approved'", "decided_at": OLD},
    "sessions.Session": {"session_key": "md5(g::text)"},
    "signing.SignatureRequest": {},
    **rooms.rows("GROWING"),
}

# Of a few small tables, which constraints bind.
_SMALL_COLUMNS: dict[str, dict[str, str]] = {
    "accounts.Namespace": {"visibility": "'public'", "name": "'filled-' || id", "canonical": "'filled-' || id"},
    "accounts.Grant": {"team_id": "NULL", "role": "1 + g % 3"},
    "accounts.Invitation": {"namespace_id": "NULL"},
    "accounts.GroupMapping": {"team_id": "NULL"},
    "releases.CleanupRule": {"keep_newest": "1"},
    "accounts.TrustedPublisher": {"kind": "'github'"},
    "signing.SigningKey": {
        "custody": "'publisher'",
        "fingerprint": "upper(left(md5(g::text) || md5(g::text), 40))",
        "key_id": "upper(left(md5(g::text), 16))",
        "armor": "'-'",
    },
    "signing.KeyFingerprint": {"key": "'key-' || g"},
    "signing.StatementKey": {"retired_at": OLD},
    **rooms.rows("SMALL_COLUMNS"),
}


def tables() -> dict[str, type[models.Model]]:
    """Every model by its label, those between many and many included."""
    return {f"{m._meta.app_label}.{m._meta.object_name}": m for m in apps.get_models(include_auto_created=True)}


def fill() -> None:
    """Fill each table that is declared, parents and children in any order, and have PostgreSQL look at it."""
    found = tables()
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
        cursor.execute("SET session_replication_role = replica")  # no keys are checked, no triggers run
        for label, model in found.items():
            if label in GROWING or (label in SMALL and SMALL[label] != _CONTENT):
                cursor.execute(_statement(label, model, found))
        cursor.execute("SET session_replication_role = DEFAULT")
        cursor.execute("VACUUM ANALYZE")
        cursor.execute("SET statement_timeout = DEFAULT")


def _statement(label: str, model: type[models.Model], found: dict[str, type[models.Model]]) -> str:
    count = ROWS if label in GROWING else FEW
    changed = GROWING.get(label, {}) or _SMALL_COLUMNS.get(label, {})
    columns = {str(f.column): changed.get(str(f.column)) or _value(f) for f in model._meta.concrete_fields}
    names = ", ".join(f'"{name}"' for name in columns)
    values = ", ".join(columns.values()).replace("|| id", f"|| ({FIRST} + g)")
    table = model._meta.db_table
    return f"INSERT INTO {table} ({names}) SELECT {values} FROM generate_series(1, {count}) AS g"  # noqa: S608


def _value(field: Any) -> str:
    """SQL that a column of this type takes: unique where it must be, NULL or empty where it may be."""
    if field.primary_key and not field.is_relation:
        return "gen_random_uuid()" if isinstance(field, models.UUIDField) else f"{FIRST} + g"
    if field.is_relation:
        return _reference(field)
    if field.null and not field.unique:
        return "NULL"
    return _by_type(field)


def _reference(field: Any) -> str:
    target = field.related_model
    label = f"{target._meta.app_label}.{target._meta.object_name}"
    if isinstance(target._meta.pk, models.UUIDField):
        return "gen_random_uuid()"
    if label in GROWING:
        return f"{FIRST} + 1 + g * {_STEP}::bigint % {ROWS}"
    return f"{FIRST} + 1 + g % {FEW}"


# In this order: some types are others as well.
_BY_TYPE: dict[type[models.Field[Any, Any]], Callable[[Any], str]] = {
    models.BooleanField: lambda field: "TRUE" if field.default is True else "FALSE",
    models.DateTimeField: lambda _: OLD,
    models.DateField: lambda _: "current_date - g % 365",
    models.JSONField: lambda field: "'[]'" if field.default is list else "'{}'",
    models.UUIDField: lambda _: "gen_random_uuid()",
    models.BinaryField: lambda _: "decode(md5(g::text), 'hex')",
    models.SmallIntegerField: lambda _: "1",
    models.IntegerField: lambda field: "0" if field.has_default() and not field.unique else f"{FIRST} + g",
    models.FloatField: lambda _: "0",
}


def _by_type(field: Any) -> str:
    random = f"repeat(md5(g::text || '{field.column}'), 4)"
    for kind, value in _BY_TYPE.items():
        if isinstance(field, kind):
            return value(field)
    if field.choices:
        return f"'{field.get_default() or field.choices[0][0]}'"
    length = min(field.max_length or 64, 64) if field.max_length != 128 else 128
    return "''" if field.blank and not (field.unique or field.db_index) else f"left({random}, {length})"
