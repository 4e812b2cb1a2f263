"""policy.toml as a table of cells: its profiles are filled in, and what stands at a route goes before them."""

import tomllib

from django.conf import settings

from tests.house import sources
from tests.house.routes import METHODS, all_routes

POLICY = tomllib.loads((sources.CHECKOUT / "tests/house/policy/policy.toml").read_text())
COLUMNS = POLICY["columns"]
VISIBILITIES = ("private", "internal", "public")
ROWS = ("any", *VISIBILITIES, "missing")
ROUTES = {route.name: route for route in all_routes() if route.name and not route.is_admin}


def kind_of(name):
    return "token" if name.startswith(("api:", "oci:", "protocol:")) else "session"


def columns_of(name):
    return COLUMNS[kind_of(name)]


def _filled(name, table):
    """The table of one method with the rows of its profile, in which `ok` is the status that the route answers."""
    if "profile" not in table:
        return table
    rows = POLICY["profile"][table["profile"]][kind_of(name)]
    filled = {row: [table.get("ok", 200) if cell == "ok" else cell for cell in cells] for row, cells in rows.items()}
    return filled | {key: value for key, value in table.items() if key not in ("profile", "ok")}


TABLES = {
    name: {method: _filled(name, table) for method, table in methods.items()}
    for name, methods in POLICY["route"].items()
}


def cells_of(name):
    """{(method, row, who): status} as the policy has it."""
    return {
        (method, row, who): status
        for method, table in TABLES[name].items()
        for row in ROWS
        if row in table
        for who, status in zip(columns_of(name), table[row], strict=True)
    }


def asked_of(name):
    """The cells to request. Alice, Dora and Olga have one role everywhere: a status that visibility does not change
    is asked in one row, in turn. PostgreSQL answers for the owner, so that each query runs there too.
    """
    cells = cells_of(name)
    return {cell: status for cell, status in cells.items() if _is_asked(cells, *cell)}


def _is_asked(cells, method, row, who):
    person = who.partition("-")[0]
    if settings.TEST_DATABASE == "postgres":
        return who in ("dora", "dora-manage") and row in ("any", "private")
    if row not in VISIBILITIES or person in ("nobody", "charlie", "bob"):
        return True
    is_same = len({cells.get((method, other, who)) for other in VISIBILITIES}) == 1
    turn = sum(map(ord, f"{method} {who}")) + len(cells)
    return not is_same or row == VISIBILITIES[turn % len(VISIBILITIES)]


def refusals_of(name):
    """The cells of the methods that are not listed: refused even to those who may do everything."""
    if ROUTES[name].is_library:  # which methods its views take is allauth's own matter
        return {}
    who = "dora-manage" if "dora-manage" in columns_of(name)[:-1] else "olga"
    row = "public" if any("public" in table for table in TABLES[name].values()) else "any"
    status = TABLES[name].get("GET", {}).get("refused", 405)
    return {(method, row, who): status for method in METHODS if method not in TABLES[name]}
