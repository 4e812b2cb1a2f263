"""Whether the web server of this container answers: `python -m registry_site.healthcheck` ends with 0 or 1.

Without Django's settings, which would take seconds of every interval.
"""

import sys
from http import HTTPStatus
from pathlib import Path

from registry_site import env
from registry_site.startup import probe
from registry_site.startup.certificates import Served


def answers() -> bool:
    is_plain = env.text("LARDER_TLS", env.TLS) == "off"
    # No CA is given, so no certificate is checked: it asks on the loopback whether somebody is there.
    files = None if is_plain else Served(Path(), Path())
    listen = env.address("LARDER_LISTEN", env.LISTEN)
    return probe.ask("/healthz", listen=listen, public_host="localhost", files=files).status == HTTPStatus.OK


if __name__ == "__main__":
    sys.exit(not answers())
