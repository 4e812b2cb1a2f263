import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0014_leaks'),
        ('releases', '0010_team_downloads'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='release',
            name='cleaned_at',
            field=models.DateTimeField(blank=True, help_text='A cleanup rule took it then, for the last time.', null=True),
        ),
        migrations.CreateModel(
            name='CleanupRule',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('enabled', models.BooleanField(default=False, help_text='It acts by itself, once an hour.')),
                ('action', models.CharField(choices=[('deprecate', 'Deprecate: they stay listed and served, and pages and clients advise against them'), ('yank', 'Yank: no list has them; exact downloads and pages still work')], default='deprecate', max_length=10)),
                ('prerelease_days', models.PositiveIntegerField(blank=True, help_text='Chooses pre-releases older than this. Empty: none.', null=True)),
                ('stable_days', models.PositiveIntegerField(blank=True, help_text='Chooses other versions older than this. Empty: none.', null=True)),
                ('keep_newest', models.PositiveIntegerField(default=5, help_text='So many of each module and provider always stay.')),
                ('fetched_days', models.PositiveIntegerField(default=90, help_text='A version fetched in so many days stays.')),
                ('changed_at', models.DateTimeField(blank=True, null=True)),
                ('applied_at', models.DateTimeField(blank=True, help_text='Its last run, by itself or by hand.', null=True)),
                ('applied_count', models.PositiveIntegerField(default=0, help_text='The versions that this run changed.')),
                ('changed_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('namespace', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='cleanup_rule', to='accounts.namespace')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('action__in', ['deprecate', 'yank'])), name='releases_cleanup_action_known'), models.CheckConstraint(condition=models.Q(('keep_newest__gte', 1)), name='releases_cleanup_keeps_one')],
            },
        ),
    ]
