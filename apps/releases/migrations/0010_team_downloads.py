import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('releases', '0008_resumable_uploads'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='TeamDownload',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField()),
                ('count', models.PositiveBigIntegerField(default=0)),
                ('account', models.ForeignKey(help_text='A service account of the team.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('release', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='team_downloads', to='releases.release')),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.team')),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('account', None)), fields=('release', 'day', 'team'), name='releases_team_downloads_once'), models.UniqueConstraint(condition=models.Q(('account__isnull', False)), fields=('release', 'day', 'account'), name='releases_account_downloads_once')],
            },
        ),
    ]
