from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("notify", "0001_initial"), ("notify", "0002_mail"), ("notify", "0003_created_by_token"),
    ]

    dependencies = [("accounts", "0001_squashed_0018_created_by_token")]

    operations = [
        migrations.CreateModel(
            name="OutboxEvent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("event_id", models.BigIntegerField(unique=True)),
                ("at", models.DateTimeField(auto_now_add=True, db_index=True)),
            ],
        ),
        migrations.CreateModel(
            name="Webhook",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("url", models.CharField(max_length=500)),
                ("events", models.JSONField(default=list, help_text="Names such as release.published.")),
                ("shape", models.CharField(choices=[("standard", "Standard Webhooks: signed JSON for your own program"), ("slack", "Slack: a message in a channel"), ("teams", "Microsoft Teams: a card in a channel")], default="standard", max_length=8)),
                ("sealed_secret", models.TextField(help_text="Encrypted, see accounts.identity.sealing.")),
                ("former_secret", models.TextField(blank=True, help_text="Encrypted. Signs as well until former_until.")),
                ("former_until", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("failing_since", models.DateTimeField(blank=True, help_text="The first failure since the last success.", null=True)),
                ("disabled_at", models.DateTimeField(blank=True, null=True)),
                ("disabled_reason", models.CharField(blank=True, max_length=300)),
                ("created_by", models.ForeignKey(null=True, on_delete=models.SET_NULL, related_name="+", to=settings.AUTH_USER_MODEL)),
                ("namespace", models.ForeignKey(blank=True, help_text="Empty: all of them.", null=True, on_delete=models.CASCADE, related_name="webhooks", to="accounts.namespace")),
                ("created_by_token", models.ForeignKey(editable=False, null=True, on_delete=models.SET_NULL, related_name="+", to="accounts.apitoken")),
            ],
        ),
        migrations.CreateModel(
            name="Delivery",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("message_id", models.CharField(max_length=40, unique=True)),
                ("event_id", models.BigIntegerField(help_text="Of the audit; empty for a test.", null=True)),
                ("event", models.CharField(max_length=40)),
                ("subject", models.CharField(max_length=300)),
                ("body", models.TextField(help_text="The JSON as it is signed and sent.")),
                ("state", models.CharField(choices=[("waiting", "Waiting"), ("delivered", "Delivered"), ("failed", "Failed")], default="waiting", max_length=9)),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("next_at", models.DateTimeField(help_text="During an attempt: when another worker may take it.")),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                ("tried_at", models.DateTimeField(blank=True, null=True)),
                ("status", models.PositiveSmallIntegerField(blank=True, help_text="Of the last answer.", null=True)),
                ("answer", models.TextField(blank=True, help_text="The beginning of the last answer.")),
                ("error", models.CharField(blank=True, max_length=300)),
                ("webhook", models.ForeignKey(on_delete=models.CASCADE, related_name="deliveries", to="notify.webhook")),
            ],
            options={
                "indexes": [
                    models.Index(condition=models.Q(state="waiting"), fields=["next_at"], name="notify_deliveries_due"),
                    models.Index(fields=["webhook", "-created_at"], name="notify_log"),
                    models.Index(fields=["ended_at"], name="notify_deliveries_ended"),
                ],
                "constraints": [models.UniqueConstraint(fields=("webhook", "event_id"), name="notify_one_delivery_each")],
            },
        ),
        migrations.CreateModel(
            name="Preference",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("topics_off", models.JSONField(default=list)),
                ("is_digest", models.BooleanField(default=False, help_text="One mail a day.")),
                ("user", models.OneToOneField(on_delete=models.CASCADE, related_name="mail_preference", to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name="Letter",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("address", models.EmailField(blank=True, help_text="If it is not the account's.", max_length=254)),
                ("topic", models.CharField(blank=True, help_text="Empty for what nobody can switch off.", max_length=10)),
                ("key", models.CharField(help_text="The reason, once for each person.", max_length=80)),
                ("subject", models.CharField(max_length=200)),
                ("text", models.TextField()),
                ("sealed_url", models.TextField(help_text="Encrypted: links of invitations are secrets.")),
                ("state", models.CharField(choices=[("waiting", "Waiting"), ("sent", "Sent"), ("dropped", "Dropped"), ("failed", "Failed")], default="waiting", max_length=7)),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("next_at", models.DateTimeField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                ("error", models.CharField(blank=True, max_length=300)),
                ("namespace", models.ForeignKey(help_text="They must see it when it is sent.", null=True, on_delete=models.CASCADE, to="accounts.namespace")),
                ("user", models.ForeignKey(null=True, on_delete=models.CASCADE, related_name="letters", to=settings.AUTH_USER_MODEL)),
            ],
            options={
                "indexes": [
                    models.Index(condition=models.Q(state="waiting"), fields=["next_at"], name="notify_letters_due"),
                    models.Index(fields=["ended_at"], name="notify_letters_ended"),
                ],
                "constraints": [models.UniqueConstraint(fields=("user", "key"), name="notify_one_letter_each")],
            },
        ),
        migrations.CreateModel(
            name="Watch",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(blank=True, help_text="vpc/aws or dns; empty for all of them.", max_length=130)),
                ("at", models.DateTimeField(auto_now_add=True)),
                ("namespace", models.ForeignKey(on_delete=models.CASCADE, related_name="watches", to="accounts.namespace")),
                ("user", models.ForeignKey(on_delete=models.CASCADE, related_name="watches", to=settings.AUTH_USER_MODEL)),
            ],
            options={
                "indexes": [models.Index(fields=["namespace", "name"], name="notify_watchers")],
                "constraints": [models.UniqueConstraint(fields=("user", "namespace", "name"), name="notify_one_watch_each")],
            },
        ),
    ]
