"""The rows of configuration as code in the tables of the house tests (see tests/rooms.py)."""

SMALL = {"apply.SentSecret": "one for each secret of a file"}
COMPARES_SECRETS = {"apps/contrib/apply/models.py: is_known": "a secret that a file gave before"}
