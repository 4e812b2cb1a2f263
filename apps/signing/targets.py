"""Keys as targets of jobs."""

from django.db.models import Q

from apps.jobs.targets import Source
from apps.signing import keys, statement_keys
from apps.signing.models import SigningKey, StatementKey

SOURCES = {
    keys.JOB: Source(
        SigningKey.objects.select_related("namespace").all,
        lambda word: Q(namespace__name=word) | Q(key_id=word.upper()),
    ),
    statement_keys.JOB: Source(StatementKey.objects.all, lambda word: Q(key_id=word.lower())),
}
