"""policy.toml and the parts of the rooms, as a table of cells. What stands at a route goes before its profile."""

import tomllib
from zlib import crc32

from django.conf import settings

from tests import rooms
from tests.house import sources
from tests.house.routes import METHODS, all_routes
from tests.turns import is_due

POLICY = tomllib.loads((sources.CHECKOUT / "tests/house/policy/policy.toml").read_text())
for part in rooms.tables("policy"):
    POLICY["profile"] |= part.get("profile", {})
    POLICY["route"] |= part["route"]
    for key, values in part.get("unnamed", {}).items():
        POLICY["unnamed"][key] += values
COLUMNS = POLICY["columns"]
LIKE = POLICY["like"]
VISIBILITIES = ("private", "internal", "public")
ROWS = ("any", *VISIBILITIES, "missing")
ROUTES = {route.name: route for route in all_routes() if route.name and not route.is_admin}
UNCONFIRMED = "dora-older"


def kind_of(name):
    machines = ("api:", "assistants:", "oci:", "packages:", "protocol:", "static-copy:")
    return "token" if name.startswith(machines) else "session"


def columns_of(name):
    """Those that each row writes out, then those that answer as another."""
    return (*COLUMNS[kind_of(name)], *LIKE[kind_of(name)])


def profile_of(name, table):
    return POLICY["profile"][table["profile"]][kind_of(name)] if "profile" in table else {}


def _said_of(kind, table, profile, row, who):
    """What a cell says of a column in `like`: a status, or the column whose status it has."""
    for listed in (table.get("but", {}), profile.get("but", {}), LIKE[kind]):
        said = listed.get(who)
        said = said.get(row) if isinstance(said, dict) else said
        if said is not None:
            return said
    raise KeyError(kind, row, who)


def filled(kind, table, profile):
    """The table of one method; its rows are {who: status}. `ok` is the status that the route answers."""
    answers = {key: value for key, value in table.items() if key not in ("profile", "ok", "but")}
    for row, written in (profile | table).items():
        if row in ROWS:
            cells = dict(zip(COLUMNS[kind], written, strict=True))
            for who in LIKE[kind]:
                said = _said_of(kind, table, profile, row, who)
                cells[who] = cells.get(said, said)
            answers[row] = {who: _ok(table, who) if cell == "ok" else cell for who, cell in cells.items()}
    return answers


def _ok(table, who):
    return "confirm" if who == UNCONFIRMED and table.get("confirmed") else table.get("ok", 200)


TABLES = {
    name: {method: filled(kind_of(name), table, profile_of(name, table)) for method, table in methods.items()}
    for name, methods in POLICY["route"].items()
}


def cells_of(name):
    """{(method, row, who): status} as the policy has it."""
    return {
        (method, row, who): status
        for method, table in TABLES[name].items()
        for row in ROWS
        if row in table
        for who, status in table[row].items()
    }


def asked_of(name):
    """The cells to request. PostgreSQL answers for the owner, so that each query runs there too, and for everybody
    where the route is due; by night SQLite has all.
    """
    if settings.TEST_DATABASE != "postgres" or is_due(crc32(name.encode())):
        return distinct_of(name)
    owner, rows = ("dora", "dora-manage"), ("any", "private")
    return {cell: status for cell, status in cells_of(name).items() if cell[1] in rows and cell[2] in owner}


def distinct_of(name):
    """Alice, Dora and Olga have one role everywhere: a status that visibility does not change is in one row, in turn.
    So is each column in the rows in which it answers as one other.
    """
    cells = cells_of(name)
    return {cell: status for cell, status in cells.items() if _is_distinct(name, cells, *cell)}


def _is_distinct(name, cells, method, row, who):
    if who in LIKE[kind_of(name)]:
        table = POLICY["route"][name][method]
        profile, rows = profile_of(name, table), [other for other in ROWS if (method, other, who) in cells]
        said = {other: _said_of(kind_of(name), table, profile, other, who) for other in rows}
        alike = [other for other in rows if said[other] == said[row]]
    elif row not in VISIBILITIES or who.partition("-")[0] in ("nobody", "charlie", "bob"):
        return True
    else:
        alike = [other for other in VISIBILITIES if (method, other, who) in cells]
        if len({cells[method, other, who] for other in alike}) > 1:
            return True
    turn = sum(map(ord, f"{name} {method} {who}"))
    return row == alike[turn % len(alike)]


def refusals_of(name):
    """The cells of the methods that are not listed: refused even to those who may do everything."""
    if ROUTES[name].is_library:  # which methods its views take is allauth's own matter
        return {}
    who = "dora-manage" if kind_of(name) == "token" else "olga"
    row = "public" if any("public" in table for table in TABLES[name].values()) else "any"
    status = TABLES[name].get("GET", {}).get("refused", 405)
    return {(method, row, who): status for method in METHODS if method not in TABLES[name]}
