from typing import Any

from django.db import migrations


def end_all(apps: Any, _schema_editor: Any) -> None:
    """Rows of Django's own engine have the cookie as their key, and nothing finds them any more."""
    apps.get_model('sessions', 'Session').objects.all().delete()


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0003_teams_and_quotas'),
        ('sessions', '0001_initial'),
    ]

    operations = [migrations.RunPython(end_all, migrations.RunPython.noop)]
