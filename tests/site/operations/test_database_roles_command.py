"""`manage.py database_roles`: it can be repeated, printed, and refuses roles that privileges do not limit."""

from io import StringIO

import pytest
from django.apps import apps
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.db import ProgrammingError, connection, transaction

from apps.accounts.access.gate import Viewer
from apps.signing import keys
from registry_site.operations import doctor
from tests.providers.draft_client import register
from tests.site.operations.database_roles import SIGNING, WEB, assert_refused, execute, role

pytestmark = [
    pytest.mark.both,
    pytest.mark.needs("on PostgreSQL"),
]


def test_again_changes_nothing_and_takes_back_what_someone_added(roles):
    def privileges() -> list[tuple[str, ...]]:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT grantee, table_name, column_name, privilege_type FROM information_schema.column_privileges "
                "WHERE grantee IN (%s, %s) ORDER BY 1, 2, 3, 4",
                [WEB, SIGNING],
            )
            return list(cursor.fetchall())

    before = privileges()
    execute(f"GRANT ALL ON audit_auditevent, signing_privatekey TO {WEB}, {SIGNING}")
    assert privileges() != before
    call_command("database_roles", web=WEB, signing=SIGNING, stdout=StringIO())

    assert privileges() == before


def test_sql_prints_the_statements_and_runs_none(roles):
    execute(f"REVOKE ALL ON accounts_user FROM {WEB}")
    said = StringIO()
    call_command("database_roles", web=WEB, signing=SIGNING, sql=True, stdout=said)
    with role(WEB):
        assert_refused("SELECT 1 FROM accounts_user")
    for statement in said.getvalue().replace("BEGIN;\n", "").replace("COMMIT;\n", "").split(";\n"):
        if statement:
            execute(statement)
    with role(WEB):
        assert execute("SELECT 1 FROM accounts_user") == 0


def test_a_role_that_privileges_do_not_limit_is_named(roles):
    def refusal(web: str, signing: str) -> str:
        with pytest.raises(CommandError) as refused:
            call_command("database_roles", web=web, signing=signing, stdout=StringIO())
        return str(refused.value)

    assert "is a superuser" in refusal("larder", SIGNING)
    assert "There is no role nobody" in refusal(WEB, "nobody")
    assert "the same name" in refusal(WEB, WEB)
    execute("CREATE ROLE larder_test_owner NOSUPERUSER")
    execute("ALTER TABLE audit_auditevent OWNER TO larder_test_owner")
    execute(f"GRANT larder_test_owner TO {WEB}")
    assert "member of the role" in refusal(WEB, SIGNING)


def test_every_table_of_signing_is_closed_to_the_web_role(roles):
    """A table that is added there later, too: what the signer trusts is not open by oversight."""
    allowed = {"signing_signingkey", "signing_signaturerequest", "signing_keyfingerprint"}
    for model in apps.get_app_config("signing").get_models():
        table = model._meta.db_table
        with connection.cursor() as cursor:
            cursor.execute("SELECT has_table_privilege(%s, %s, 'INSERT')", [WEB, table])
            assert cursor.fetchone()[0] == (table in allowed), table


def test_a_publishers_key_is_registered_and_ended_as_before(roles, acme, dora):
    with role(WEB):
        key = register(acme, dora)
        keys.retire(key=key, actor=Viewer(dora), reason="Replaced.")
        keys.revoke(key=key, actor=Viewer(dora), reason="It leaked.")
        keys.request(namespace=acme, algorithm="ed25519", actor=Viewer(dora))


def test_the_web_role_counts_rate_limits(roles, settings):
    """In the database, where several processes have no Redis."""
    backend = "registry_site.backends.cache.DatabaseCounters"
    settings.CACHES = {"default": {"BACKEND": backend, "LOCATION": "larder_cache"}}
    call_command("createcachetable", verbosity=0)
    call_command("database_roles", web=WEB, signing=SIGNING, stdout=StringIO())
    with role(WEB):
        cache.set("tries", 1, 60)
        assert cache.incr("tries") == 2


def test_the_check_up_of_a_signing_host_reads_what_that_role_may_before_anything_else(roles):
    """A refused statement is a fault of the database, and skips all looks at it that follow."""
    parts = [part for part, look in doctor.LOOKS.items() if look.needs == doctor.DATABASE]
    with role(SIGNING):
        states = {
            part: [found.state for found in doctor.LOOKS[part].run()] for part in parts[: parts.index("API tokens")]
        }
        for part in ("API tokens", "stored secrets"):
            with pytest.raises(ProgrammingError, match="permission denied"), transaction.atomic():
                list(doctor.LOOKS[part].run())

    assert states.keys() >= {"clock", "signing keys", "statements", "quotas", "audit"}
    assert "fail" not in {state for found in states.values() for state in found}
