from apps.room import Room


class Providers(Room):
    name = "apps.providers"

    job_targets = ("tasks.TARGETS",)
    search_refreshers = {"provider": "lifecycle.ACTIONS.refresh"}
