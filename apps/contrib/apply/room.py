from apps.room import Room


class Apply(Room):
    name = "apps.contrib.apply"
    label = "apply"
    verbose_name = "Configuration as code"

    settings = {"APPLY": "settings_values.read"}
    preparations = ("applying.at_start",)
    exports = ("exporting.text_here",)
