"""Links to packages of the static copy that carry their own permission, which nginx checks without Larder.

A link is `/p/<hash>/<expiry>` before the plain path of a package. The hash is what nginx compares in its
`secure_link_md5` (https://nginx.org/en/docs/http/ngx_http_secure_link_module.html): MD5 over expiry, scope and secret,
in base 64 for URLs. MD5 is enough here: without the secret, which is the last part of the text, a hash can be neither
computed nor extended to another text with that end.

The scope is a part of the package's own path, so a link opens the packages of one namespace and no others.
"""

import hashlib
import re
from base64 import urlsafe_b64encode
from datetime import datetime

from django.conf import settings
from django.utils.crypto import constant_time_compare

from apps.lib.errors import RegistryError

# A client that was given a link at the end of an outage can still use it.
TIME_TO_FETCH = 15 * 60  # seconds
HOUR = 3600  # seconds
_LINK = re.compile(r"/p/([A-Za-z0-9_-]{22})/([0-9]{1,12})(/packages/.+)", re.ASCII | re.DOTALL)
_NAMESPACE, _MIRRORED = "[A-Za-z0-9_-]{1,100}", "[A-Za-z0-9.:-]{1,300}/[A-Za-z0-9._-]{1,100}"
_SCOPED = re.compile(rf"/(?:v1|packages)/(?:(?:modules|providers)/({_NAMESPACE})|mirror/({_MIRRORED}))/", re.ASCII)
_SCOPE = re.compile(f"{_NAMESPACE}|{_MIRRORED}", re.ASCII)


class LinkRefused(RegistryError):
    code = "forbidden"

    def __init__(self) -> None:
        super().__init__("This download link has expired or was changed; ask the registry for a new one.")


def is_scope(text: str) -> bool:
    return _SCOPE.fullmatch(text) is not None


def scope_of(path: str) -> str:
    """Return what a permission for this path is for, as `$larder_scope` does in nginx: a namespace, or `host/namespace`
    of another registry. Empty where there is none.
    """
    found = _SCOPED.match(path)
    return (found[1] or found[2]) if found else ""


def prefix_for(scope: str, *, now: datetime, secret: str) -> str:
    """Return what goes before the path of a package.

    It stays the same for static_copy_hours of LARDER_LIFETIMES, because some clients cache packages by their whole URL,
    and opens them for that time, and at most for twice that.
    """
    lasts = settings.COPY_EDGE.stale_hours * HOUR
    expiry = ((int(now.timestamp()) + settings.COPY_EDGE.fresh_seconds + TIME_TO_FETCH) // lasts + 2) * lasts
    return f"/p/{_hash(expiry, scope, secret)}/{expiry}"


def opened_by(path: str, *, now: datetime, secret: str) -> str:
    """Return the plain path of the package that this link opens now; empty if it opens none."""
    found = _LINK.fullmatch(path)
    if not found or not secret:
        return ""
    given, expiry, plain = found[1], int(found[2]), found[3]
    is_ours = constant_time_compare(given, _hash(expiry, scope_of(plain), secret))
    return plain if is_ours and now.timestamp() < expiry else ""


def _hash(expiry: int, scope: str, secret: str) -> str:
    digest = hashlib.md5(f"{expiry} {scope} {secret}".encode(), usedforsecurity=False).digest()
    return urlsafe_b64encode(digest).rstrip(b"=").decode()
