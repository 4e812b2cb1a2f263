"""The rows of checks in the tables of the house tests (see tests/rooms.py)."""

PEOPLE_ONLY = {
    "contrib.checks.holding.waive": "waive a required check",
    "contrib.checks.policy.change": "change which checks are required",
}
SMALL = {"checks.Policy": "one for each namespace"}
GROWING: dict[str, dict[str, str]] = {
    "checks.Report": {
        "check_name": "'check-' || g",
        "name": "'module/aws'",
        "is_newest": "true",
        "state": "'passed'",
        "version": "'1.0.' || g",
    },
    "checks.Hold": {},
}
STREAMED = [("PUT", "api:module-check"), ("PUT", "api:provider-check")]
LIMITED = {("api:module-check", "PUT"): "api", ("api:provider-check", "PUT"): "api"}
# Of the scenario: routes whose release is not the published one, and what is asked.
ON_ITS_WAY = {f"{edge}:release-waive-checks": "waiting_for_checks_id" for edge in ("portal", "api")}
QUERIES = {(f"api:{kind}-check", "DELETE"): "?reason=No." for kind in ("module", "provider")}
