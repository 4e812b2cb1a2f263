from typing import Any

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


def give_pins_to_providers(apps: Any, schema_editor: Any) -> None:  # noqa: ARG001  # Django names it
    """A pin was of a namespace. Each provider that it signed, or of which it raised an alarm, gets its own."""
    KeyPin, Alarm = apps.get_model("upstream", "KeyPin"), apps.get_model("upstream", "Alarm")
    Provider = apps.get_model("upstream", "UpstreamProvider")
    Version = apps.get_model("upstream", "UpstreamVersion")
    alarms = list(Alarm.objects.filter(kind="key_changed").exclude(provider=None).select_related("provider__upstream"))
    for pin in KeyPin.objects.filter(provider=None).order_by("pk"):
        space = {"upstream": pin.upstream_id, "namespace": pin.namespace}
        owners = set(Version.objects.filter(key=pin.pk).order_by().values_list("provider", flat=True).distinct())
        owners |= {
            one.provider_id
            for one in alarms
            if (one.upstream_id, one.namespace) == (pin.upstream_id, pin.namespace)
            and one.found.get("fingerprint") == pin.fingerprint
        }
        if not owners:  # its versions were dropped, or it was trusted ahead of them
            owners = set(Provider.objects.filter(**space).values_list("pk", flat=True))
        first, *others = sorted(owners) or [None]
        KeyPin.objects.filter(pk=pin.pk).update(provider=first)
        for owner in others:
            fields = {
                name: getattr(pin, name)
                for name in ("fingerprint", "armor", "source", "state", "decided_at", "decided_by_id", "reason")
            }
            copy = KeyPin.objects.create(
                upstream_id=pin.upstream_id, namespace=pin.namespace, provider_id=owner, **fields
            )
            KeyPin.objects.filter(pk=copy.pk).update(first_seen_at=pin.first_seen_at)  # which creation has set
            Version.objects.filter(provider=owner, key=pin.pk).update(key=copy.pk)
    for alarm in alarms:
        about = f"{alarm.provider.upstream.host}/{alarm.provider.namespace}/{alarm.provider.type}"
        subject = f"{about} key {alarm.found.get('fingerprint', '')}"
        Alarm.objects.filter(pk=alarm.pk).update(subject=subject)


def remember_decisions(apps: Any, schema_editor: Any) -> None:  # noqa: ARG001
    """What staff accepted or dismissed of versions that vanished. An alarm names the first 20 of them."""
    rows = apps.get_model("upstream", "Alarm").objects.filter(kind="list_shrank", state__in=["accepted", "dismissed"])
    for alarm in rows.exclude(provider=None).order_by("pk"):
        gone = apps.get_model("upstream", "UpstreamVersion").objects.filter(provider=alarm.provider_id, is_listed=False)
        if not alarm.known.get("more"):
            gone = gone.filter(version__in=alarm.known.get("vanished", []))
        gone.update(absence="gone" if alarm.state == "accepted" else "kept")


def read_lists_again(apps: Any, schema_editor: Any) -> None:
    """Whole, for the dates that were not read before."""
    apps.get_model("upstream", "UpstreamProvider").objects.exclude(etag="", last_modified="").update(
        etag="", last_modified=""
    )
    if schema_editor.connection.vendor == "postgresql":
        # Checks of foreign keys wait for the end, and until then no table can be altered.
        schema_editor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        schema_editor.execute("SET CONSTRAINTS ALL DEFERRED")


class Migration(migrations.Migration):
    dependencies = [
        ("upstream", "0005_never_listed"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="HeldBack",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField(db_index=True, help_text="Last.")),
                (
                    "user",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "version",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="upstream.upstreamversion"
                    ),
                ),
            ],
        ),
        migrations.RemoveConstraint(model_name="keypin", name="upstream_pin_once"),
        migrations.AddField(
            model_name="keypin",
            name="provider",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="pins",
                to="upstream.upstreamprovider",
            ),
        ),
        migrations.AddField(
            model_name="upstreamversion",
            name="absence",
            field=models.CharField(
                blank=True,
                choices=[("", "Not decided"), ("kept", "Served on"), ("gone", "Removed")],
                db_default="",
                default="",
                help_text="Of one not listed.",
                max_length=4,
            ),
        ),
        migrations.AlterField(
            model_name="upstreamversion",
            name="published_at",
            field=models.DateTimeField(blank=True, help_text="The earliest date that the registry states.", null=True),
        ),
        migrations.AlterField(
            model_name="upstreamversion",
            name="was_in_first_list",
            field=models.BooleanField(
                default=False, help_text="Below its highest version: counts as old if there is no date."
            ),
        ),
        migrations.AddConstraint(
            model_name="keypin",
            constraint=models.UniqueConstraint(
                fields=("provider", "fingerprint"), name="upstream_pin_of_provider_once"
            ),
        ),
        migrations.RunPython(give_pins_to_providers, migrations.RunPython.noop),
        migrations.RunPython(remember_decisions, migrations.RunPython.noop),
        migrations.RunPython(read_lists_again, migrations.RunPython.noop),
    ]
