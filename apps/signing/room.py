from apps.room import Room


class Signing(Room):
    name = "apps.signing"

    periodic_tasks = {"report-kek": {"task": "signing.report_kek", "schedule": 60.0, "options": {"queue": "sign"}}}
    job_targets = ("tasks.TARGETS",)
    created_by_tokens = ("keys.CREATED_BY_TOKENS",)
    known_secrets = ("keys.known_to_their_publishers",)
