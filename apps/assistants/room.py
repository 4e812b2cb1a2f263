from apps.room import Room


class Assistants(Room):
    name = "apps.assistants"

    root_urls = ("apps.assistants.urls",)
