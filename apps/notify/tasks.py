from celery import shared_task

from apps.notify import outbox, pruning, sending
from apps.notify.mail import expiries, mailing


@shared_task(name="notify.run", ignore_result=True)
def run(**_: object) -> None:
    outbox.dispatch()
    sending.sender.wake()
    sending.mailer.wake()


@shared_task(name="notify.daily", ignore_result=True)
def daily(**_: object) -> None:
    expiries.warn()
    mailing.send_digests()


@shared_task(name="notify.prune", ignore_result=True)
def prune(**_: object) -> None:
    pruning.prune()
