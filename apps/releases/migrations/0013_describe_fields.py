from django.db import migrations, models


class Migration(migrations.Migration):
    """Help texts in plain English. The database does not change."""

    dependencies = [
        ('releases', '0012_pushers'),
    ]

    operations = [
        migrations.AlterField(
            model_name='approval',
            name='digest',
            field=models.CharField(help_text='Digest of the release that is approved.', max_length=64),
        ),
        migrations.AlterField(
            model_name='approval',
            name='has_second_factor',
            field=models.BooleanField(default=False, help_text='The decision was confirmed with a second factor.'),
        ),
        migrations.AlterField(
            model_name='approval',
            name='needs_two',
            field=models.BooleanField(db_default=False, default=False, help_text='Two people must approve it.'),
        ),
        migrations.AlterField(
            model_name='approval',
            name='until',
            field=models.DateTimeField(help_text='When the request expires without a decision.'),
        ),
        migrations.AlterField(
            model_name='downloadcount',
            name='client',
            field=models.CharField(help_text='Such as OpenTofu 1.12.6 or Terraform 1.11.4, or other.', max_length=40),
        ),
        migrations.AlterField(
            model_name='origin',
            name='links',
            field=models.JSONField(blank=True, db_default={}, default=dict, help_text='Links to the facts that Larder fetched from Git.'),
        ),
        migrations.AlterField(
            model_name='origin',
            name='others',
            field=models.JSONField(blank=True, db_default=[], default=list, help_text='Other accounts that sent bytes, with way, token label and facts.'),
        ),
        migrations.AlterField(
            model_name='release',
            name='asks',
            field=models.BooleanField(default=False, help_text='Questions hold the release for an answer instead of rejecting it.'),
        ),
        migrations.AlterField(
            model_name='release',
            name='breaking_reason',
            field=models.CharField(blank=True, db_default='', default='', help_text="Publisher's reason for breaking changes in this version.", max_length=500),
        ),
        migrations.AlterField(
            model_name='release',
            name='cleaned_at',
            field=models.DateTimeField(blank=True, help_text='When a cleanup rule last changed it.', null=True),
        ),
        migrations.AlterField(
            model_name='release',
            name='file_name',
            field=models.CharField(blank=True, help_text="File name on the publisher's computer.", max_length=255),
        ),
        migrations.AlterField(
            model_name='release',
            name='folder',
            field=models.CharField(blank=True, help_text='Folders to publish, one per line. Empty: all.', max_length=4000),
        ),
        migrations.AlterField(
            model_name='release',
            name='lifecycle_replacement',
            field=models.CharField(blank=True, help_text='Version or address to use instead.', max_length=200),
        ),
        migrations.AlterField(
            model_name='release',
            name='questions',
            field=models.JSONField(blank=True, default=list, help_text='Questions and findings, each with the code that confirms it.'),
        ),
        migrations.AlterField(
            model_name='release',
            name='session_digest',
            field=models.CharField(blank=True, db_default='', default='', help_text='Browser session that reserved the version.', max_length=40),
        ),
        migrations.AlterField(
            model_name='release',
            name='signed_at',
            field=models.DateTimeField(blank=True, help_text='When it was signed. Empty for kinds without a signature.', null=True),
        ),
        migrations.AlterField(
            model_name='release',
            name='sort_key',
            field=models.BinaryField(help_text='Sort key: byte order is SemVer precedence.', max_length=600),
        ),
        migrations.AlterField(
            model_name='release',
            name='ticket_digest',
            field=models.CharField(blank=True, db_index=True, help_text='SHA-256 of a ticket that has not been used.', max_length=64),
        ),
        migrations.AlterField(
            model_name='release',
            name='verified_as',
            field=models.CharField(blank=True, help_text='sound, damaged, missing or refused.', max_length=8),
        ),
        migrations.AlterField(
            model_name='release',
            name='visible_at',
            field=models.DateTimeField(blank=True, help_text='Hidden from clients until this time. Empty once they see it.', null=True),
        ),
        migrations.AlterField(
            model_name='releaseblob',
            name='digest',
            field=models.CharField(db_index=True, help_text='SHA-256, 64 hex digits.', max_length=64),
        ),
        migrations.AlterField(
            model_name='releaseblob',
            name='name',
            field=models.CharField(help_text='File name that clients see.', max_length=255),
        ),
        migrations.AlterField(
            model_name='releasefile',
            name='size',
            field=models.BigIntegerField(help_text='Size in bytes.'),
        ),
        migrations.AlterField(
            model_name='searchdoc',
            name='indexed_release',
            field=models.PositiveBigIntegerField(editable=False, help_text='Release whose words are indexed. A different one is indexed again.', null=True),
        ),
        migrations.AlterField(
            model_name='searchdoc',
            name='sort_key',
            field=models.BinaryField(help_text='Sort key: byte order is the order of addresses.', max_length=200),
        ),
        migrations.AlterField(
            model_name='searchterm',
            name='weight',
            field=models.PositiveSmallIntegerField(help_text='Weight of its best place.'),
        ),
        migrations.AlterField(
            model_name='searchword',
            name='place',
            field=models.PositiveSmallIntegerField(help_text='Place of the word, as a weight.'),
        ),
        migrations.AlterField(
            model_name='upload',
            name='expected',
            field=models.CharField(blank=True, help_text='SHA-256, as announced or computed.', max_length=64),
        ),
        migrations.AlterField(
            model_name='upload',
            name='lease',
            field=models.UUIDField(blank=True, help_text='The request that currently sends bytes.', null=True),
        ),
        migrations.AlterField(
            model_name='upload',
            name='name',
            field=models.CharField(blank=True, help_text='File of a draft. Empty for an archive.', max_length=255),
        ),
        migrations.AlterField(
            model_name='upload',
            name='ticket_digest',
            field=models.CharField(blank=True, db_index=True, help_text='SHA-256 of its ticket.', max_length=64),
        ),
    ]
