from apps.room import Part, Room


class Copy(Room):
    name = "apps.contrib.copy"
    label = "copy"
    verbose_name = "Static copy"

    settings = {
        "STATIC_COPY": "settings_values.read",
        "COPY_EDGE": "settings_values.read_edge",
        "FOLLOW": "settings_values.read_follow",
    }
    root_urls = ("apps.contrib.copy.edge.urls", "apps.contrib.copy.serving.packages")
    middleware = ("follower.serving.Follower", "writing.acknowledging.Acknowledged")
    notices = ("writing.acknowledging.sentence",)

    periodic_tasks = {"tick-static-copy": {"task": "copy.tick", "schedule": 5.0}}
    starts = ("follower.fetching.start",)
    queues = {"sign": ("sign-static-copy", "sign-bundle")}
    job_targets = ("tasks.TARGETS",)
    signing_tables = ("models.SIGNED",)
    after_publication = ("bundle.importing.published",)

    admin_lists = ("Static copy", ("Copy", "Due"))
    alarm_tiles = {"static copy that fails": ("Copy", "monitoring.failing", "?", "monitoring.why")}
    parts = {
        "static-copy": Part(
            "Static copy",
            "Has what clients read, as files of a web server or a bucket.",
            "It is behind. Clients of the copy still get what was there before.",
        ),
        "leader": Part(
            "Leader",
            "Has what this follower serves.",
            "It is unreachable, or was refused. The follower serves what it has.",
        ),
    }
    part_states = ("monitoring.part_states",)
    doctor_looks = {"static copy": "monitoring.look", "leader": "monitoring.look_at_leader"}
    metric_families = ("monitoring.families",)

    def connect(self) -> None:
        from apps.audit import generation
        from apps.contrib.copy.writing import following

        generation.listeners.append(following.listen)
