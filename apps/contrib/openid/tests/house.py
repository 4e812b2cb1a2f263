"""The rows of OpenID Connect in the tables of the house tests (see tests/rooms.py)."""

COMPARES_SECRETS = {"apps/contrib/openid/protocol.py: id_claims": ""}
