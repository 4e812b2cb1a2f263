from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("providers", "0001_initial"), ("providers", "0010_manifests"), ("providers", "0011_plain_words"), ("providers", "0012_searched_by_index"),
    ]

    dependencies = [("accounts", "0001_squashed_0018_created_by_token"), ("releases", "0001_squashed_0014_breaking_reason"), ("signing", "0001_squashed_0008_created_by_token")]

    operations = [
        migrations.CreateModel(
            name="Provider",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("type", models.CharField(max_length=63)),
                ("description", models.CharField(blank=True, max_length=300)),
                ("source_url", models.CharField(blank=True, help_text="The repository, for people and update bots.", max_length=300)),
                ("notice", models.CharField(blank=True, help_text="Shown by clients as a warning at every init.", max_length=500)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("namespace", models.ForeignKey(on_delete=models.PROTECT, related_name="providers", to="accounts.namespace")),
            ],
            options={
                "indexes": [models.Index(fields=["created_at"], name="providers_by_day")],
                "constraints": [models.UniqueConstraint(fields=("namespace", "type"), name="providers_address_once")],
            },
        ),
        migrations.CreateModel(
            name="ProviderVersion",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("is_prerelease", models.BooleanField()),
                ("protocols", models.JSONField(help_text='["5.0", "6.7"]')),
                ("signing", models.CharField(choices=[("publisher", "Publisher-signed"), ("registry", "Registry-signed")], max_length=9)),
                ("sums_digest", models.CharField(db_index=True, help_text="sha256 of SHA256SUMS, a blob", max_length=64)),
                ("signature_digest", models.CharField(db_index=True, help_text="SHA-256 of its detached signature, a blob.", max_length=64)),
                ("key", models.ForeignKey(on_delete=models.PROTECT, related_name="provider_versions", to="signing.signingkey")),
                ("provider", models.ForeignKey(on_delete=models.PROTECT, related_name="versions", to="providers.provider")),
                ("release", models.OneToOneField(on_delete=models.PROTECT, related_name="provider_version", to="releases.release")),
                ("index_digest", models.CharField(blank=True, help_text="Digest of its index in the OCI mirror; see providers.package_manifests.", max_length=71)),
            ],
            options={
                "permissions": [("resign_providerversion", "Can sign a version again")],
                "indexes": [
                    models.Index(fields=["provider", "is_prerelease"], name="providers_versions_stable"),
                    models.Index(fields=["provider", "index_digest"], name="providers_by_index"),
                ],
                "constraints": [models.CheckConstraint(condition=models.Q(signature_digest__regex="^[0-9a-f]{64}$", sums_digest__regex="^[0-9a-f]{64}$"), name="providers_version_is_signed")],
            },
        ),
        migrations.CreateModel(
            name="Package",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("os", models.CharField(max_length=20)),
                ("arch", models.CharField(max_length=20)),
                ("filename", models.CharField(max_length=255)),
                ("digest", models.CharField(db_index=True, help_text="sha256 of the zip; `zh:` is the same", max_length=64)),
                ("size", models.BigIntegerField(help_text="bytes")),
                ("h1", models.CharField(help_text="h1:… of the unpacked tree", max_length=50)),
                ("version", models.ForeignKey(on_delete=models.CASCADE, related_name="packages", to="providers.providerversion")),
                ("manifest_digest", models.CharField(blank=True, db_index=True, help_text="Digest of its manifest in the OCI mirror.", max_length=71)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["os", "arch"], name="providers_by_platform"),
                    models.Index(fields=["arch"], name="providers_by_arch"),
                    models.Index(fields=["filename"], name="providers_by_filename", opclasses=["varchar_pattern_ops"]),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("version", "os", "arch"), name="providers_platform_once"),
                    models.UniqueConstraint(fields=("version", "filename"), name="providers_filename_once"),
                    models.CheckConstraint(condition=models.Q(digest__regex="^[0-9a-f]{64}$"), name="providers_package_digest"),
                ],
            },
        ),
        migrations.CreateModel(
            name="FormerSignature",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("digest", models.CharField(help_text="sha256 of the detached signature", max_length=64)),
                ("replaced_at", models.DateTimeField(auto_now_add=True)),
                ("key", models.ForeignKey(on_delete=models.PROTECT, related_name="+", to="signing.signingkey")),
                ("version", models.ForeignKey(on_delete=models.CASCADE, related_name="former_signatures", to="providers.providerversion")),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("version", "digest"), name="providers_former_signature_once")],
            },
        ),
        migrations.CreateModel(
            name="DocsPage",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(choices=[("overview", "Overview"), ("guides", "Guides"), ("resources", "Resources"), ("data-sources", "Data sources"), ("ephemeral-resources", "Ephemeral resources"), ("functions", "Functions"), ("list-resources", "List resources"), ("actions", "Actions")], max_length=20)),
                ("slug", models.CharField(max_length=100)),
                ("name", models.CharField(help_text="Its name in configurations, such as dns_record, or a guide's title.", max_length=200)),
                ("subcategory", models.CharField(blank=True, max_length=300)),
                ("title", models.CharField(blank=True, max_length=300)),
                ("description", models.CharField(blank=True, max_length=300)),
                ("html", models.TextField(blank=True)),
                ("version", models.ForeignKey(on_delete=models.CASCADE, related_name="docs_pages", to="providers.providerversion")),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("version", "kind", "slug"), name="providers_docs_page_once")],
            },
        ),
        migrations.CreateModel(
            name="DocsArchive",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("state", models.CharField(choices=[("received", "Received"), ("shown", "Shown"), ("replaced", "Replaced"), ("refused", "Refused")], max_length=8)),
                ("staging_key", models.CharField(blank=True, help_text="Its key in staging until a worker reads it.", max_length=80)),
                ("digest", models.CharField(help_text="SHA-256; a blob while it is shown.", max_length=64)),
                ("size", models.BigIntegerField(help_text="bytes")),
                ("reasons", models.JSONField(blank=True, default=list)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("created_by", models.ForeignKey(null=True, on_delete=models.SET_NULL, related_name="+", to=settings.AUTH_USER_MODEL)),
                ("version", models.ForeignKey(on_delete=models.CASCADE, related_name="docs_archives", to="providers.providerversion")),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(condition=models.Q(state="shown"), fields=("version",), name="providers_docs_shown_once"),
                    models.CheckConstraint(condition=models.Q(digest__regex="^[0-9a-f]{64}$"), name="providers_docs_digest"),
                ],
            },
        ),
    ]
