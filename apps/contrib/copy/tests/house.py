"""The rows of the static copy in the tables of the house tests (see tests/rooms.py)."""

PARTS = ("leader",)
SMALL = {"copy.CountedLog": "one for each rotation of a log"}
