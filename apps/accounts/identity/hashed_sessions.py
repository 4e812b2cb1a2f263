"""Django's database sessions, stored under a digest of the cookie (SESSION_ENGINE).

With Django's own engine the row's key is the cookie's value, so that a reader of the table, or of a backup of it, could
sign in as anyone for twelve hours.
"""

import hashlib
from typing import Any

from django.contrib.sessions.backends import db
from django.contrib.sessions.base_session import AbstractBaseSession
from django.utils import timezone

# The column has 40 characters, 160 bits, as many as the cookie.
_LENGTH = 40


def digest_of(cookie: str) -> str:
    return hashlib.sha256(cookie.encode()).hexdigest()[:_LENGTH]


class SessionStore(db.SessionStore):
    """`session_key` is the cookie's value, as in Django; the row has its digest.

    The class name is part of the signing salt: keep Django's, so that the model's `get_decoded` works. Only synchronous
    methods are overridden, since no view here is asynchronous.
    """

    def _get_session_from_db(self) -> AbstractBaseSession | None:
        rows = self.model.objects.filter(expire_date__gt=timezone.now())
        row = rows.filter(session_key=digest_of(self.session_key)).first() if self.session_key else None
        if row is None:
            self._session_key = None
        return row

    def exists(self, session_key: str) -> bool:
        return super().exists(digest_of(session_key))

    def create_model_instance(self, data: dict[str, Any]) -> AbstractBaseSession:
        row: AbstractBaseSession = super().create_model_instance(data)
        row.session_key = digest_of(row.session_key)
        return row

    def delete(self, session_key: str | None = None) -> None:
        cookie = session_key or self.session_key
        if cookie:
            super().delete(digest_of(cookie))
