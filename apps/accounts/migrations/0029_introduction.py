from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0028_forgotten'),
    ]

    operations = [
        migrations.AddField(
            model_name='namespace',
            name='introduction',
            field=models.CharField(blank=True, db_default='', default='', help_text='“Start here” on its page. Markdown.', max_length=1000),
        ),
    ]
