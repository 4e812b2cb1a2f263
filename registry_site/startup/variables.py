"""Variables that look like Larder's and that it does not read, or reads under an old name.

A misspelt one changes nothing, and is easily overlooked.
"""

import re
from difflib import get_close_matches

from django.apps import apps
from django.conf import settings

from apps.lib.settings_values.identity_providers import FILE
from apps.room import Room
from registry_site import env, identity_providers

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
    ignored = {f"{id_} in {FILE}": f"{prefix}_" for id_, prefix in identity_providers.ignored.items()}
    names = {name: name for name in sorted(env.names_set())} | ignored
    return {
        said: room.name.rpartition(".")[2]
        for room in apps.get_app_configs()
        if isinstance(room, Room) and room.name in settings.ROOMS_LEFT_OUT
        for kind in room.identity_providers
        for said, name in names.items()
        if name.startswith(f"{room.resolved(kind).prefix}_")
    }


def old() -> dict[str, str]:
    """Return those that are set under an old name, each with what replaces it."""
    return {name: env.old_names[name] for name in sorted(env.names_set()) if name in env.old_names}


def unknown() -> dict[str, str]:
    """Return those that are set, each with the nearest name that Larder reads, or ""."""
    known = {
        name.removeprefix(PREFIX): name
        for name in (*env.old_names, *env.names_read, *READ_LATER)
        if name.startswith(PREFIX)
    }
    names = sorted(env.names_set())
    # Kubernetes sets some for each Service: LARDER_SERVICE_HOST, LARDER_PORT, LARDER_PORT_8443_TCP_ADDR.
    services = {name.removesuffix("SERVICE_HOST") for name in names if name.endswith("_SERVICE_HOST")}
    links = tuple(f"{service}{part}" for service in services for part in ("SERVICE_", "PORT"))
    found = {}
    for name in names:
        own = name.removeprefix(PREFIX)
        is_ours = name.startswith(PREFIX) and not OF_OTHERS.fullmatch(name) and not name.startswith(links)
        if is_ours and own not in known:
            near = [known[one] for one in get_close_matches(own, known, 1)]
            found[name] = env.old_names.get(near[0], near[0]) if near else ""
    return found
