"""Download links that carry their own permission (D6): clients send no token for archives.

A segment is `<expiry>.<signature>`: seconds since 1970 in base 36, and HMAC-SHA256 over expiry, digest and file name in
base 64 without padding. It is part of the path because go-getter parses, sorts and re-encodes every query. Verifying
needs no database.
"""

import base64
import re
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.http import base36_to_int, int_to_base36

# Expiries fall on multiples of this, so that one rendered document serves many requests.
ROUND = timedelta(minutes=5)

_SALT = "larder.blobs.capabilities.v1"
# 9 digits of base 36 reach the year 3 million and stay far from any overflow; 43 hold 256 bits in base 64.
_SEGMENT = re.compile(r"([0-9a-z]{1,9})\.([A-Za-z0-9_-]{43})", re.ASCII)


def sign(*, digest: str, file_name: str, now: datetime) -> str:
    """Return a path segment that opens this digest under this file name for ARCHIVE_URL_LIFETIME to ROUND longer."""
    expiry = int_to_base36(_expiry(now))
    return f"{expiry}.{_signature(expiry, digest, file_name, settings.SECRET_KEY)}"


def verify(segment: str, *, digest: str, file_name: str, now: datetime) -> bool:
    """Check that the segment opens this digest under this name now. Retired secret keys still count."""
    return seconds_left(segment, digest=digest, file_name=file_name, now=now) > 0


def seconds_left(segment: str, *, digest: str, file_name: str, now: datetime) -> float:
    """Return for how long the segment opens this digest under this name; 0 if it does not."""
    found = _SEGMENT.fullmatch(segment)
    if found is None:
        return 0
    expiry, signature = found.groups()
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    # Try every key, so that the time does not tell which one it was.
    signed = [constant_time_compare(signature, _signature(expiry, digest, file_name, key)) for key in keys]
    return max(0.0, base36_to_int(expiry) - now.timestamp()) if any(signed) else 0


def same_until(now: datetime) -> datetime:
    """Return until when `sign` gives the same segments as now."""
    return valid_until(now) - settings.ARCHIVE_URL_LIFETIME


def valid_until(now: datetime) -> datetime:
    """Return when the segments end that `sign` gives now."""
    return datetime.fromtimestamp(_expiry(now), UTC)


def _expiry(now: datetime) -> int:
    step = int(ROUND.total_seconds())
    earliest = (now + settings.ARCHIVE_URL_LIFETIME).timestamp()
    return int(-(-earliest // step)) * step


def _signature(expiry: str, digest: str, file_name: str, key: str | bytes) -> str:
    # The first two contain no colon, so no other triple gives the same text.
    signed = salted_hmac(_SALT, f"{expiry}:{digest}:{file_name}", secret=key, algorithm="sha256")
    return base64.urlsafe_b64encode(signed.digest()).rstrip(b"=").decode()
