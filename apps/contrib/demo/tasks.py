import structlog
from celery import shared_task
from django.conf import settings
from django.utils import timezone

from apps.contrib.demo import filling, foreign, restoring
from apps.lib.errors import Invalid

log = structlog.get_logger("larder.demo")


@shared_task(name="demo.fill", ignore_result=True)
def fill(**_: object) -> None:
    """Continue until the demonstration is complete for the first time."""
    if settings.DEMO == "on" and not restoring.is_restored():
        _fill_and_restore(again=False)


@shared_task(name="demo.reset", ignore_result=True)
def reset(**_: object) -> None:
    if settings.DEMO == "on":
        _fill_and_restore(again=True)


def _fill_and_restore(*, again: bool) -> None:
    """Change nothing if anyone else has: a registry in use may have been started as a demonstration by mistake."""
    try:
        foreign.refuse()
    except Invalid as refusal:
        log.warning("demonstration_refused", reason=str(refusal))
        return
    if filling.fill(again=again):
        restoring.restore(now=timezone.now())
        log.info("demonstration_restored")
