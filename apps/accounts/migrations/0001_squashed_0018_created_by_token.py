import django.contrib.auth.models
import django.contrib.auth.validators
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("accounts", "0001_initial"), ("accounts", "0002_token_is_limited"), ("accounts", "0003_teams_and_quotas"),
        ("accounts", "0004_hashed_sessions"), ("accounts", "0005_epoch"), ("accounts", "0006_namespace_deletion"), ("accounts", "0007_staff_roles"),
        ("accounts", "0008_letters_of_names"), ("accounts", "0009_plain_words"), ("accounts", "0010_login_codes"), ("accounts", "0011_token_use"),
        ("accounts", "0012_sign_on"), ("accounts", "0013_service_accounts"), ("accounts", "0014_leaks"), ("accounts", "0015_breaking_changes"),
        ("accounts", "0016_names_that_stay_taken"), ("accounts", "0017_fill_names_that_stay_taken"), ("accounts", "0018_created_by_token"),
    ]

    dependencies = [("auth", "0012_alter_user_first_name_max_length")]

    operations = [
        migrations.CreateModel(
            name="Epoch",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.BigIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name="DeletedTeam",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=63, unique=True)),
                ("deleted_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="User",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("password", models.CharField(max_length=128, verbose_name="password")),
                ("last_login", models.DateTimeField(blank=True, null=True, verbose_name="last login")),
                ("is_superuser", models.BooleanField(default=False, help_text="Designates that this user has all permissions without explicitly assigning them.", verbose_name="superuser status")),
                (
                    "username",
                    models.CharField(error_messages={"unique": "A user with that username already exists."}, help_text="Required. 150 characters or fewer. Letters, digits and @/./+/-/_ only.", max_length=150, unique=True, validators=[django.contrib.auth.validators.UnicodeUsernameValidator()], verbose_name="username"),
                ),
                ("first_name", models.CharField(blank=True, max_length=150, verbose_name="first name")),
                ("last_name", models.CharField(blank=True, max_length=150, verbose_name="last name")),
                ("email", models.EmailField(blank=True, max_length=254, verbose_name="email address")),
                ("is_staff", models.BooleanField(default=False, help_text="Designates whether the user can log into this admin site.", verbose_name="staff status")),
                ("is_active", models.BooleanField(default=True, help_text="Designates whether this user should be treated as active. Unselect this instead of deleting accounts.", verbose_name="active")),
                ("date_joined", models.DateTimeField(default=django.utils.timezone.now, verbose_name="date joined")),
                ("groups", models.ManyToManyField(blank=True, help_text="The groups this user belongs to. A user will get all permissions granted to each of their groups.", related_name="user_set", related_query_name="user", to="auth.group", verbose_name="groups")),
                ("user_permissions", models.ManyToManyField(blank=True, help_text="Specific permissions for this user.", related_name="user_set", related_query_name="user", to="auth.permission", verbose_name="user permissions")),
                ("is_service", models.BooleanField(db_default=False, default=False, editable=False)),
            ],
            options={
                "verbose_name": "user",
                "verbose_name_plural": "users",
            },
            managers=[
                ("objects", django.contrib.auth.models.UserManager()),
            ],
        ),
        migrations.CreateModel(
            name="Namespace",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=64, unique=True)),
                ("canonical", models.CharField(editable=False, help_text="The name in lower case, with - for _ (D10).", max_length=64, unique=True)),
                ("description", models.CharField(blank=True, max_length=200)),
                ("visibility", models.CharField(choices=[("public", "Public: anyone, signed in or not"), ("internal", "Internal: everyone who is signed in"), ("private", "Private: its members")], default="private", max_length=8)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("created_by", models.ForeignKey(null=True, on_delete=models.SET_NULL, related_name="+", to=settings.AUTH_USER_MODEL)),
                ("quota_bytes", models.BigIntegerField(blank=True, help_text="Empty: the registry's default.", null=True)),
                ("quota_versions", models.PositiveIntegerField(blank=True, help_text="Empty: the registry's default.", null=True)),
                ("deleted_at", models.DateTimeField(blank=True, editable=False, null=True)),
                ("former_owners", models.JSONField(blank=True, editable=False, help_text="The numbers of users and teams, once it is deleted.", null=True)),
                (
                    "breaking_changes",
                    models.CharField(
                        choices=[("silent", "Silent: say nothing"), ("warn", "Warn: say so on the release's page"), ("ask", "Ask: hold the release until its publisher gives a reason"), ("refuse", "Refuse: publish it only under a number that says so")],
                        db_default="warn",
                        default="warn",
                        help_text="Of a version whose number does not say that something breaks.",
                        max_length=6,
                    ),
                ),
                ("skeleton", models.CharField(blank=True, db_default="", default="", editable=False, max_length=64)),
            ],
            options={
                "permissions": [("operate_namespace", "Can act as owner in every namespace")],
                "indexes": [
                    models.Index(fields=["created_at"], name="accounts_namespaces_by_day"),
                    models.Index(fields=["skeleton"], name="accounts_namespaces_by_look"),
                ],
                "constraints": [models.CheckConstraint(condition=models.Q(visibility__in=["public", "internal", "private"]), name="accounts_visibility_known")],
            },
        ),
        migrations.CreateModel(
            name="ApiToken",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("label", models.CharField(help_text="Its purpose.", max_length=80)),
                ("start", models.CharField(help_text="Its first characters, to recognise it.", max_length=16)),
                ("digest", models.CharField(max_length=64, unique=True)),
                ("scope", models.CharField(choices=[("read", "read: find and download"), ("publish", "publish: read, and publish releases"), ("manage", "manage: publish, and change namespaces")], max_length=8)),
                ("only_name", models.CharField(blank=True, help_text="Publish only this, such as vpc/aws.", max_length=130)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("expires_at", models.DateTimeField()),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                ("last_used_at", models.DateTimeField(blank=True, null=True)),
                ("user", models.ForeignKey(on_delete=models.CASCADE, related_name="api_tokens", to=settings.AUTH_USER_MODEL)),
                ("namespaces", models.ManyToManyField(blank=True, to="accounts.namespace")),
                ("is_limited", models.BooleanField(default=False, help_text="Limited to the listed namespaces; otherwise to all of the person's.")),
                ("suspended_at", models.DateTimeField(blank=True, help_text="Since an older database was restored. Refused until an operator decides.", null=True)),
                ("machine", models.CharField(blank=True, db_default="", default="", editable=False, help_text="For `tofu login`: a digest of where.", max_length=64)),
                ("last_used_by", models.CharField(blank=True, db_default="", default="", help_text="The client.", max_length=60)),
                ("last_used_from", models.CharField(blank=True, db_default="", default="", help_text="Its address.", max_length=45)),
                ("leaked_at", models.DateTimeField(blank=True, help_text="Since someone reported where they found it.", null=True)),
                ("leaked_url", models.CharField(blank=True, db_default="", default="", help_text="Where.", max_length=300)),
                ("created_by_token", models.ForeignKey(editable=False, null=True, on_delete=models.SET_NULL, related_name="+", to="accounts.apitoken")),
                ("manages_people", models.BooleanField(db_default=True, default=True, editable=False)),
            ],
            options={
                "permissions": [("revoke_apitoken", "Can revoke an API token")],
                "indexes": [models.Index(fields=["created_at"], name="accounts_tokens_by_day")],
                "constraints": [models.CheckConstraint(condition=models.Q(scope__in=["read", "publish", "manage"]), name="accounts_scope_known")],
            },
        ),
        migrations.CreateModel(
            name="Invitation",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("digest", models.CharField(help_text="SHA-256 of the secret in the link.", max_length=64, unique=True)),
                ("note", models.CharField(blank=True, help_text="The person it is for.", max_length=120)),
                ("role", models.PositiveSmallIntegerField(blank=True, choices=[(1, "Reader"), (2, "Publisher"), (3, "Owner")], null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("expires_at", models.DateTimeField()),
                ("used_at", models.DateTimeField(blank=True, null=True)),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                ("created_by", models.ForeignKey(null=True, on_delete=models.SET_NULL, related_name="+", to=settings.AUTH_USER_MODEL)),
                ("used_by", models.ForeignKey(blank=True, null=True, on_delete=models.SET_NULL, related_name="+", to=settings.AUTH_USER_MODEL)),
                ("namespace", models.ForeignKey(blank=True, null=True, on_delete=models.CASCADE, to="accounts.namespace")),
                ("created_by_token", models.ForeignKey(editable=False, null=True, on_delete=models.SET_NULL, related_name="+", to="accounts.apitoken")),
            ],
            options={
                "indexes": [models.Index(fields=["created_at"], name="accounts_invites_by_day")],
                "constraints": [models.CheckConstraint(condition=models.Q(namespace=None, role=None) | models.Q(namespace__isnull=False, role__isnull=False), name="accounts_invitation_role_with_namespace")],
            },
        ),
        migrations.CreateModel(
            name="Team",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=63, unique=True)),
                ("description", models.CharField(blank=True, max_length=200)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("created_by", models.ForeignKey(null=True, on_delete=models.SET_NULL, related_name="+", to=settings.AUTH_USER_MODEL)),
            ],
            options={
                "indexes": [models.Index(fields=["created_at"], name="accounts_teams_by_day")],
            },
        ),
        migrations.CreateModel(
            name="Grant",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("role", models.PositiveSmallIntegerField(choices=[(1, "Reader"), (2, "Publisher"), (3, "Owner")])),
                ("given_at", models.DateTimeField(auto_now_add=True)),
                ("given_by", models.ForeignKey(null=True, on_delete=models.SET_NULL, related_name="+", to=settings.AUTH_USER_MODEL)),
                ("user", models.ForeignKey(blank=True, null=True, on_delete=models.CASCADE, related_name="grants", to=settings.AUTH_USER_MODEL)),
                ("namespace", models.ForeignKey(on_delete=models.CASCADE, related_name="grants", to="accounts.namespace")),
                ("team", models.ForeignKey(blank=True, null=True, on_delete=models.CASCADE, related_name="grants", to="accounts.team")),
                ("created_by_token", models.ForeignKey(editable=False, null=True, on_delete=models.SET_NULL, related_name="+", to="accounts.apitoken")),
            ],
            options={
                "indexes": [models.Index(fields=["given_at"], name="accounts_grants_by_day")],
                "constraints": [
                    models.UniqueConstraint(fields=("namespace", "user"), name="accounts_one_grant_each"),
                    models.CheckConstraint(condition=models.Q(role__in=[1, 2, 3]), name="accounts_role_known"),
                    models.UniqueConstraint(fields=("namespace", "team"), name="accounts_one_grant_a_team"),
                    models.CheckConstraint(condition=models.Q(team__isnull=False, user=None) | models.Q(team=None, user__isnull=False), name="accounts_grant_has_one_holder"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Membership",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("is_manager", models.BooleanField(default=False)),
                ("added_at", models.DateTimeField(auto_now_add=True)),
                ("added_by", models.ForeignKey(null=True, on_delete=models.SET_NULL, related_name="+", to=settings.AUTH_USER_MODEL)),
                ("user", models.ForeignKey(on_delete=models.CASCADE, related_name="memberships", to=settings.AUTH_USER_MODEL)),
                ("team", models.ForeignKey(on_delete=models.CASCADE, related_name="memberships", to="accounts.team")),
                ("created_by_token", models.ForeignKey(editable=False, null=True, on_delete=models.SET_NULL, related_name="+", to="accounts.apitoken")),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("team", "user"), name="accounts_one_membership_each")],
            },
        ),
        migrations.CreateModel(
            name="LoginCode",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("digest", models.CharField(max_length=64, unique=True)),
                ("session", models.CharField(help_text="The digest of the session in which it was allowed.", max_length=40)),
                ("redirect_uri", models.CharField(max_length=100)),
                ("challenge", models.CharField(max_length=43)),
                ("machine", models.CharField(help_text="What the person calls the computer.", max_length=40)),
                ("browser", models.CharField(help_text="The digest of a cookie.", max_length=64)),
                ("address", models.CharField(blank=True, max_length=45)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("expires_at", models.DateTimeField(db_index=True)),
                ("used_at", models.DateTimeField(null=True)),
                ("token", models.ForeignKey(null=True, on_delete=models.SET_NULL, related_name="+", to="accounts.apitoken")),
                ("user", models.ForeignKey(on_delete=models.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name="GroupAssignment",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("issuer", models.CharField(max_length=200)),
                ("staff_role", models.CharField(blank=True, choices=[("Operator", "Operator"), ("Auditor", "Auditor")], max_length=20)),
                ("made_staff", models.BooleanField(default=False, help_text="The person was not staff before.")),
                ("team", models.ForeignKey(null=True, on_delete=models.CASCADE, related_name="+", to="accounts.team")),
                ("user", models.ForeignKey(on_delete=models.CASCADE, related_name="group_assignments", to=settings.AUTH_USER_MODEL)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("user", "issuer", "team"), name="accounts_one_assignment_a_team"),
                    models.UniqueConstraint(condition=models.Q(team=None), fields=("user", "issuer"), name="accounts_one_staff_assignment"),
                ],
            },
        ),
        migrations.CreateModel(
            name="GroupMapping",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("issuer", models.CharField(max_length=200)),
                ("group", models.CharField(help_text="As the provider's groups claim names it, in the same letters.", max_length=200)),
                ("staff_role", models.CharField(blank=True, choices=[("Operator", "Operator"), ("Auditor", "Auditor")], max_length=20)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("created_by", models.ForeignKey(null=True, on_delete=models.SET_NULL, related_name="+", to=settings.AUTH_USER_MODEL)),
                ("team", models.ForeignKey(blank=True, null=True, on_delete=models.CASCADE, related_name="+", to="accounts.team")),
            ],
            options={
                "indexes": [models.Index(fields=["created_at"], name="accounts_mappings_by_day")],
                "constraints": [
                    models.UniqueConstraint(fields=("issuer", "group", "team"), name="accounts_one_mapping_a_team"),
                    models.UniqueConstraint(condition=models.Q(team=None), fields=("issuer", "group"), name="accounts_one_staff_mapping_a_group"),
                    models.CheckConstraint(condition=models.Q(staff_role__in=["Operator", "Auditor"], team=None) | models.Q(staff_role="", team__isnull=False), name="accounts_mapping_gives_one_thing"),
                ],
            },
        ),
        # Teams and tokens refer to users, and users to both.
        migrations.AddField("User", "service_of", models.ForeignKey(blank=True, editable=False, null=True, on_delete=models.SET_NULL, related_name="service_accounts", to="accounts.team")),
        migrations.AddField("User", "created_by_token", models.ForeignKey(editable=False, null=True, on_delete=models.SET_NULL, related_name="+", to="accounts.apitoken")),
        migrations.AddField("User", "may_manage", models.BooleanField(db_default=False, default=False, editable=False)),
    ]
