import uuid

import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("oci", "0001_initial"), ("oci", "0002_plain_repositories"), ("oci", "0003_plain_words"),
    ]

    dependencies = [("accounts", "0001_squashed_0018_created_by_token"), ("blobs", "0001_squashed_0004_plain_words")]

    operations = [
        migrations.CreateModel(
            name="Collection",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("begun_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("seconds", models.FloatField(default=0.0)),
                ("is_complete", models.BooleanField(default=True, help_text="No: it ran out of time, or storage failed. The next run continues.", verbose_name="complete")),
                ("uploads", models.PositiveIntegerField(default=0, help_text="Lapsed uploads.")),
                ("tags", models.PositiveIntegerField(default=0)),
                ("manifests", models.PositiveIntegerField(default=0)),
                ("repository_blobs", models.PositiveIntegerField(default=0, verbose_name="blobs of repositories")),
                ("blobs", models.PositiveIntegerField(default=0, help_text="Blobs in storage that no repository and no release needed.")),
                ("bytes", models.BigIntegerField(default=0, help_text="Bytes of these blobs.")),
            ],
            options={
                "verbose_name": "garbage collection",
                "indexes": [models.Index(fields=["begun_at"], name="oci_collections_by_day")],
            },
        ),
        migrations.CreateModel(
            name="Repository",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("path", models.CharField(blank=True, help_text="The part after the namespace, in lower case, such as vpc/aws. Empty: only the namespace.", max_length=255)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("created_by", models.ForeignKey(null=True, on_delete=models.SET_NULL, related_name="+", to=settings.AUTH_USER_MODEL)),
                ("namespace", models.ForeignKey(on_delete=models.PROTECT, related_name="repositories", to="accounts.namespace")),
            ],
            options={
                "verbose_name_plural": "repositories",
                "indexes": [models.Index(fields=["created_at"], name="oci_repositories_by_day")],
                "constraints": [models.UniqueConstraint(fields=("namespace", "path"), name="oci_repository_once")],
            },
        ),
        migrations.CreateModel(
            name="Manifest",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("digest", models.CharField(help_text="sha256:… or sha512:…, as it was addressed.", max_length=135)),
                ("media_type", models.CharField(max_length=255)),
                ("artifact_type", models.CharField(blank=True, help_text="Its own, otherwise its config's media type.", max_length=255)),
                ("subject", models.CharField(blank=True, help_text="The digest of the manifest it is attached to.", max_length=135)),
                ("annotations", models.JSONField(default=dict)),
                ("size", models.PositiveIntegerField(help_text="bytes")),
                ("raw", models.BinaryField()),
                ("pushed_at", models.DateTimeField(auto_now_add=True)),
                ("seen_at", models.DateTimeField(default=django.utils.timezone.now, help_text="When it was last pushed, or lost a tag.")),
                ("pushed_by", models.ForeignKey(null=True, on_delete=models.SET_NULL, related_name="+", to=settings.AUTH_USER_MODEL)),
                ("repository", models.ForeignKey(on_delete=models.CASCADE, related_name="manifests", to="oci.repository")),
            ],
            options={
                "indexes": [
                    models.Index(fields=["repository", "subject"], name="oci_manifests_by_subject"),
                    models.Index(fields=["pushed_at"], name="oci_manifests_by_day"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("repository", "digest"), name="oci_manifest_once"),
                    models.CheckConstraint(condition=models.Q(digest__regex="^(sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$"), name="oci_manifest_digest"),
                ],
            },
        ),
        migrations.CreateModel(
            name="RepositoryBlob",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("seen_at", models.DateTimeField(default=django.utils.timezone.now, help_text="When a publisher was last told that it exists.")),
                ("blob", models.ForeignKey(on_delete=models.PROTECT, related_name="repository_blobs", to="blobs.blob")),
                ("repository", models.ForeignKey(on_delete=models.CASCADE, related_name="blobs", to="oci.repository")),
            ],
            options={
                "indexes": [models.Index(fields=["seen_at"], name="oci_blobs_by_sight")],
                "constraints": [models.UniqueConstraint(fields=("repository", "blob"), name="oci_blob_once")],
            },
        ),
        migrations.CreateModel(
            name="ManifestBlob",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("manifest", models.ForeignKey(on_delete=models.CASCADE, related_name="blob_edges", to="oci.manifest")),
                ("blob", models.ForeignKey(on_delete=models.PROTECT, related_name="manifest_edges", to="oci.repositoryblob")),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("manifest", "blob"), name="oci_edge_once")],
            },
        ),
        migrations.CreateModel(
            name="Tag",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=128)),
                ("moved_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("manifest", models.ForeignKey(on_delete=models.CASCADE, related_name="tags", to="oci.manifest")),
                ("moved_by", models.ForeignKey(null=True, on_delete=models.SET_NULL, related_name="+", to=settings.AUTH_USER_MODEL)),
                ("repository", models.ForeignKey(on_delete=models.CASCADE, related_name="tags", to="oci.repository")),
            ],
            options={
                "indexes": [models.Index(fields=["moved_at"], name="oci_tags_by_day")],
                "constraints": [models.UniqueConstraint(fields=("repository", "name"), name="oci_tag_once")],
            },
        ),
        migrations.CreateModel(
            name="UploadSession",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, primary_key=True, serialize=False)),
                ("size", models.BigIntegerField(default=0, help_text="Bytes received; the next chunk begins here.")),
                ("lease", models.UUIDField(blank=True, help_text="The request that is sending bytes now.", null=True)),
                ("lease_until", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("expires_at", models.DateTimeField()),
                ("repository", models.ForeignKey(on_delete=models.CASCADE, related_name="uploads", to="oci.repository")),
                ("token", models.ForeignKey(null=True, on_delete=models.SET_NULL, related_name="+", to="accounts.apitoken")),
                ("user", models.ForeignKey(on_delete=models.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["expires_at"], name="oci_uploads_by_end"),
                    models.Index(fields=["created_at"], name="oci_uploads_by_day"),
                ],
            },
        ),
        migrations.CreateModel(
            name="UploadChunk",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("start", models.BigIntegerField()),
                ("size", models.BigIntegerField()),
                ("staging_key", models.CharField(max_length=100)),
                ("sha256", models.CharField(max_length=64)),
                ("sha512", models.CharField(max_length=128)),
                ("session", models.ForeignKey(on_delete=models.CASCADE, related_name="chunks", to="oci.uploadsession")),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("session", "start"), name="oci_chunk_once")],
            },
        ),
        migrations.CreateModel(
            name="ManifestChild",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("digest", models.CharField(db_index=True, max_length=135)),
                ("manifest", models.ForeignKey(on_delete=models.CASCADE, related_name="children", to="oci.manifest")),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("manifest", "digest"), name="oci_child_once")],
            },
        ),
    ]
