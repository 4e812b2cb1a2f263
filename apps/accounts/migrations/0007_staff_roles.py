from typing import Any

from django.db import migrations


def keep_what_staff_may(apps: Any, schema_editor: Any) -> None:
    """Until now all staff acted as owners everywhere. Those who are staff today go on; Auditors come without it."""
    using = schema_editor.connection.alias
    staff = apps.get_model("accounts", "User").objects.using(using).filter(is_staff=True, is_superuser=False)
    if not staff.exists():
        return
    kinds = apps.get_model("contenttypes", "ContentType").objects.using(using)
    kind, _ = kinds.get_or_create(app_label="accounts", model="namespace")
    permission, _ = (
        apps.get_model("auth", "Permission")
        .objects.using(using)
        .get_or_create(
            content_type=kind, codename="operate_namespace", defaults={"name": "Can act as owner in every namespace"}
        )
    )
    for user in staff.iterator():
        user.user_permissions.add(permission)


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0006_namespace_deletion"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="namespace",
            options={"permissions": [("operate_namespace", "Can act as owner in every namespace")]},
        ),
        migrations.RunPython(keep_what_staff_may, migrations.RunPython.noop),
    ]
