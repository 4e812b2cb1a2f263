
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0026_token_searches"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="apitoken",
            index=models.Index(fields=["scope"], name="accounts_tokens_by_scope"),
        ),
        migrations.AddIndex(
            model_name="apitoken",
            index=models.Index(
                condition=models.Q(("revoked_at", None), _negated=True),
                fields=["revoked_at"],
                name="accounts_tokens_revoked",
            ),
        ),
        migrations.AddIndex(
            model_name="apitoken",
            index=models.Index(
                condition=models.Q(("suspended_at", None), _negated=True),
                fields=["suspended_at"],
                name="accounts_tokens_suspended",
            ),
        ),
        migrations.AddIndex(
            model_name="apitoken",
            index=models.Index(
                condition=models.Q(("leaked_at", None), _negated=True),
                fields=["leaked_at"],
                name="accounts_tokens_leaked",
            ),
        ),
    ]
