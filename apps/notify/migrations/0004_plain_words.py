from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('notify', '0001_squashed_0003_created_by_token'),
    ]

    operations = [
        migrations.AlterField(
            model_name='letter',
            name='topic',
            field=models.CharField(blank=True, help_text='Empty if it cannot be switched off.', max_length=10),
        ),
    ]
