"""Recognise a database that is more than a demonstration: one that people have used."""

from collections.abc import Iterator

from django.conf import settings
from django.contrib.auth.hashers import is_password_usable
from django.db.models import Q

from apps.accounts.models import ApiToken, Namespace, User
from apps.contrib.demo.seed import seed
from apps.lib.errors import Invalid
from apps.releases.models import Release

SHOWN = 3


def refuse() -> None:
    """Raise Invalid if a Larder is to show a database as a demonstration that its seed did not make alone."""
    if settings.DEMO != "on":
        return
    problem = ""
    if settings.IDENTITY_PROVIDERS or settings.SECOND_FACTOR != "off":
        problem = "sign-on or a second factor is set up, expected neither: visitors do not sign in"
    elif found := list(strangers()):
        more = f", and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        problem = f"found {', '.join(found[:SHOWN])}{more} in the database, expected an empty one or a demonstration's"
    if problem:
        raise Invalid(
            f"LARDER_DEMO=on: {problem}. Nothing was changed.",
            hint="For a demonstration, use another LARDER_DATA_DIR or LARDER_DATABASE_URL and LARDER_STORAGE_URL. For "
            "this registry, remove LARDER_DEMO.",
        )


def strangers() -> Iterator[str]:
    """Name what the seed did not make, and each sign that someone has worked here: a sign-in, a password, a token.

    A person who changes a registry has one of those. (`admin` with the password of the first run has made nothing yet.)
    """
    known = seed()
    for user in User.objects.order_by("pk"):
        if user.username not in known.accounts and not (user.username == "admin" and user.is_superuser):
            yield f"the account {user.username}"
        elif user.last_login is not None:
            yield f"a sign-in of {user.username}"
        elif user.username in known.accounts and is_password_usable(user.password):
            yield f"a password of {user.username}"
    for token in ApiToken.objects.order_by("pk"):
        yield f"the token {token.label!r}"
    for namespace in Namespace.including_deleted.exclude(name__in=known.facts["namespaces"]).order_by("pk"):
        yield f"the namespace {namespace.name}"
    planned = {planned.key for planned in known.versions}
    inside = Q(namespace__name__in=known.facts["namespaces"])
    for release in Release.objects.filter(inside).select_related("namespace").order_by("pk"):
        if (release.namespace.name, release.name, release.version) not in planned:
            yield f"the release {release}"
