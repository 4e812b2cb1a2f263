from celery import shared_task
from django.db.models import Q

from apps.jobs.claims import task
from apps.jobs.targets import Source
from apps.signing import key_generation, statement_keys, vault
from apps.signing.models import SigningKey, StatementKey

make_signing_key = task(key_generation.JOB, key_generation.run)
make_statement_key = task(statement_keys.JOB, statement_keys.run)
TARGETS = {
    key_generation.JOB: Source(
        SigningKey.objects.select_related("namespace").all,
        lambda word: Q(namespace__name=word) | Q(key_id=word.upper()),
    ),
    statement_keys.JOB: Source(StatementKey.objects.all, lambda word: Q(key_id=word.lower())),
}


@shared_task(name="signing.report_kek")
def report_kek() -> None:
    vault.report()
