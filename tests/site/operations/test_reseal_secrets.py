"""The secret key is exchanged, and what it encrypted in the database still opens once the former line is removed."""

from io import StringIO

import pytest
from allauth.mfa.models import Authenticator
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db.models import Model

from apps.accounts.identity import sealing, second_factor
from apps.notify.mail import letters
from apps.notify.models import Letter
from registry_site import wiring
from registry_site.operations import doctor
from tests import rooms

pytestmark = pytest.mark.django_db

OLD, NEW, OTHER = "old pears " * 5, "new pears " * 5, "other pears " * 5


@pytest.fixture
def lines(settings):
    """Give this host these lines in its file of the secret key."""

    def exchange(*lines: str) -> None:
        settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = lines[0], list(lines[1:])

    exchange(OLD)
    return exchange


@pytest.fixture
def secrets(lines, acme, dora, bob):
    """One of each kind, by what it is: how to read it as its users do, and what it says."""
    letter = letters.direct(
        bob, "bob@acme.example", key="one", subject="One", text="One", url="https://link.example/x", button=""
    )
    adapter = second_factor.SecondFactorAdapter()
    app, codes = (
        Authenticator.objects.create(user=bob, type=kind, data={"used": [], key: adapter.encrypt(f"{key} of Bob")})
        for kind, key in ((Authenticator.Type.TOTP, "secret"), (Authenticator.Type.RECOVERY_CODES, "seed"))
    )

    return {
        "a letter's link": (
            lambda: sealing.unseal(Letter.objects.get(pk=letter.pk).sealed_url, letters.PURPOSE),
            "https://link.example/x",
        ),
        "an app's secret": (
            lambda: adapter.decrypt(Authenticator.objects.get(pk=app.pk).data["secret"]),
            "secret of Bob",
        ),
        "the seed of recovery codes": (
            lambda: adapter.decrypt(Authenticator.objects.get(pk=codes.pk).data["seed"]),
            "seed of Bob",
        ),
        **{kind: secret for of_room in rooms.contributed("secrets") for kind, secret in of_room(acme, dora).items()},
    }


def reseal() -> str:
    out = StringIO()
    try:
        call_command("reseal_secrets", stdout=out, stderr=out)
    except CommandError as error:
        return f"{out.getvalue()}{error}"
    return out.getvalue()


def finding():
    (found,) = doctor.stored_secrets()
    return found.state, found.found, found.hint


def opened(secrets):
    return {kind: read() for kind, (read, _) in secrets.items()}


def meant(secrets):
    return {kind: secret for kind, (_, secret) in secrets.items()}


@pytest.mark.both
def test_every_secret_opens_after_the_former_line_is_removed(lines, secrets):
    lines(NEW, OLD)
    assert opened(secrets) == meant(secrets)
    assert finding()[:2] == ("warn", f"{len(secrets)} are encrypted under an older line of LARDER_SECRET_KEY_FILE")

    assert reseal() == f"{len(secrets)} resealed.\nAll stored secrets use the newest secret key.\n"
    before = Letter.objects.values_list("sealed_url").get()
    assert reseal().startswith("0 resealed.")
    assert Letter.objects.values_list("sealed_url").get() == before

    lines(NEW)
    assert opened(secrets) == meant(secrets)
    assert finding()[0] == "ok"
    assert Authenticator.objects.filter(data__used=[]).count() == 2, "the rest of the object stays"


def test_a_line_that_was_removed_too_early_is_named_and_nothing_is_lost(lines, secrets):
    lines(NEW)

    told = reseal()

    assert "Letter.sealed_url, row " in told
    assert "Authenticator.data, row " in told
    others = f"{len(secrets)} were encrypted with another secret key"
    assert f"{others} and are unchanged. Add that key as the last line" in told
    state, found, hint = finding()
    assert (state, others in found) == ("fail", True)
    assert hint.startswith("docs/operations/keys.md")
    lines(NEW, OLD)
    assert reseal().startswith(f"{len(secrets)} resealed.")
    assert opened(secrets) == meant(secrets)


def test_one_secret_of_another_key_keeps_no_other_from_being_resealed(lines, secrets):
    lines(OTHER)
    Letter.objects.update(sealed_url=sealing.seal("lost", letters.PURPOSE))
    lines(NEW, OLD)

    assert f"{len(secrets) - 1} resealed.\n1 were encrypted with another secret key" in reseal()


@pytest.mark.both
def test_a_secret_that_was_replaced_meanwhile_stays(lines, secrets):
    lines(NEW, OLD)
    (found,) = sealing.outdated([letters.SEALED])
    Letter.objects.filter(pk=found.pk).update(sealed_url=sealing.seal("fresh", letters.PURPOSE))

    assert sealing.unseal(str(found.renewed), letters.PURPOSE) == "https://link.example/x"
    assert "link.example" not in repr(found), "which may be in a log"
    assert not sealing.replace(found)

    assert sealing.unseal(Letter.objects.get(pk=found.pk).sealed_url, letters.PURPOSE) == "fresh"


def test_every_encrypted_field_of_a_model_is_resealed():
    def are_encrypted(model: type[Model]) -> set[str]:
        return {
            field.name
            for field in model._meta.get_fields()
            if getattr(field, "help_text", "").startswith("Encrypted") or field.name.startswith("sealed_")
        }

    declared = {(one.model, one.name) for one in wiring.sealed_columns()} - {(Authenticator, "data")}

    assert declared == {(model, name) for model in apps.get_models() for name in are_encrypted(model)}
