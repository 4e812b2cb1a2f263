"""policy.toml as a table of cells: its profiles are filled in, and what stands at a route goes before them."""

import tomllib

from tests.house import sources
from tests.house.routes import METHODS, all_routes

POLICY = tomllib.loads((sources.CHECKOUT / "tests/house/policy/policy.toml").read_text())
COLUMNS = POLICY["columns"]
ROWS = ("any", "private", "internal", "public", "missing")
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


def refusals_of(name):
    """The cells of the methods that are not listed: refused even to those who may do everything."""
    if ROUTES[name].is_library:  # which methods its views take is allauth's own matter
        return {}
    who = "dora-manage" if "dora-manage" in columns_of(name)[:-1] else "olga"
    row = "public" if any("public" in table for table in TABLES[name].values()) else "any"
    status = TABLES[name].get("GET", {}).get("refused", 405)
    return {(method, row, who): status for method in METHODS if method not in TABLES[name]}
