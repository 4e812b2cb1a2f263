from celery import shared_task

from apps.audit import chain, heads, months


@shared_task(name="audit.prune", ignore_result=True)
def prune(**_: object) -> None:
    chain.prune()


@shared_task(name="audit.add_months", ignore_result=True)
def add_months(**_: object) -> None:
    months.add()


@shared_task(name="audit.link", ignore_result=True)
def link(**_: object) -> None:
    chain.link()


@shared_task(name="audit.record_head", ignore_result=True)
def record_head(**_: object) -> None:
    heads.record_head()
