from django.conf import settings
from django.db import DEFAULT_DB_ALIAS

from apps.room import Room


class Releases(Room):
    name = "apps.releases"

    periodic_tasks = {
        "index-search": {"task": "releases.index_search", "schedule": 60.0},
        "show-releases": {"task": "releases.show_due", "schedule": 10.0},
        "sweep-uploads": {"task": "releases.sweep", "schedule": settings.REAPER_INTERVAL},
    }
    # Counts of downloads (D15), and the list of quarantined digests for use during a database outage (D6).
    starts = ("catalogue.downloads.start", "lifecycle.quarantine.start")
    job_targets = ("targets.SOURCES",)
    namespace_contents = ("publishing.quotas.versions_in",)
    retries = ("origin.recording.retried",)
    blob_references = ("lifecycle.release_blobs.referenced_by_release",)

    def connect(self) -> None:
        from apps.blobs import store
        from apps.releases.publishing import staging

        # Staged bytes that wait for a person, longer than an upload takes.
        store.staging_in_use = lambda: staging.keys_in_use(DEFAULT_DB_ALIAS)
