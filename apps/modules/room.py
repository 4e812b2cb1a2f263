from celery.schedules import crontab

from apps.room import Room


class Modules(Room):
    name = "apps.modules"

    periodic_tasks = {
        "prune-configurations": {"task": "modules.prune_configurations", "schedule": crontab(hour=2, minute=57)},
    }
    job_targets = ("tasks.TARGETS",)
    manifest_references = ("package_manifest.needs",)
    after_publication = ("comparing.guard.compare_later",)
    search_refreshers = {"module": "lifecycle.ACTIONS.refresh"}
