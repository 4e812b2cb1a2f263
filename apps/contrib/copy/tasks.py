from celery import shared_task
from django.db.models import Q

from apps.contrib.copy import signing
from apps.contrib.copy.bundle.models import Bundle
from apps.contrib.copy.models import Root
from apps.contrib.copy.writing import following, writer
from apps.jobs.claims import task
from apps.jobs.targets import Source

follow = task(following.JOB, following.run)
sign = task(writer.SIGN, signing.sign_root)
sign_bundle = task(signing.BUNDLE, signing.sign_bundle)
TARGETS = {
    writer.SIGN: Source(Root.objects.select_related("copy").all, lambda _: Q(pk__in=[])),
    signing.BUNDLE: Source(Bundle.objects.all, lambda word: Q(root=word)),
}


@shared_task(name="copy.tick", ignore_result=True)
def tick(**_: object) -> None:
    """Begin a copy that is new, and ring for changes whose ring was lost."""
    following.tick()
