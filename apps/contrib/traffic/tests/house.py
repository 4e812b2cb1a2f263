"""The rows of traffic in the tables of the house tests (see tests/rooms.py)."""

_DAY = "current_date - (g % 400)::int"

FOR_AUDITORS = {"portal:traffic"}
GROWING: dict[str, dict[str, str]] = {
    "traffic.AccountTraffic": {"day": _DAY, "token": "g", "downloads": "g"},
    "traffic.TeamTraffic": {"day": "current_date - g::int", "downloads": "g"},
}
