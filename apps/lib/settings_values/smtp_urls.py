from typing import Any
from urllib.parse import unquote, urlsplit

from apps.lib.errors import Invalid


def options_of(url: str) -> dict[str, Any] | None:
    """Read smtp://user:password@host:587 (with STARTTLS, unless ?starttls=off) or smtps://…:465; None if it is empty.

    Raises Invalid.
    """
    if not url:
        return None
    parts = urlsplit(url)
    is_tls, plain = parts.scheme == "smtps", parts.query == "starttls=off"
    if not parts.hostname or parts.path.strip("/") or (parts.query and (is_tls or not plain)):
        raise Invalid("expected smtp://user:password@host:587, smtps:// or ?starttls=off")
    return {
        "host": parts.hostname,
        "port": parts.port or (465 if is_tls else 587),
        "username": unquote(parts.username or ""),
        "password": unquote(parts.password or ""),
        "use_ssl": is_tls,
        "use_tls": not is_tls and not plain,
    }
