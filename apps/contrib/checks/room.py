from apps.room import Room


class Checks(Room):
    name = "apps.contrib.checks"
    label = "checks"
    verbose_name = "Checks"
