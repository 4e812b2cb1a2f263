from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("modules", "0001_initial"), ("modules", "0002_inspection"), ("modules", "0010_manifests"), ("modules", "0011_letters_of_names"),
        ("modules", "0012_readmes"), ("modules", "0013_plain_words"), ("modules", "0014_searched_by_index"),
        ("modules", "0015_provider_requirements"), ("modules", "0016_fill_provider_requirements"), ("modules", "0017_health"),
    ]

    dependencies = [("accounts", "0001_squashed_0018_created_by_token"), ("releases", "0001_squashed_0014_breaking_reason")]

    operations = [
        migrations.CreateModel(
            name="Module",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=64)),
                ("system", models.CharField(max_length=64)),
                ("canonical", models.CharField(editable=False, help_text="name/system in lower case, with - for _ (D10).", max_length=130)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("namespace", models.ForeignKey(on_delete=models.PROTECT, related_name="modules", to="accounts.namespace")),
                ("description", models.CharField(blank=True, help_text="Empty: the first words of the README.", max_length=300)),
                ("source_url", models.CharField(blank=True, help_text="The repository, for people and update bots.", max_length=300)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["namespace", "name", "system"], name="modules_by_address"),
                    models.Index(fields=["created_at"], name="modules_by_day"),
                    models.Index(fields=["name"], name="modules_by_name", opclasses=["varchar_pattern_ops"]),
                    models.Index(fields=["system"], name="modules_by_system"),
                ],
                "constraints": [models.UniqueConstraint(fields=("namespace", "canonical"), name="modules_address_once")],
            },
        ),
        migrations.CreateModel(
            name="ModuleVersion",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("is_prerelease", models.BooleanField()),
                ("readme_html", models.TextField(blank=True)),
                ("readme_renderer", models.CharField(blank=True, help_text="The renderer's version; render again when it grows.", max_length=20)),
                ("files", models.JSONField(default=list, help_text="[{name, size, at, packed, method}]: the position of each file in the zip.")),
                ("module", models.ForeignKey(on_delete=models.PROTECT, related_name="versions", to="modules.module")),
                ("release", models.OneToOneField(on_delete=models.PROTECT, related_name="module_version", to="releases.release")),
                ("inspection", models.JSONField(default=dict, help_text="{units: [...]}: see modules.inspection")),
                ("inspector", models.CharField(blank=True, help_text="The version of the rules; inspect again when it grows.", max_length=20)),
                ("summary", models.CharField(blank=True, help_text="The first words of the README, as text.", max_length=300)),
                ("manifest_digest", models.CharField(blank=True, help_text="Digest of its OCI manifest; see modules.package_manifest.", max_length=135)),
                ("readmes", models.JSONField(help_text="{folder: Markdown}, with an empty folder for the root. Null: read by an older Larder.", null=True)),
                ("health", models.JSONField(blank=True, help_text="{rules, missing}: see modules.health. Null: not stored.", null=True)),
            ],
            options={
                "permissions": [("reinspect_moduleversion", "Can inspect a version again")],
                "indexes": [
                    models.Index(fields=["module", "is_prerelease"], name="modules_versions_stable"),
                    models.Index(fields=["module", "manifest_digest"], name="modules_by_manifest"),
                    models.Index(fields=["inspector", "readme_renderer"], name="modules_by_inspector"),
                ],
            },
        ),
        migrations.CreateModel(
            name="ModuleCall",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("unit", models.CharField(blank=True, help_text="The folder that contains it. Empty: the root.", max_length=300)),
                ("name", models.CharField(max_length=200)),
                ("source", models.CharField(max_length=500)),
                ("constraint", models.CharField(blank=True, max_length=200)),
                ("target_namespace", models.CharField(blank=True, max_length=64)),
                ("target_name", models.CharField(blank=True, max_length=64)),
                ("target_system", models.CharField(blank=True, max_length=64)),
                ("version", models.ForeignKey(on_delete=models.CASCADE, related_name="calls", to="modules.moduleversion")),
            ],
            options={
                "indexes": [models.Index(fields=["target_namespace", "target_name", "target_system"], name="modules_calls_by_target")],
            },
        ),
        migrations.CreateModel(
            name="ProviderRequirement",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("unit", models.CharField(blank=True, help_text="The folder that says so. Empty: the root.", max_length=300)),
                ("constraint", models.CharField(blank=True, max_length=200)),
                ("target_namespace", models.CharField(help_text="In lower case, with - for _, as clients send it.", max_length=64)),
                ("target_type", models.CharField(max_length=63)),
                ("version", models.ForeignKey(on_delete=models.CASCADE, related_name="provider_requirements", to="modules.moduleversion")),
            ],
            options={
                "indexes": [models.Index(fields=["target_namespace", "target_type"], name="modules_needs_by_target")],
            },
        ),
    ]
