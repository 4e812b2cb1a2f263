from django.db import migrations


class Migration(migrations.Migration):
    """Two branches numbered their migration 0008; both have landed, so neither changes."""

    dependencies = [
        ('audit', '0008_generation'),
        ('audit', '0009_erased'),
    ]

    operations = []
