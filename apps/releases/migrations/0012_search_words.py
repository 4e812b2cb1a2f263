import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0014_leaks'),
        ('releases', '0011_cleanup'),
    ]

    operations = [
        migrations.AddField(
            model_name='searchdoc',
            name='indexed_release',
            field=models.PositiveBigIntegerField(editable=False, help_text='The release whose words are indexed. Another one: index it again.', null=True),
        ),
        migrations.CreateModel(
            name='SearchGram',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('gram', models.BinaryField(max_length=12)),
                ('word', models.BinaryField(max_length=64)),
                ('namespace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.namespace')),
            ],
        ),
        migrations.CreateModel(
            name='SearchWord',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('is_name', models.BooleanField(help_text="A word of the module's or provider's own name.")),
                ('term', models.BinaryField(max_length=64)),
                ('place', models.PositiveSmallIntegerField(help_text='Where the word is, as a weight; see catalogue.indexing.')),
                ('name', models.CharField(blank=True, help_text='The whole name that contains the word.', max_length=200)),
                ('unit', models.CharField(blank=True, help_text='The folder or docs page that declares it.', max_length=300)),
                ('doc', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='words', to='releases.searchdoc')),
                ('namespace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.namespace')),
            ],
        ),
        migrations.AddConstraint(
            model_name='searchgram',
            constraint=models.UniqueConstraint(fields=('namespace', 'gram', 'word'), name='releases_grams_once'),
        ),
        migrations.AddIndex(
            model_name='searchword',
            index=models.Index(fields=['namespace', 'is_name', 'term', 'doc'], name='releases_words_seen'),
        ),
        migrations.AddIndex(
            model_name='searchword',
            index=models.Index(fields=['doc', 'term'], name='releases_words_of_doc'),
        ),
    ]
