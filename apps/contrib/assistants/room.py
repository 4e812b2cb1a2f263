from apps.room import Room


class Assistants(Room):
    name = "apps.contrib.assistants"

    settings = {"MCP": "settings_values.read"}
    help_topics = {"assistants": "assistants"}
    how_to = {"assistants": ("AI assistants", "client_setup.snippet")}
    root_urls = ("apps.contrib.assistants.urls",)
