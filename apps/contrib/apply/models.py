from collections.abc import Mapping

from django.db import models
from django.utils.crypto import constant_time_compare, salted_hmac

_SALT = "larder.apply.sent.v1"


class SentSecret(models.Model):
    """Recognises a secret that a file has given before: no answer of the API shows one."""

    what = models.CharField(max_length=400, help_text="What it belongs to, and its field.", unique=True)
    digest = models.CharField(max_length=64, help_text="HMAC-SHA256 under the secret key.")
    sent_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return self.what

    @classmethod
    def digests(cls) -> dict[str, str]:
        """Return all of them, by what they belong to: one query for a whole file."""
        return dict(cls.objects.values_list("what", "digest"))

    @staticmethod
    def is_known(digests: Mapping[str, str], label: str, name: str, value: str) -> bool:
        return constant_time_compare(digests.get(_what(label, name), ""), _digest(label, name, value))

    @classmethod
    def remember(cls, digests: dict[str, str], label: str, name: str, value: str) -> None:
        what, digest = _what(label, name), _digest(label, name, value)
        cls.objects.update_or_create(what=what, defaults={"digest": digest})
        digests[what] = digest


def _what(label: str, name: str) -> str:
    return f"{label}: {name}"[:400]


def _digest(label: str, name: str, value: str) -> str:
    return salted_hmac(_SALT, f"{_what(label, name)}\n{value}", algorithm="sha256").hexdigest()
