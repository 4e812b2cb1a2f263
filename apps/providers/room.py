from apps.room import Room


class Providers(Room):
    name = "apps.providers"

    job_targets = ("targets.SOURCES",)
    search_refreshers = {"provider": "lifecycle.ACTIONS.refresh"}
