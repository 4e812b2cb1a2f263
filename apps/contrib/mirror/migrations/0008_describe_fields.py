import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """Help texts in plain English. The database does not change."""

    dependencies = [
        ('upstream', '0007_docs'),
    ]

    operations = [
        migrations.AlterField(
            model_name='alarm',
            name='found',
            field=models.JSONField(default=dict, help_text='The same fields, as the registry states them now.'),
        ),
        migrations.AlterField(
            model_name='keypin',
            name='source',
            field=models.CharField(blank=True, help_text='Source that the registry states for the key.', max_length=200),
        ),
        migrations.AlterField(
            model_name='lockrun',
            name='own',
            field=models.JSONField(blank=True, default=list, help_text='Hashes of providers published here that the requester can see.'),
        ),
        migrations.AlterField(
            model_name='lockrun',
            name='planned',
            field=models.PositiveIntegerField(default=0, help_text='Number of packages.'),
        ),
        migrations.AlterField(
            model_name='lockrun',
            name='tries',
            field=models.PositiveIntegerField(default=0, help_text='Incremented when the run ends. Requests wait for it.'),
        ),
        migrations.AlterField(
            model_name='packagedocs',
            name='pages',
            field=models.PositiveIntegerField(help_text='Number of pages. 0: none that Larder can read.'),
        ),
        migrations.AlterField(
            model_name='packagedocs',
            name='reader',
            field=models.CharField(help_text='Version of the rules that read the package.', max_length=20),
        ),
        migrations.AlterField(
            model_name='packagedocs',
            name='size',
            field=models.PositiveBigIntegerField(help_text='Size of all pages in bytes. Counts towards the quota.'),
        ),
        migrations.AlterField(
            model_name='policyexception',
            name='upstream',
            field=models.ForeignKey(help_text='Repository of the module.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='module_exceptions', to='upstream.upstream'),
        ),
        migrations.AlterField(
            model_name='policyrule',
            name='days',
            field=models.PositiveIntegerField(default=0, help_text='Days of a cool-down.'),
        ),
        migrations.AlterField(
            model_name='policyrule',
            name='pattern',
            field=models.CharField(help_text='Addresses such as hashicorp/*, */random or *.', max_length=130),
        ),
        migrations.AlterField(
            model_name='policyrule',
            name='platforms',
            field=models.JSONField(blank=True, default=list, help_text='Platforms such as linux_amd64. Empty: all.'),
        ),
        migrations.AlterField(
            model_name='policyrule',
            name='versions',
            field=models.CharField(blank=True, help_text='Range such as >= 5.0, < 6.0. Empty: all versions.', max_length=200),
        ),
        migrations.AlterField(
            model_name='schedule',
            name='request',
            field=models.JSONField(help_text='Same meaning as on a run.'),
        ),
        migrations.AlterField(
            model_name='syncrun',
            name='done',
            field=models.PositiveIntegerField(default=0, help_text='Number of packages done. A stopped run continues here.'),
        ),
        migrations.AlterField(
            model_name='syncrun',
            name='plan',
            field=models.JSONField(blank=True, default=list, help_text='Packages that would be fetched, one entry each.'),
        ),
        migrations.AlterField(
            model_name='syncrun',
            name='planned',
            field=models.PositiveIntegerField(default=0, help_text='Number of packages.'),
        ),
        migrations.AlterField(
            model_name='upstream',
            name='ca',
            field=models.TextField(blank=True, help_text="PEM certificates to trust in addition to the system's."),
        ),
        migrations.AlterField(
            model_name='upstream',
            name='cooldown_days',
            field=models.PositiveIntegerField(default=3, help_text='Hide versions younger than this, unless a rule says otherwise.'),
        ),
        migrations.AlterField(
            model_name='upstream',
            name='evict_days',
            field=models.PositiveIntegerField(default=0, help_text='Delete packages that clients have not fetched for this long. 0: never.'),
        ),
        migrations.AlterField(
            model_name='upstream',
            name='failure',
            field=models.JSONField(blank=True, default=dict, help_text='Last failure: url, status, rule and message.'),
        ),
        migrations.AlterField(
            model_name='upstream',
            name='failures',
            field=models.PositiveIntegerField(default=0, help_text='Number of consecutive failures.'),
        ),
        migrations.AlterField(
            model_name='upstream',
            name='host',
            field=models.CharField(help_text='Host name as in provider addresses, normalised.', max_length=255, unique=True),
        ),
        migrations.AlterField(
            model_name='upstream',
            name='is_sealed',
            field=models.BooleanField(default=False, help_text='Offline mode: packages are fetched only by syncs, never on demand.'),
        ),
        migrations.AlterField(
            model_name='upstream',
            name='list_seconds',
            field=models.PositiveIntegerField(default=600, help_text='How long a list is cached.'),
        ),
        migrations.AlterField(
            model_name='upstream',
            name='open_until',
            field=models.DateTimeField(blank=True, help_text='The registry is not contacted until then, because it kept failing.', null=True),
        ),
        migrations.AlterField(
            model_name='upstream',
            name='stale_hours',
            field=models.PositiveIntegerField(default=168, help_text='How long cached lists are served while the registry is down.'),
        ),
        migrations.AlterField(
            model_name='upstream',
            name='terraform_only',
            field=models.BooleanField(default=False, help_text="Serve Terraform clients only, as the registry's terms require."),
        ),
        migrations.AlterField(
            model_name='upstream',
            name='url',
            field=models.CharField(blank=True, help_text='URL of its discovery document. Empty: https:// and the host.', max_length=500),
        ),
        migrations.AlterField(
            model_name='upstreampackage',
            name='digest',
            field=models.CharField(help_text='SHA-256 from the signed sums, also written as zh:.', max_length=64),
        ),
        migrations.AlterField(
            model_name='upstreampackage',
            name='failure',
            field=models.JSONField(blank=True, default=dict, help_text='Same meaning as on the provider.'),
        ),
        migrations.AlterField(
            model_name='upstreampackage',
            name='h1',
            field=models.CharField(blank=True, help_text='h1: hash of the unpacked files.', max_length=50),
        ),
        migrations.AlterField(
            model_name='upstreampackage',
            name='size',
            field=models.BigIntegerField(blank=True, help_text='Size in bytes, as the registry states it until the package is stored.', null=True),
        ),
        migrations.AlterField(
            model_name='upstreamprovider',
            name='failure',
            field=models.JSONField(blank=True, default=dict, help_text='Last failure: code, url, status, rule and message.'),
        ),
        migrations.AlterField(
            model_name='upstreamprovider',
            name='retry_at',
            field=models.DateTimeField(blank=True, help_text='Not contacted again before this time.', null=True),
        ),
        migrations.AlterField(
            model_name='upstreamprovider',
            name='skipped',
            field=models.PositiveIntegerField(default=0, help_text='List entries that Larder cannot use.'),
        ),
        migrations.AlterField(
            model_name='upstreamprovider',
            name='tries',
            field=models.PositiveIntegerField(default=0, help_text='Incremented when an attempt ends. Requests wait for it.'),
        ),
        migrations.AlterField(
            model_name='upstreamversion',
            name='absence',
            field=models.CharField(blank=True, choices=[('', 'Not decided'), ('kept', 'Served on'), ('gone', 'Removed')], db_default='', default='', help_text='When a version that is no longer listed disappeared.', max_length=4),
        ),
        migrations.AlterField(
            model_name='upstreamversion',
            name='failure',
            field=models.JSONField(blank=True, default=dict, help_text='Same meaning as on the provider.'),
        ),
        migrations.AlterField(
            model_name='upstreamversion',
            name='index_digest',
            field=models.CharField(blank=True, db_index=True, help_text='Digest of its OCI index.', max_length=71),
        ),
        migrations.AlterField(
            model_name='upstreamversion',
            name='is_listed',
            field=models.BooleanField(default=True, help_text='Cleared if the registry no longer lists it.'),
        ),
        migrations.AlterField(
            model_name='upstreamversion',
            name='platforms',
            field=models.JSONField(default=list, help_text='Platforms as listed, each as [os, arch].'),
        ),
        migrations.AlterField(
            model_name='upstreamversion',
            name='sums',
            field=models.BinaryField(default=bytes, help_text='SHA256SUMS as it was signed.'),
        ),
        migrations.AlterField(
            model_name='upstreamversion',
            name='was_in_first_list',
            field=models.BooleanField(default=False, help_text='Older than the highest version. Counts as old without a date.'),
        ),
    ]
