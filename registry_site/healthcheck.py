"""Health check of the container: `python -m registry_site.healthcheck` exits with 0 if the web server answers, else 1.

Without Django's settings, which would take seconds.
"""

import sys
from http import HTTPStatus
from pathlib import Path

from registry_site import env
from registry_site.startup import probe
from registry_site.startup.certificates import Served


def answers() -> bool:
    is_plain = env.text("LARDER_TLS", env.TLS) == "off"
    # Without a CA no certificate is checked, which is enough on the loopback.
    files = None if is_plain else Served(Path(), Path())
    listen = env.address("LARDER_LISTEN", env.LISTEN)
    return probe.ask("/healthz", listen=listen, public_host="localhost", files=files).status == HTTPStatus.OK


if __name__ == "__main__":
    sys.exit(not answers())
