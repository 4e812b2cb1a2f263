import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0022_approvals"),
        ("releases", "0004_visible_at"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Approval",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("digest", models.CharField(help_text="What is approved: the release's digest.", max_length=64)),
                ("asked_at", models.DateTimeField()),
                ("until", models.DateTimeField(help_text="When it ends without a decision.")),
                (
                    "decision",
                    models.CharField(
                        choices=[("waiting", "Waiting"), ("approved", "Approved"), ("declined", "Declined")],
                        default="waiting",
                        max_length=8,
                    ),
                ),
                ("comparison", models.JSONField(blank=True, default=dict)),
                ("unusual", models.JSONField(blank=True, default=list)),
                ("decided_at", models.DateTimeField(blank=True, null=True)),
                ("token_id", models.BigIntegerField(blank=True, help_text="The token of an approval bot.", null=True)),
                (
                    "has_second_factor",
                    models.BooleanField(default=False, help_text="It was asked for at the decision."),
                ),
                ("reason", models.CharField(blank=True, max_length=500)),
            ],
        ),
        migrations.CreateModel(
            name="Origin",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "way",
                    models.CharField(choices=[("page", "Browser"), ("api", "API"), ("oci", "OCI push")], max_length=8),
                ),
                ("vendor", models.CharField(blank=True, help_text="The kind of the trusted publisher.", max_length=10)),
                ("issuer", models.CharField(blank=True, max_length=200)),
                ("claims", models.JSONField(blank=True, default=dict)),
                ("facts", models.JSONField(blank=True, default=dict)),
                ("token_label", models.CharField(blank=True, max_length=100)),
            ],
        ),
        migrations.RemoveConstraint(
            model_name="release",
            name="releases_version_once",
        ),
        migrations.RemoveConstraint(
            model_name="release",
            name="releases_state_known",
        ),
        migrations.AlterField(
            model_name="release",
            name="state",
            field=models.CharField(
                choices=[
                    ("receiving", "Receiving"),
                    ("received", "Received"),
                    ("checking", "Checking"),
                    ("held", "Held"),
                    ("awaiting-approval", "Awaiting Approval"),
                    ("signing", "Signing"),
                    ("published", "Published"),
                    ("rejected", "Rejected"),
                    ("failed", "Failed"),
                    ("purged", "Purged"),
                ],
                db_index=True,
                default="receiving",
                max_length=20,
            ),
        ),
        migrations.AddConstraint(
            model_name="release",
            constraint=models.UniqueConstraint(
                condition=models.Q(
                    (
                        "state__in",
                        (
                            "receiving",
                            "received",
                            "checking",
                            "held",
                            "awaiting-approval",
                            "signing",
                            "published",
                            "purged",
                        ),
                    )
                ),
                fields=("kind", "namespace", "name", "sort_key"),
                name="releases_version_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="release",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "state__in",
                        [
                            "receiving",
                            "received",
                            "checking",
                            "held",
                            "awaiting-approval",
                            "signing",
                            "published",
                            "rejected",
                            "failed",
                            "purged",
                        ],
                    )
                ),
                name="releases_state_known",
            ),
        ),
        migrations.AddField(
            model_name="approval",
            name="decided_by",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="approval",
            name="release",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.CASCADE, related_name="approval", to="releases.release"
            ),
        ),
        migrations.AddField(
            model_name="origin",
            name="publisher",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="origins",
                to="accounts.trustedpublisher",
            ),
        ),
        migrations.AddField(
            model_name="origin",
            name="release",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.CASCADE, related_name="origin", to="releases.release"
            ),
        ),
        migrations.AddIndex(
            model_name="approval",
            index=models.Index(
                condition=models.Q(("decision", "waiting")), fields=["until"], name="releases_approvals_waiting"
            ),
        ),
        migrations.AddConstraint(
            model_name="approval",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("decided_at", None), ("decision", "waiting")),
                    ("decided_at__isnull", False),
                    _connector="OR",
                ),
                name="releases_approval_decided",
            ),
        ),
    ]
