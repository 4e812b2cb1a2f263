"""How Django itself writes times, in the admin above all: as the portal does."""

DATETIME_FORMAT = r"j M Y, H:i \U\T\C"
DATE_FORMAT = "j M Y"
