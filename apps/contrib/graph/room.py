from apps.room import Room


class DependencyGraph(Room):
    name = "apps.contrib.graph"
    verbose_name = "Dependency graph"

    api_urls = ("apps.contrib.graph.api.neighbours",)
    portal_urls = ("apps.contrib.graph.pages",)
    usage_parts = {"graph": "Dependency graph"}
