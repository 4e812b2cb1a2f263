"""Links to where a run came from, made of the claims that Larder verified and of the issuer: https, or none."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from apps.accounts.identity.trusted.declarations import PLACE, Vendor
from apps.accounts.identity.trusted.kept_claims import LONGEST_VALUE

_HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::\d{1,5})?")


def of(vendor: Vendor, issuer: str, claims: Mapping[str, Any]) -> dict[str, str]:
    """Return an https URL for each fact that the vendor links and the claims fill: repository, commit, run, ….

    The host is that of the template or of the issuer, or one that a claim names, which the page shows beside the link.
    A claim that was shortened, is not text, or would change the path or the host links nothing.
    """
    values = _values(vendor, issuer, claims)
    found = {name: _filled(template, values) for name, template in vendor.links.items()}
    return {name: url for name, url in found.items() if url and name in vendor.origin}


def _values(vendor: Vendor, issuer: str, claims: Mapping[str, Any]) -> dict[str, str]:
    values = {name: str(value) for name, value in claims.items() if isinstance(value, str | int)}
    values = {name: value for name, value in values.items() if value and len(value) < LONGEST_VALUE}
    for claim, pattern in vendor.parts.items():
        if whole := re.fullmatch(pattern, values.get(claim, "")):
            values |= {name: value for name, value in whole.groupdict().items() if value}
    values.pop("site", None)
    site = vendor.site_of(issuer)
    return values | ({"site": site} if site else {})


def _filled(template: str, values: Mapping[str, str]) -> str:
    """Return the URL, or "" if something is missing or would lead elsewhere."""
    names = PLACE.findall(template)
    if not all(name in values for name in names):
        return ""
    url = PLACE.sub(lambda found: _escaped(found[1], values[found[1]]), template)
    parts = urlsplit(url)
    is_plain = all(one not in ("", ".", "..") for one in unquote(parts.path).split("/")[1:])
    return url if parts.scheme == "https" and _HOST.fullmatch(parts.netloc) and is_plain else ""


def _escaped(name: str, value: str) -> str:
    if name == "site":
        return value
    # What was a URL already has its escapes.
    return quote(unquote(value) if name.endswith("_url") else value, safe="/:" if name.endswith("_url") else "/")
