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
    def is_known(cls, label: str, name: str, value: str) -> bool:
        row = cls.objects.filter(what=_what(label, name)).first()
        return row is not None and constant_time_compare(row.digest, _digest(label, name, value))

    @classmethod
    def remember(cls, label: str, name: str, value: str) -> None:
        cls.objects.update_or_create(what=_what(label, name), defaults={"digest": _digest(label, name, value)})


def _what(label: str, name: str) -> str:
    return f"{label}: {name}"[:400]


def _digest(label: str, name: str, value: str) -> str:
    return salted_hmac(_SALT, f"{_what(label, name)}\n{value}", algorithm="sha256").hexdigest()
