from apps.room import Room


class Provenance(Room):
    name = "apps.provenance"

    periodic_tasks = {"sweep-statements": {"task": "provenance.sweep", "schedule": 30.0}}
    job_targets = ("tasks.TARGETS",)
    # What is attached to what Larder attaches.
    manifest_references = ("referrers.needs",)
    after_publication = ("statements.request",)
    # What is said about a release goes with its bytes, and counts to its namespace.
    purges = ("attesting.drop",)
    stored_bytes = ("attesting.stored_bytes",)
