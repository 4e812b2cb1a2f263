"""Django's database sessions, stored under a digest of the cookie (SESSION_ENGINE).

A session row is as good as a password for twelve hours. With Django's own engine its key is the cookie's value, so
whoever reads the table, or a backup of it, is signed in as everybody.
"""

import hashlib
from typing import Any

from django.contrib.sessions.backends import db
from django.contrib.sessions.base_session import AbstractBaseSession
from django.utils import timezone

# The column has 40 characters; 160 bits are as many as the cookie has.
_LENGTH = 40


def digest_of(cookie: str) -> str:
    return hashlib.sha256(cookie.encode()).hexdigest()[:_LENGTH]


class SessionStore(db.SessionStore):
    """`session_key` is the cookie's value, as for Django; only the row has the digest.

    The name of the class is part of the salt under which the data is signed: with Django's own name, the model's
    `get_decoded` reads it. Of the methods only the synchronous ones are ours, since no view here is asynchronous.
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
