import uuid

from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("releases", "0001_initial"), ("releases", "0002_lifecycle_downloads_search"), ("releases", "0003_providers"),
        ("releases", "0004_session_of_uploads"), ("releases", "0005_held_index"), ("releases", "0006_plain_words"),
        ("releases", "0007_searched_by_index"), ("releases", "0008_resumable_uploads"), ("releases", "0010_team_downloads"),
        ("releases", "0011_cleanup"), ("releases", "0012_search_words"), ("releases", "0013_fill_search_words"), ("releases", "0014_breaking_reason"),
    ]

    dependencies = [("accounts", "0001_squashed_0018_created_by_token")]

    operations = [
        migrations.CreateModel(
            name="Release",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("kind", models.CharField(choices=[("module", "Module"), ("provider", "Provider")], max_length=8)),
                ("name", models.CharField(max_length=130)),
                ("version", models.CharField(max_length=128)),
                ("sort_key", models.BinaryField(help_text="memcmp order is SemVer precedence (D10).", max_length=600)),
                (
                    "state",
                    models.CharField(choices=[("receiving", "Receiving"), ("received", "Received"), ("checking", "Checking"), ("held", "Held"), ("signing", "Signing"), ("published", "Published"), ("rejected", "Rejected"), ("failed", "Failed"), ("purged", "Purged")], db_index=True, default="receiving", max_length=9),
                ),
                ("reasons", models.JSONField(blank=True, default=list)),
                ("file_name", models.CharField(blank=True, help_text="Its name on the publisher's machine.", max_length=255)),
                ("staging_key", models.CharField(max_length=80)),
                ("ticket_digest", models.CharField(blank=True, db_index=True, help_text="sha256 of an unused ticket", max_length=64)),
                ("receiving_until", models.DateTimeField(blank=True, null=True)),
                ("uploaded_digest", models.CharField(blank=True, db_index=True, max_length=64)),
                ("uploaded_size", models.BigIntegerField(blank=True, null=True)),
                ("digest", models.CharField(blank=True, db_index=True, max_length=64)),
                ("size", models.BigIntegerField(blank=True, null=True)),
                ("token_id", models.BigIntegerField(blank=True, null=True)),
                ("provenance", models.JSONField(blank=True, default=dict)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("received_at", models.DateTimeField(blank=True, null=True)),
                ("checking_at", models.DateTimeField(blank=True, null=True)),
                ("checked_at", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                ("published_at", models.DateTimeField(blank=True, null=True)),
                ("created_by", models.ForeignKey(null=True, on_delete=models.SET_NULL, related_name="releases", to=settings.AUTH_USER_MODEL)),
                ("namespace", models.ForeignKey(on_delete=models.PROTECT, related_name="releases", to="accounts.namespace")),
                ("asks", models.BooleanField(default=False, help_text="A person is watching: questions hold it instead of refusing it.")),
                ("confirmed", models.JSONField(blank=True, default=list, help_text="Codes of the confirmed questions.")),
                ("folder", models.CharField(blank=True, help_text="Publish this folder of the archive, not its root.", max_length=300)),
                ("held_until", models.DateTimeField(blank=True, null=True)),
                ("lifecycle", models.CharField(choices=[("maintained", "Maintained"), ("deprecated", "Deprecated"), ("yanked", "Yanked")], default="maintained", max_length=10)),
                ("lifecycle_at", models.DateTimeField(blank=True, null=True)),
                ("lifecycle_by", models.ForeignKey(blank=True, null=True, on_delete=models.SET_NULL, related_name="+", to=settings.AUTH_USER_MODEL)),
                ("lifecycle_reason", models.CharField(blank=True, max_length=500)),
                ("lifecycle_replacement", models.CharField(blank=True, help_text="What to use instead.", max_length=200)),
                ("notes", models.JSONField(blank=True, default=dict, help_text="form, top_folder, left_out, folders: see modules")),
                ("quarantine_reason", models.CharField(blank=True, max_length=500)),
                ("quarantined_at", models.DateTimeField(blank=True, null=True)),
                ("quarantined_by", models.ForeignKey(blank=True, null=True, on_delete=models.SET_NULL, related_name="+", to=settings.AUTH_USER_MODEL)),
                ("questions", models.JSONField(blank=True, default=list, help_text="Reasons with the `code` to confirm.")),
                ("signed_at", models.DateTimeField(blank=True, help_text="Only for kinds that are signed.", null=True)),
                ("verified_as", models.CharField(blank=True, help_text="sound, damaged, missing or refused", max_length=8)),
                ("verified_at", models.DateTimeField(blank=True, null=True)),
                ("verified_findings", models.JSONField(blank=True, default=list)),
                ("session_digest", models.CharField(blank=True, db_default="", default="", help_text="The browser session that reserved it.", max_length=40)),
                ("cleaned_at", models.DateTimeField(blank=True, help_text="A cleanup rule took it then, for the last time.", null=True)),
                ("breaking_reason", models.CharField(blank=True, db_default="", default="", help_text="Why it breaks something under this number.", max_length=500)),
            ],
            options={
                "permissions": [
                    ("deprecate_release", "Can deprecate a published version"),
                    ("yank_release", "Can yank a published version"),
                    ("quarantine_release", "Can put a published version into quarantine"),
                    ("restore_release", "Can restore a published version"),
                    ("purge_release", "Can purge a published version"),
                    ("verify_release", "Can verify stored bytes"),
                ],
                "indexes": [
                    models.Index(fields=["kind", "namespace", "name", "-sort_key"], name="releases_newest"),
                    models.Index(fields=["-created_at"], name="releases_latest"),
                    models.Index(condition=models.Q(quarantined_at__isnull=False), fields=["digest"], name="releases_blocked"),
                    models.Index(condition=~models.Q(lifecycle="maintained"), fields=["lifecycle"], name="releases_discouraged"),
                    models.Index(fields=["-published_at"], name="releases_newly_published"),
                    models.Index(condition=~models.Q(verified_as__in=["", "sound"]), fields=["verified_as"], name="releases_unsound"),
                    models.Index(condition=models.Q(state="held"), fields=["created_by"], name="releases_held"),
                    models.Index(fields=["created_by", "namespace", "state"], name="releases_of_person"),
                    models.Index(fields=["name"], name="releases_by_name", opclasses=["varchar_pattern_ops"]),
                    models.Index(fields=["version"], name="releases_by_version"),
                    models.Index(condition=models.Q(quarantined_at__isnull=False), fields=["state", "quarantined_at"], name="releases_in_quarantine"),
                ],
                "constraints": [
                    models.CheckConstraint(condition=~models.Q(state="published") | models.Q(digest__regex="^[0-9a-f]{64}$", published_at__isnull=False, size__isnull=False), name="releases_published_is_complete"),
                    models.CheckConstraint(condition=models.Q(lifecycle__in=["maintained", "deprecated", "yanked"]), name="releases_lifecycle_known"),
                    models.UniqueConstraint(condition=models.Q(state__in=["receiving", "received", "checking", "held", "signing", "published", "purged"]), fields=("kind", "namespace", "name", "sort_key"), name="releases_version_once"),
                    models.CheckConstraint(condition=models.Q(state__in=["receiving", "received", "checking", "held", "signing", "published", "rejected", "failed", "purged"]), name="releases_state_known"),
                ],
            },
        ),
        migrations.CreateModel(
            name="DownloadCount",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("day", models.DateField()),
                ("client", models.CharField(help_text="OpenTofu 1.12.6, Terraform 1.11.4, or other", max_length=40)),
                ("count", models.PositiveBigIntegerField(default=0)),
                ("release", models.ForeignKey(on_delete=models.CASCADE, related_name="download_counts", to="releases.release")),
            ],
            options={
                "indexes": [models.Index(fields=["day"], name="releases_downloads_by_day")],
                "constraints": [models.UniqueConstraint(fields=("release", "day", "client"), name="releases_downloads_once")],
            },
        ),
        migrations.CreateModel(
            name="Fetch",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("last_on", models.DateField()),
                ("count", models.PositiveBigIntegerField(default=0)),
                ("release", models.ForeignKey(on_delete=models.CASCADE, related_name="fetches", to="releases.release")),
                ("user", models.ForeignKey(on_delete=models.CASCADE, related_name="fetches", to=settings.AUTH_USER_MODEL)),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("release", "user"), name="releases_fetches_once")],
            },
        ),
        migrations.CreateModel(
            name="SearchDoc",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(choices=[("module", "Module"), ("provider", "Provider")], max_length=8)),
                ("name", models.CharField(help_text="The name within the namespace, such as vpc/aws.", max_length=130)),
                ("sort_key", models.BinaryField(help_text="memcmp order is the order of addresses.", max_length=200)),
                ("description", models.CharField(blank=True, max_length=300)),
                ("version", models.CharField(max_length=128)),
                ("lifecycle", models.CharField(choices=[("maintained", "Maintained"), ("deprecated", "Deprecated"), ("yanked", "Yanked")], max_length=10)),
                ("is_prerelease", models.BooleanField()),
                ("is_listed", models.BooleanField()),
                ("published_at", models.DateTimeField()),
                ("downloads", models.PositiveBigIntegerField(default=0, help_text="Downloads of all its versions, all time.")),
                ("namespace", models.ForeignKey(on_delete=models.PROTECT, related_name="search_docs", to="accounts.namespace")),
                ("release", models.ForeignKey(on_delete=models.CASCADE, related_name="+", to="releases.release")),
                ("indexed_release", models.PositiveBigIntegerField(editable=False, help_text="The release whose words are indexed. Another one: index it again.", null=True)),
            ],
            options={
                "permissions": [("rebuild_searchdoc", "Can rebuild a search document")],
                "indexes": [
                    models.Index(fields=["kind", "namespace", "is_listed"], name="releases_docs_seen"),
                    models.Index(fields=["kind", "sort_key"], name="releases_docs_by_address"),
                    models.Index(fields=["kind", "-published_at"], name="releases_docs_updated"),
                    models.Index(fields=["kind", "-downloads"], name="releases_docs_popular"),
                    models.Index(fields=["published_at"], name="releases_docs_by_day"),
                    models.Index(fields=["name"], name="releases_docs_by_name", opclasses=["varchar_pattern_ops"]),
                ],
                "constraints": [models.UniqueConstraint(fields=("kind", "namespace", "name"), name="releases_doc_once")],
            },
        ),
        migrations.CreateModel(
            name="SearchFacet",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("facet", models.CharField(max_length=12)),
                ("value", models.CharField(max_length=200)),
                ("doc", models.ForeignKey(on_delete=models.CASCADE, related_name="facets", to="releases.searchdoc")),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("facet", "value", "doc"), name="releases_facets_once")],
            },
        ),
        migrations.CreateModel(
            name="SearchTerm",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("term", models.BinaryField(max_length=64)),
                ("weight", models.PositiveSmallIntegerField(help_text="The weight of its best place; see releases.search.")),
                ("doc", models.ForeignKey(db_index=False, on_delete=models.CASCADE, related_name="terms", to="releases.searchdoc")),
            ],
            options={
                "indexes": [models.Index(fields=["term", "doc"], name="releases_terms_by_word")],
                "constraints": [models.UniqueConstraint(fields=("doc", "term"), name="releases_terms_once")],
            },
        ),
        migrations.CreateModel(
            name="ReleaseBlob",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("digest", models.CharField(db_index=True, help_text="sha256, 64 hex digits", max_length=64)),
                ("name", models.CharField(help_text="Its name for clients.", max_length=255)),
                ("release", models.ForeignKey(on_delete=models.CASCADE, related_name="blobs", to="releases.release")),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("release", "digest"), name="releases_blob_once"),
                    models.CheckConstraint(condition=models.Q(digest__regex="^[0-9a-f]{64}$"), name="releases_blob_digest"),
                ],
            },
        ),
        migrations.CreateModel(
            name="ReleaseFile",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=255)),
                ("staging_key", models.CharField(max_length=80, unique=True)),
                ("digest", models.CharField(help_text="SHA-256 of the received bytes.", max_length=64)),
                ("size", models.BigIntegerField(help_text="bytes")),
                ("received_at", models.DateTimeField(auto_now_add=True)),
                ("release", models.ForeignKey(on_delete=models.CASCADE, related_name="files", to="releases.release")),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("release", "name"), name="releases_file_once")],
            },
        ),
        migrations.CreateModel(
            name="Upload",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, primary_key=True, serialize=False)),
                ("size", models.BigIntegerField(default=0, help_text="Bytes received; the next chunk begins here.")),
                ("lease", models.UUIDField(blank=True, help_text="The request that is sending bytes now.", null=True)),
                ("lease_until", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("expires_at", models.DateTimeField()),
                ("name", models.CharField(blank=True, help_text="The file of a draft; empty for an archive.", max_length=255)),
                ("length", models.BigIntegerField(help_text="Bytes of the whole.")),
                ("expected", models.CharField(blank=True, help_text="Its sha256, announced or found.", max_length=64)),
                ("metadata", models.CharField(blank=True, help_text="Upload-Metadata, as it was sent.", max_length=2000)),
                ("ticket_digest", models.CharField(blank=True, db_index=True, help_text="sha256 of its ticket", max_length=64)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                ("release", models.ForeignKey(on_delete=models.CASCADE, related_name="uploads", to="releases.release")),
                ("user", models.ForeignKey(on_delete=models.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL)),
            ],
            options={
                "indexes": [models.Index(fields=["expires_at"], name="releases_uploads_by_end")],
                "constraints": [models.UniqueConstraint(condition=models.Q(finished_at=None), fields=("release", "name"), name="releases_upload_once")],
            },
        ),
        migrations.CreateModel(
            name="UploadPart",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("start", models.BigIntegerField()),
                ("size", models.BigIntegerField()),
                ("staging_key", models.CharField(max_length=80)),
                ("upload", models.ForeignKey(on_delete=models.CASCADE, related_name="parts", to="releases.upload")),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("upload", "start"), name="releases_part_once")],
            },
        ),
        migrations.CreateModel(
            name="TeamDownload",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("day", models.DateField()),
                ("count", models.PositiveBigIntegerField(default=0)),
                ("account", models.ForeignKey(help_text="A service account of the team.", null=True, on_delete=models.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL)),
                ("release", models.ForeignKey(on_delete=models.CASCADE, related_name="team_downloads", to="releases.release")),
                ("team", models.ForeignKey(on_delete=models.CASCADE, related_name="+", to="accounts.team")),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(condition=models.Q(account=None), fields=("release", "day", "team"), name="releases_team_downloads_once"),
                    models.UniqueConstraint(condition=models.Q(account__isnull=False), fields=("release", "day", "account"), name="releases_account_downloads_once"),
                ],
            },
        ),
        migrations.CreateModel(
            name="CleanupRule",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("enabled", models.BooleanField(default=False, help_text="It acts by itself, once an hour.")),
                ("action", models.CharField(choices=[("deprecate", "Deprecate: they stay listed and served, and pages and clients advise against them"), ("yank", "Yank: no list has them; exact downloads and pages still work")], default="deprecate", max_length=10)),
                ("prerelease_days", models.PositiveIntegerField(blank=True, help_text="Chooses pre-releases older than this. Empty: none.", null=True)),
                ("stable_days", models.PositiveIntegerField(blank=True, help_text="Chooses other versions older than this. Empty: none.", null=True)),
                ("keep_newest", models.PositiveIntegerField(default=5, help_text="So many of each module and provider always stay.")),
                ("fetched_days", models.PositiveIntegerField(default=90, help_text="A version fetched in so many days stays.")),
                ("changed_at", models.DateTimeField(blank=True, null=True)),
                ("applied_at", models.DateTimeField(blank=True, help_text="Its last run, by itself or by hand.", null=True)),
                ("applied_count", models.PositiveIntegerField(default=0, help_text="The versions that this run changed.")),
                ("changed_by", models.ForeignKey(null=True, on_delete=models.SET_NULL, related_name="+", to=settings.AUTH_USER_MODEL)),
                ("namespace", models.OneToOneField(on_delete=models.CASCADE, related_name="cleanup_rule", to="accounts.namespace")),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(condition=models.Q(action__in=["deprecate", "yank"]), name="releases_cleanup_action_known"),
                    models.CheckConstraint(condition=models.Q(keep_newest__gte=1), name="releases_cleanup_keeps_one"),
                ],
            },
        ),
        migrations.CreateModel(
            name="SearchGram",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("gram", models.BinaryField(max_length=12)),
                ("word", models.BinaryField(max_length=64)),
                ("namespace", models.ForeignKey(db_index=False, on_delete=models.CASCADE, related_name="+", to="accounts.namespace")),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("namespace", "gram", "word"), name="releases_grams_once")],
            },
        ),
        migrations.CreateModel(
            name="SearchWord",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("is_name", models.BooleanField(help_text="A word of the module's or provider's own name.")),
                ("term", models.BinaryField(max_length=64)),
                ("place", models.PositiveSmallIntegerField(help_text="Where the word is, as a weight; see catalogue.indexing.")),
                ("name", models.CharField(blank=True, help_text="The whole name that contains the word.", max_length=200)),
                ("unit", models.CharField(blank=True, help_text="The folder or docs page that declares it.", max_length=300)),
                ("doc", models.ForeignKey(db_index=False, on_delete=models.CASCADE, related_name="words", to="releases.searchdoc")),
                ("namespace", models.ForeignKey(db_index=False, on_delete=models.CASCADE, related_name="+", to="accounts.namespace")),
            ],
            options={
                "indexes": [
                    models.Index(fields=["namespace", "is_name", "term", "doc"], name="releases_words_seen"),
                    models.Index(fields=["doc", "term"], name="releases_words_of_doc"),
                ],
            },
        ),
    ]
