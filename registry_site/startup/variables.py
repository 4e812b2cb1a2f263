"""Variables that look like Larder's and that it does not read: a misspelt one changes nothing, and is easily
overlooked.
"""

import re
from difflib import get_close_matches

from django.apps import apps
from django.conf import settings

from apps.room import Room
from registry_site import env

PREFIX = "LARDER_"
# Read by a command when it runs, and not by settings.py.
READ_LATER = ("LARDER_ADMIN_PASSWORD",)
# Of scripts, pipelines, containers and tests around Larder: it reads none of them itself.
OF_OTHERS = re.compile(
    r"LARDER_(?:URL|TOKEN|READ_TOKEN|ID_TOKEN|CA_FILE|WAIT|IMAGE|PYTHON|PASSWORD|DIGEST|REQUIRE|RECORD_EXAMPLES|"
    r"SCHEMATHESIS_EXAMPLES|TEST_.*)"
)


def of_left_out() -> dict[str, str]:
    """Return those that are set for rooms that LARDER_WITHOUT leaves out, each with the room."""
    return {
        name: room.name.rpartition(".")[2]
        for room in apps.get_app_configs()
        if isinstance(room, Room) and room.name in settings.ROOMS_LEFT_OUT
        for kind in room.identity_providers
        for name in sorted(env.names_set())
        if name.startswith(f"{room.resolved(kind).prefix}_")
    }


def unknown() -> dict[str, str]:
    """Return those that are set, each with the nearest name that Larder reads, or ""."""
    known = {name.removeprefix(PREFIX) for name in (*env.names_read, *READ_LATER) if name.startswith(PREFIX)}
    names = sorted(env.names_set())
    # Kubernetes sets some for each Service: LARDER_SERVICE_HOST, LARDER_PORT, LARDER_PORT_8443_TCP_ADDR.
    services = {name.removesuffix("SERVICE_HOST") for name in names if name.endswith("_SERVICE_HOST")}
    links = tuple(f"{service}{part}" for service in services for part in ("SERVICE_", "PORT"))
    found = {}
    for name in names:
        own = name.removeprefix(PREFIX)
        is_ours = name.startswith(PREFIX) and not OF_OTHERS.fullmatch(name) and not name.startswith(links)
        if is_ours and own not in known:
            near = get_close_matches(own, known, 1)
            found[name] = f"{PREFIX}{near[0]}" if near else ""
    return found
