"""The rows of cleanup in the tables of the house tests (see tests/rooms.py)."""

IDEMPOTENT_NOTHING_TO_DO = {"post_cleanup_apply": "apps/contrib/cleanup/tests/test_cleanup.py"}
