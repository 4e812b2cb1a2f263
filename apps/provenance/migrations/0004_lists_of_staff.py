
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("oci", "0005_lists_of_staff"),
        ("provenance", "0003_by_digest"),
        ("releases", "0011_lists_of_staff"),
        ("signing", "0010_statement_roles"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddIndex(
            model_name="attestation",
            index=models.Index(fields=["form"], name="provenance_by_form"),
        ),
        migrations.AddIndex(
            model_name="attestation",
            index=models.Index(fields=["is_pushed"], name="provenance_by_way"),
        ),
        migrations.AddIndex(
            model_name="statement",
            index=models.Index(fields=["made_at"], name="provenance_statements_by_day"),
        ),
    ]
