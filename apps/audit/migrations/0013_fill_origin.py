from typing import Any

from django.db import migrations

BATCH = 5000
# The name of a namespace is the beginning of its events' subjects; sign-ins had the client's address in their detail.
NAMESPACE = {
    "sqlite": "replace(lower(substr(subject, 1, instr(subject || '/', '/') - 1)), '_', '-')",
    "postgresql": "replace(lower(split_part(subject, '/', 1)), '_', '-')",
}
ADDRESS = {
    "sqlite": "coalesce(json_extract(detail, '$.client'), '')",
    "postgresql": "coalesce(detail ->> 'client', '')",
}


def fill(_apps: Any, schema_editor: Any) -> None:
    connection = schema_editor.connection
    with connection.cursor() as cursor:
        cursor.execute("SELECT coalesce(max(id), 0) FROM audit_auditevent")
        last = cursor.fetchone()[0]
        for start in range(0, last, BATCH):
            between = [start, start + BATCH]
            cursor.execute(
                f"UPDATE audit_auditevent SET namespace = substr({NAMESPACE[connection.vendor]}, 1, 64)"
                " WHERE id > %s AND id <= %s AND namespace = '' AND kind LIKE 'namespace:%%'",
                between,
            )
            cursor.execute(
                f"UPDATE audit_auditevent SET address = substr({ADDRESS[connection.vendor]}, 1, 45)"
                " WHERE id > %s AND id <= %s AND address = ''"
                " AND kind IN ('account:user:signed-in', 'account:user:sign-in-failed')",
                between,
            )


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("audit", "0012_chain_and_origin")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
