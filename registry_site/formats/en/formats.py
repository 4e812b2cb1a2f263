"""Formats for times that Django renders itself, above all in the admin; the same as in the portal."""

DATETIME_FORMAT = r"j M Y, H:i \U\T\C"
DATE_FORMAT = "j M Y"
