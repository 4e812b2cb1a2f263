import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [
        ("upstream", "0001_initial"),
    ]

    operations = [
        migrations.AlterField(
            model_name="policyexception",
            name="version",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="exceptions",
                to="upstream.upstreamversion",
            ),
        ),
        migrations.AddField(
            model_name="policyexception",
            name="upstream",
            field=models.ForeignKey(
                help_text="Of a module.",
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="module_exceptions",
                to="upstream.upstream",
            ),
        ),
        migrations.AddField(
            model_name="policyexception",
            name="module",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="namespace/name/system, in lower case.",
                max_length=200,
            ),
        ),
        migrations.AddField(
            model_name="policyexception",
            name="module_version",
            field=models.CharField(blank=True, db_default="", default="", max_length=128),
        ),
        migrations.AddConstraint(
            model_name="policyexception",
            constraint=models.CheckConstraint(
                condition=Q(version__isnull=False, upstream=None, module="", module_version="")
                | Q(version=None, upstream__isnull=False) & ~Q(module="") & ~Q(module_version=""),
                name="upstream_exception_names_one",
            ),
        ),
    ]
