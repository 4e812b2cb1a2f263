"""The privileges of Larder's roles in PostgreSQL: one for signing workers, one for all other processes.

A third role owns the tables; commands that migrate, back up or restore use it. The signing worker trusts the rows of
private keys, the fingerprint and namespace of a signing key, and its own audit rows: the web role writes none of them,
nor the public half of a statement key, nor a statement. What the roles may do beyond privileges is limited by triggers
(audit 0023 and 0025, signing 0007 and 0010).
"""

from collections.abc import Iterator, Mapping

from django.apps import apps
from django.db import connection, models

from apps.accounts.models import Namespace
from apps.artifacts.models import Manifest, Repository
from apps.audit.models import AuditEvent, Generation, Link
from apps.jobs.models import Heartbeat, Job
from apps.modules.models import ModuleVersion
from apps.notify.models import OutboxEvent
from apps.provenance.models import Referrer, Statement
from apps.providers.models import Package, ProviderVersion
from apps.releases.models import Release, ReleaseFile
from apps.releases.origin.models import Approval, Origin
from apps.room import all_of
from apps.signing.models import (
    KeyFingerprint,
    PrivateKey,
    PrivateStatementKey,
    SignatureRequest,
    SigningKey,
    StatementKey,
)
from registry_site.startup.bootstrap import OF_ROLE

# An SQL privilege and the columns that it is for; none means all of them.
Privileges = Mapping[str, tuple[str, ...]]

READ: Privileges = {"SELECT": ()}
APPEND: Privileges = {"SELECT": (), "INSERT": ()}
WRITE: Privileges = {"SELECT": (), "INSERT": (), "UPDATE": (), "DELETE": ()}
# Tables without a model. The second is there if the database counts for rate limits.
MIGRATIONS, CACHE = "django_migrations", "larder_cache"

# What a person does with a key: ask for one, register or renew a public one, end one. Neither its namespace nor its
# fingerprint, which say what the private half may sign.
_KEY_CHANGES = (
    "state",
    "algorithm",
    "armor",
    "uid",
    "expires_at",
    "source",
    "source_url",
    "added_by_id",
    "created_by_token_id",
    "ended_at",
    "ended_by_id",
    "reason",
)
_CLAIM = (
    *("state", "attempts", "lapses", "fence", "lease_until", "not_before", "rung_at", "turn", "worker", "error"),
    "finished_at",
)


def web_privileges() -> dict[str, Privileges]:
    """Return what web processes, checking workers and beat may do with each table: all, except what is trusted."""
    found = {_table(model): WRITE for model in apps.get_models(include_auto_created=True) if model._meta.managed}  # noqa: SLF001
    found |= {_table(model): READ for model in apps.get_app_config("signing").get_models()}
    return found | {
        MIGRATIONS: READ,
        CACHE: WRITE,
        _table(AuditEvent): APPEND,
        _table(Link): APPEND,
        # Which keys can sign, and under which key-encryption key they are sealed; not what is sealed.
        **{_table(model): {"SELECT": _unsealed_columns(model)} for model in (PrivateKey, PrivateStatementKey)},
        _table(SigningKey): {**APPEND, "UPDATE": _KEY_CHANGES},
        _table(SignatureRequest): {**APPEND, "DELETE": ()},
        _table(KeyFingerprint): {**APPEND, "UPDATE": ()},
        # Staff retire a key; only a signing worker makes one.
        _table(StatementKey): {"SELECT": (), "UPDATE": ("retired_at",)},
        _table(Statement): READ,
    }


def signing_privileges() -> dict[str, Privileges]:
    """Return what signing workers may do: read releases; write keys, answers, audit rows, the state of their jobs."""
    read = (Namespace, Release, ReleaseFile, ProviderVersion, Package, Origin, Approval)
    found = {_table(model): READ for model in read} | {MIGRATIONS: READ}
    found |= {_table(model): granted for part in all_of("signing_tables") for model, granted in part.items()}
    found |= {_table(model): WRITE for model in apps.get_app_config("signing").get_models()}
    return found | {
        _table(SignatureRequest): {"SELECT": (), "UPDATE": ("signature", "problem"), "DELETE": ()},
        _table(SigningKey): {**APPEND, "UPDATE": ()},
        # By which digest clients receive it; not what people wrote.
        _table(ModuleVersion): {"SELECT": ("id", "release_id", "manifest_digest")},
        _table(Statement): APPEND,
        # The manifests that lead to a statement, and what a pushed one is that it is attached to.
        _table(Referrer): APPEND,
        _table(Manifest): {"SELECT": ("repository_id", "digest", "media_type", "size")},
        _table(Repository): {"SELECT": ("id", "namespace_id", "path")},
        _table(Job): {"SELECT": (), "UPDATE": _CLAIM},
        _table(Heartbeat): WRITE,
        _table(AuditEvent): {"INSERT": (), "SELECT": _returned_columns(AuditEvent)},
        _table(Generation): {**APPEND, "UPDATE": ()},
        _table(OutboxEvent): {"INSERT": (), "SELECT": _returned_columns(OutboxEvent)},
    }


def statements(*, web: str, signing: str) -> Iterator[str]:
    """Yield the SQL that gives both roles these privileges and no others. Safe to repeat."""
    quote = connection.ops.quote_name
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_schema()")
        schema = _identifier(cursor.fetchone()[0])
        tables = set(connection.introspection.table_names(cursor))
    yield f"REVOKE CREATE ON SCHEMA {schema} FROM PUBLIC"
    for role, privileges in ((web, web_privileges()), (signing, signing_privileges())):
        name = _identifier(role)
        yield f"REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM {name}"
        yield f"REVOKE ALL ON ALL SEQUENCES IN SCHEMA {schema} FROM {name}"
        yield f"GRANT USAGE ON SCHEMA {schema} TO {name}"
        for table, granted in sorted(privileges.items()):
            if table not in tables:
                continue
            words = ", ".join(
                f"{privilege} ({', '.join(quote(column) for column in columns)})" if columns else privilege
                for privilege, columns in granted.items()
            )
            yield f"GRANT {words} ON {schema}.{quote(table)} TO {name}"
    for function in ("audit_prune(bigint, integer)", "audit_add_months(timestamptz, integer)"):
        yield f"GRANT EXECUTE ON FUNCTION {schema}.{function} TO {_identifier(web)}"
        yield f"REVOKE ALL ON FUNCTION {schema}.{function} FROM {_identifier(signing)}"


def time_outs(role: str) -> Iterator[str]:
    """Yield the SQL for the time-outs, and `jit`, that `migrate` sets for its own role."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_database()")
        database = _identifier(cursor.fetchone()[0])
    for name, value in OF_ROLE.items():
        yield f"ALTER ROLE {_identifier(role)} IN DATABASE {database} SET {name} = '{value}'"


def problem_with(role: str) -> str:
    """Return why privileges would not limit this role; empty if they do."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT rolsuper FROM pg_roles WHERE rolname = %s", [role])
        found = cursor.fetchone()
        if found is None:
            return f"There is no role {role}."
        if found[0]:
            return f"The role {role} is a superuser: privileges do not limit it."
        cursor.execute(
            "SELECT bool_or(pg_has_role(%s, tableowner, 'MEMBER')) FROM pg_tables WHERE schemaname = current_schema()",
            [role],
        )
        if cursor.fetchone()[0]:
            return f"The role {role} owns Larder's tables, or is a member of the role that does."
    return ""


def _table(model: type[models.Model]) -> str:
    return model._meta.db_table  # noqa: SLF001


def _unsealed_columns(model: type[models.Model]) -> tuple[str, ...]:
    fields = model._meta.concrete_fields  # noqa: SLF001
    return tuple(str(field.column) for field in fields if not isinstance(field, models.BinaryField))


def _returned_columns(model: type[models.Model]) -> tuple[str, ...]:
    """Return the columns that Django reads back after an insert."""
    fields = model._meta.db_returning_fields  # noqa: SLF001
    return tuple(str(field.column) for field in fields)


def _identifier(name: str) -> str:
    return '"{}"'.format(name.replace('"', '""'))
