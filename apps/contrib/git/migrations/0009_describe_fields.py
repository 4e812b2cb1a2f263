import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """Help texts in plain English. The database does not change."""

    dependencies = [
        ('sources', '0008_submodules'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterField(
            model_name='delivery',
            name='digest',
            field=models.CharField(help_text="Digest of the vendor's delivery id and the body.", max_length=64),
        ),
        migrations.AlterField(
            model_name='gitrepository',
            name='credential_facts',
            field=models.JSONField(default=dict, help_text='Facts that are not secret: user name, app ids, public key, expiry.'),
        ),
        migrations.AlterField(
            model_name='gitrepository',
            name='failed_at',
            field=models.DateTimeField(help_text='When the last run failed, if it did.', null=True),
        ),
        migrations.AlterField(
            model_name='gitrepository',
            name='failing_since',
            field=models.DateTimeField(help_text='When the first of the consecutive failures happened.', null=True),
        ),
        migrations.AlterField(
            model_name='gitrepository',
            name='failures',
            field=models.PositiveIntegerField(default=0, help_text='Number of consecutive failures.'),
        ),
        migrations.AlterField(
            model_name='gitrepository',
            name='fetched_at',
            field=models.DateTimeField(help_text='When its tags were last listed successfully.', null=True),
        ),
        migrations.AlterField(
            model_name='gitrepository',
            name='hook_id',
            field=models.CharField(help_text='Part of the URL of its webhook.', max_length=43, unique=True),
        ),
        migrations.AlterField(
            model_name='gitrepository',
            name='hooked_at',
            field=models.DateTimeField(help_text='When the last valid webhook arrived.', null=True),
        ),
        migrations.AlterField(
            model_name='gitrepository',
            name='host_keys',
            field=models.JSONField(default=list, help_text='Pinned ssh host keys, as in known_hosts.'),
        ),
        migrations.AlterField(
            model_name='gitrepository',
            name='host_scan',
            field=models.JSONField(help_text='Result of the last scan of the ssh host. null: not scanned yet.', null=True),
        ),
        migrations.AlterField(
            model_name='gitrepository',
            name='host_scanned_at',
            field=models.DateTimeField(help_text='When the ssh host was last scanned.', null=True),
        ),
        migrations.AlterField(
            model_name='gitrepository',
            name='log',
            field=models.TextField(blank=True, help_text='Log of the last run, one line for each step.'),
        ),
        migrations.AlterField(
            model_name='gitrepository',
            name='next_at',
            field=models.DateTimeField(help_text='When it is polled next.', null=True),
        ),
        migrations.AlterField(
            model_name='gitrepository',
            name='notified_until',
            field=models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), help_text='Owners have not been notified of tags that were refused since.'),
        ),
        migrations.AlterField(
            model_name='gitrepository',
            name='selected',
            field=models.JSONField(help_text='Tags of the first listing to publish. null: all that match a rule.', null=True),
        ),
        migrations.AlterField(
            model_name='gitrepository',
            name='started_at',
            field=models.DateTimeField(help_text='When publishing of tags started. Empty: a draft.', null=True),
        ),
        migrations.AlterField(
            model_name='gitrepository',
            name='url',
            field=models.CharField(help_text='An https or ssh URL without credentials.', max_length=500),
        ),
        migrations.AlterField(
            model_name='gitrepository',
            name='user',
            field=models.OneToOneField(help_text='The machine account that publishes its releases.', on_delete=django.db.models.deletion.PROTECT, related_name='git_repository', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AlterField(
            model_name='request',
            name='tag',
            field=models.ForeignKey(help_text='Empty for a listing.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='requests', to='sources.tag'),
        ),
        migrations.AlterField(
            model_name='rule',
            name='folder',
            field=models.CharField(blank=True, help_text='Empty for the whole repository.', max_length=200),
        ),
        migrations.AlterField(
            model_name='rule',
            name='module',
            field=models.CharField(help_text='name/system. {name} is taken from the tag.', max_length=130),
        ),
        migrations.AlterField(
            model_name='tag',
            name='code',
            field=models.CharField(blank=True, help_text='Code of the reason.', max_length=40),
        ),
        migrations.AlterField(
            model_name='tag',
            name='known_since',
            field=models.DateTimeField(help_text='For a version of another registry: start of its age. null: old.', null=True),
        ),
        migrations.AlterField(
            model_name='tag',
            name='module',
            field=models.CharField(blank=True, help_text='name/system. Empty: no rule matches.', max_length=130),
        ),
        migrations.AlterField(
            model_name='tag',
            name='name',
            field=models.CharField(help_text='Without refs/tags/. Bytes that are not UTF-8 are written as \\x….', max_length=300),
        ),
        migrations.AlterField(
            model_name='tag',
            name='published_commit',
            field=models.CharField(blank=True, help_text='Commit that the release was made from.', max_length=64),
        ),
        migrations.AlterField(
            model_name='tag',
            name='seen_at',
            field=models.DateTimeField(help_text='When the tag was first seen.'),
        ),
        migrations.AlterField(
            model_name='tag',
            name='sort_key',
            field=models.BinaryField(default=b'', help_text='Sort key of the version, as in releases.', max_length=600),
        ),
        migrations.AlterField(
            model_name='tag',
            name='tag_object',
            field=models.CharField(blank=True, help_text='Tag object of an annotated tag.', max_length=64),
        ),
        migrations.AlterField(
            model_name='tag',
            name='tries',
            field=models.PositiveIntegerField(default=0, help_text='Number of failed fetches that will be retried.'),
        ),
    ]
