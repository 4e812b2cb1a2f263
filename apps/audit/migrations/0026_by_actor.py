from django.db import migrations, models


class Migration(migrations.Migration):
    """The newest events of a person by an index: 20 s for ten million rows on PostgreSQL."""

    dependencies = [
        ('audit', '0025_months'),
    ]

    operations = [
        migrations.AlterField(
            model_name='auditevent',
            name='actor_id',
            field=models.BigIntegerField(null=True),
        ),
        migrations.AddIndex(
            model_name='auditevent',
            index=models.Index(fields=['actor_id', 'at', 'id'], name='audit_by_actor'),
        ),
    ]
