"""The rows of assistants in the tables of the house tests (see tests/rooms.py)."""

LIMITED = {("assistants:mcp", "POST"): "api"}
