"""Requests of Larder to a site of tests/builders/git_servers.py."""

import ssl
from typing import Any

from apps.contrib.git.remote.access import Access
from apps.contrib.git.remote.remotes import Remote, parse
from tests.builders.git_servers import LOOPBACK, Site


def remote_of(site: Site, name: str) -> Remote:
    return parse(site.url_of(name))


def access_to(site: Site, **changes: Any) -> Access:
    trusted = ssl.create_default_context()
    if site.ca_file:
        trusted.load_verify_locations(site.ca_file)
    return Access(**{"trusted": trusted, "ca_file": site.ca_file, "allowed": LOOPBACK, **changes})
