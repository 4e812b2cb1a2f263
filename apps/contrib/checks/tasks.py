from celery import shared_task

from apps.contrib.checks import holding, sending


@shared_task(name="checks.sweep", ignore_result=True)
def sweep(**_: object) -> None:
    holding.sweep()


@shared_task(name="checks.prune", ignore_result=True)
def prune(**_: object) -> None:
    """Drop reports whose release never came."""
    sending.prune()
