"""The rows of reports in the tables of the house tests (see tests/rooms.py)."""

LIMITED = {("api:usage", "POST"): "api"}
