from django.db import migrations, models


class Migration(migrations.Migration):
    """Help texts in plain English. The database does not change."""

    dependencies = [
        ('jobs', '0006_turns'),
    ]

    operations = [
        migrations.AlterField(
            model_name='heartbeat',
            name='queues',
            field=models.CharField(db_default='check sign', help_text='Queues that it takes jobs from.', max_length=60),
        ),
        migrations.AlterField(
            model_name='job',
            name='share',
            field=models.CharField(blank=True, db_default='', default='', help_text='Share in the queue, such as namespace 7.', max_length=40),
        ),
        migrations.AlterField(
            model_name='job',
            name='source',
            field=models.CharField(blank=True, db_default='', default='', help_text='Source of bulk work, such as git 12. Empty: a person or webhook waits for it.', max_length=40),
        ),
        migrations.AlterField(
            model_name='job',
            name='target',
            field=models.BigIntegerField(help_text='Primary key of the object that it works on.'),
        ),
        migrations.AlterField(
            model_name='job',
            name='turn',
            field=models.BigIntegerField(db_default=0, default=0, help_text='Lower values go first.'),
        ),
    ]
