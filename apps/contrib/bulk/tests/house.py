"""The rows of acts on several versions in the tables of the house tests (see tests/rooms.py)."""

IDEMPOTENT_ELSEWHERE = {"post_versions_restore": "apps/contrib/bulk/tests/test_acts.py"}
# Made before its example: a deprecated version.
FIRST = {
    ("api:versions-restore", "POST"): ("POST", "/api/v1/modules/acme/vpc/aws/1.0.0/deprecate", '{"reason": "Old."}'),
}
