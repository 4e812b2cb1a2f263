"""Secrets that Larder must be able to read again, encrypted in the database: a dump of it alone is of no use."""

import base64
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.db import transaction
from django.db.models import Model, QuerySet

from apps.lib.errors import Unavailable


@dataclass(frozen=True, slots=True)
class Column:
    """A column of encrypted text: the field `name` of a model, or the text under `key` of the object in it.

    `bound_to`: the field whose value is a part of the purpose, so that no other row opens the text.
    """

    model: type[Model]
    name: str
    purpose: str
    bound_to: str = ""
    key: str = ""

    def __str__(self) -> str:
        return f"{self.model.__name__}.{self.name}"

    def purpose_of(self, bound: object) -> str:
        return f"{self.purpose}.{bound}" if self.bound_to else self.purpose

    def text_in(self, value: Any) -> str:
        return str(value.get(self.key, "")) if self.key else str(value)


@dataclass(frozen=True, slots=True)
class Outdated:
    """A stored text that the newest secret key does not open.

    `renewed`: the same secret under that key; None if no line of the file opens the text.
    """

    column: Column
    pk: int
    text: str
    renewed: str | None

    def __str__(self) -> str:
        return f"{self.column}, row {self.pk}"


def seal(text: str, purpose: str) -> str:
    return cipher(purpose).encrypt(text.encode()).decode()


def unseal(sealed: str, purpose: str) -> str:
    """Raises Unavailable where the secret key is another one."""
    try:
        return cipher(purpose).decrypt(sealed.encode()).decode()
    except InvalidToken:
        raise Unavailable(
            "A stored secret was encrypted with another secret key.",
            hint="Use the secret key file that encrypted it on every host (LARDER_SECRET_KEY_FILE).",
        ) from None


def cipher(purpose: str) -> MultiFernet:
    """Under keys from the secret key and its predecessors; what one purpose encrypted, no other opens."""
    return MultiFernet([_cipher(key, purpose) for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)])


def outdated(columns: Iterable[Column]) -> Iterator[Outdated]:
    """Read every sealed text of these columns, row by row."""
    for column in columns:
        fields = ("pk", column.name, column.bound_to or "pk")
        for pk, value, bound in QuerySet(column.model).order_by("pk").values_list(*fields):
            text, purpose = column.text_in(value), column.purpose_of(bound)
            if text and not _opens(text, purpose):
                try:
                    renewed = cipher(purpose).rotate(text).decode()
                except InvalidToken:
                    renewed = None
                yield Outdated(column, pk, text, renewed)


def replace(found: Outdated) -> bool:
    """Store the renewed text. False if there is none, or the row has another text by now."""
    column, renewed = found.column, found.renewed
    with transaction.atomic():
        rows: QuerySet[Any] = QuerySet(column.model).filter(pk=found.pk)
        value = rows.select_for_update().values_list(column.name, flat=True).first()
        if renewed is None or value is None or column.text_in(value) != found.text:
            return False
        rows.update(**{column.name: {**value, column.key: renewed} if column.key else renewed})
    return True


def _opens(text: str, purpose: str) -> bool:
    """Return whether the newest secret key opens the text."""
    try:
        _cipher(settings.SECRET_KEY, purpose).decrypt(text.encode())
    except InvalidToken:
        return False
    return True


def _cipher(key: str, purpose: str) -> Fernet:
    return Fernet(base64.urlsafe_b64encode(hashlib.sha256(f"larder.{purpose}".encode() + key.encode()).digest()))
