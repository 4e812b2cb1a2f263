from apps.room import Room


class Copy(Room):
    name = "apps.contrib.copy"
    label = "copy"
    verbose_name = "Static copy"

    settings = {
        "COPY_EDGE": "edge.settings_values.read_edge",
        "FOLLOW": "edge.settings_values.read_follow",
    }
    root_urls = ("apps.contrib.copy.edge.urls",)
    middleware = ("follower.serving.Follower",)
    starts = ("follower.fetching.start",)
