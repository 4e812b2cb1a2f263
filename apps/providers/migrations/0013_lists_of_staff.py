
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0027_lists_of_staff"),
        ("providers", "0001_squashed_0012_searched_by_index"),
        ("releases", "0011_lists_of_staff"),
        ("signing", "0010_statement_roles"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="provider",
            index=models.Index(fields=["type"], name="providers_by_type", opclasses=["varchar_pattern_ops"]),
        ),
        migrations.AddIndex(
            model_name="providerversion",
            index=models.Index(fields=["signing"], name="providers_by_signing"),
        ),
    ]
