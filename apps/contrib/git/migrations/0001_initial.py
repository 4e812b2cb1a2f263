import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0023_approve'),
        ('releases', '0008_from_git'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='GitRepository',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('url', models.CharField(help_text='https or ssh, without credentials.', max_length=500)),
                ('forge', models.CharField(choices=[('github', 'GitHub'), ('gitlab', 'GitLab'), ('gitea', 'Gitea or Forgejo'), ('bitbucket', 'Bitbucket'), ('azure', 'Azure DevOps'), ('git', 'Another Git server'), ('registry', 'A module of another registry')], default='git', max_length=9)),
                ('credential', models.CharField(choices=[('none', 'None: the repository is public'), ('app', 'Installation of a GitHub App'), ('deploy_key', 'Deploy key'), ('token', 'Access token')], default='none', max_length=10)),
                ('credential_facts', models.JSONField(default=dict, help_text="Nothing secret: a user name, an app's ids, a public key, when it expires.")),
                ('sealed_credential', models.TextField(blank=True, help_text='Encrypted, see accounts.identity.sealing.')),
                ('host_keys', models.JSONField(default=list, help_text='Of ssh: keys that were pinned, as in known_hosts.')),
                ('hook_id', models.CharField(help_text='In the URL of its webhook.', max_length=43, unique=True)),
                ('sealed_hook_secret', models.TextField(help_text='Encrypted, see accounts.identity.sealing.')),
                ('hooked_at', models.DateTimeField(help_text='When its last valid webhook came.', null=True)),
                ('poll_minutes', models.PositiveIntegerField(default=15)),
                ('allow_submodules', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField(auto_now_add=True, db_index=True)),
                ('started_at', models.DateTimeField(help_text='From then on tags are published; before, it is a draft.', null=True)),
                ('ended_at', models.DateTimeField(null=True)),
                ('selected', models.JSONField(help_text='The tags to publish of those that the first listing finds; null: all that fit a rule.', null=True)),
                ('fetched_at', models.DateTimeField(help_text='When its tags were last listed with success.', null=True)),
                ('next_at', models.DateTimeField(help_text='When it is polled.', null=True)),
                ('failed_at', models.DateTimeField(help_text='Of the last run, if that failed.', null=True)),
                ('failures', models.PositiveIntegerField(default=0, help_text='Runs that failed in a row.')),
                ('failure_code', models.CharField(blank=True, max_length=40)),
                ('failure', models.CharField(blank=True, max_length=1000)),
                ('log', models.TextField(blank=True, help_text='Of the last run, a line for each step.')),
                ('preview', models.JSONField(default=dict)),
                ('previewed_at', models.DateTimeField(null=True)),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('created_by_token', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='accounts.apitoken')),
                ('namespace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='git_repositories', to='accounts.namespace')),
                ('user', models.OneToOneField(help_text='A machine that publishes its releases.', on_delete=django.db.models.deletion.PROTECT, related_name='git_repository', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name_plural': 'repositories',
            },
        ),
        migrations.CreateModel(
            name='Delivery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.CharField(help_text="Of the vendor's number of the delivery, and of its body.", max_length=64)),
                ('at', models.DateTimeField(db_index=True)),
                ('repository', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='sources.gitrepository')),
            ],
            options={
                'verbose_name_plural': 'deliveries',
            },
        ),
        migrations.CreateModel(
            name='Rule',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveIntegerField()),
                ('tag', models.CharField(help_text='Such as v{version} or {name}-{version}.', max_length=200)),
                ('folder', models.CharField(blank=True, help_text='Empty: all of the repository.', max_length=200)),
                ('module', models.CharField(help_text='name/system; {name} is that of the tag.', max_length=130)),
                ('repository', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='rules', to='sources.gitrepository')),
            ],
        ),
        migrations.CreateModel(
            name='Tag',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(help_text='Without refs/tags/; bytes that are not UTF-8 as \\x...', max_length=300)),
                ('module', models.CharField(blank=True, help_text='name/system; empty: it fits no rule.', max_length=130)),
                ('folder', models.CharField(blank=True, max_length=200)),
                ('version', models.CharField(blank=True, max_length=128)),
                ('sort_key', models.BinaryField(default=b'', help_text='Of the version, as releases have it.', max_length=600)),
                ('commit', models.CharField(max_length=64)),
                ('tag_object', models.CharField(blank=True, help_text='Of an annotated tag.', max_length=64)),
                ('verdict', models.CharField(choices=[('waiting', 'Waiting'), ('published', 'Published'), ('ignored', 'Ignored'), ('refused', 'Refused'), ('held', 'Held'), ('moved', 'Moved'), ('gone', 'Deleted')], default='waiting', max_length=9)),
                ('code', models.CharField(blank=True, help_text='Of the reason.', max_length=40)),
                ('reason', models.CharField(blank=True, max_length=1000)),
                ('published_commit', models.CharField(blank=True, help_text='From which the release was made.', max_length=64)),
                ('tries', models.PositiveIntegerField(default=0, help_text='Fetches that failed, and may succeed later.')),
                ('seen_at', models.DateTimeField(help_text='When it was first found.')),
                ('known_since', models.DateTimeField(help_text='Of a version of another registry: from when its age counts; null: it is old.', null=True)),
                ('changed_at', models.DateTimeField(help_text='When its verdict or commit last changed.')),
                ('release', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='releases.release')),
                ('repository', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tags', to='sources.gitrepository')),
            ],
        ),
        migrations.AddIndex(
            model_name='gitrepository',
            index=models.Index(condition=models.Q(('ended_at', None)), fields=['next_at'], name='sources_due'),
        ),
        migrations.AddConstraint(
            model_name='gitrepository',
            constraint=models.UniqueConstraint(condition=models.Q(('ended_at', None)), fields=('namespace', 'url'), name='sources_repository_once'),
        ),
        migrations.AddConstraint(
            model_name='delivery',
            constraint=models.UniqueConstraint(fields=('repository', 'digest'), name='sources_delivery_once'),
        ),
        migrations.AddConstraint(
            model_name='rule',
            constraint=models.UniqueConstraint(fields=('repository', 'position'), name='sources_rule_position_once'),
        ),
        migrations.AddIndex(
            model_name='tag',
            index=models.Index(fields=['repository', 'verdict'], name='sources_tags_by_verdict'),
        ),
        migrations.AddIndex(
            model_name='tag',
            index=models.Index(fields=['name'], name='sources_tags_by_name'),
        ),
        migrations.AddConstraint(
            model_name='tag',
            constraint=models.UniqueConstraint(fields=('repository', 'name', 'module'), name='sources_tag_once'),
        ),
    ]
