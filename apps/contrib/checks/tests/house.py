"""The rows of checks in the tables of the house tests (see tests/rooms.py)."""

PEOPLE_ONLY = {
    "contrib.checks.holding.waive": "waive checks",
    "contrib.checks.policy.change": "change the required checks",
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
LIMITED = {("api:module-check", "PUT"): "api", ("api:provider-check", "PUT"): "api"}
