"""Admin pages of signing keys: view, retire, revoke. No page shows a private half."""

from collections.abc import Callable

from django.contrib import admin
from django.db.models import Count, IntegerField, OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html

from apps.accounts.admin.actors import each
from apps.accounts.admin.filters import in_namespace
from apps.accounts.admin.reasons import Reasoned, acts
from apps.admin_base import Act, Column, ReadOnlyAdmin, badge, is_set, moment, one_of
from apps.signing import keys, statement_keys
from apps.signing.models import SigningKey, State, StatementKey


def _ends(name: str, title: str, lead: str, done: str, verb: Callable[..., object], *states: State) -> Reasoned:
    """Declare an action that ends a key in one of these states."""
    return Reasoned(
        name,
        title,
        lead,
        done,
        lambda key, actor, reason: verb(key=key, actor=actor, reason=reason),
        lambda key: key.state in states,
        ("Key", "Namespace", "Name in the key", "Now", "Releases signed"),
        lambda key: (key.namespace.name, key.uid or "-", key.state, key.release_count),
        "keys",
        is_final=name == "revoke",
    )


ACTS = acts(
    "signing.change_signingkey",
    keys.MAX_REASON_CHARACTERS,
    "One or two sentences, shown beside the key to everyone who reads the namespace.",
    _ends(
        "retire",
        "Retire",
        "A retired key can't sign new versions. Releases it signed stay valid.",
        "Retired",
        keys.retire,
        State.ACTIVE,
    ),
    _ends(
        "revoke",
        "Revoke",
        "For a key whose private key may have leaked. Clients reject releases it signed until another key signs them. "
        "This cannot be undone.",
        "Revoked",
        keys.revoke,
        State.ACTIVE,
        State.RETIRED,
    ),
)
ExpiryFilter = one_of(
    "expiry",
    "expiry",
    {
        "due": (
            f"Active, expired or within {keys.EXPIRY_WARNING.days} days",
            lambda rows: rows.filter(pk__in=keys.due().values("pk")),
        ),
        "soon": (
            f"Within {keys.EXPIRY_WARNING.days} days",
            lambda rows: rows.filter(
                expires_at__gt=timezone.now(), expires_at__lte=timezone.now() + keys.EXPIRY_WARNING
            ),
        ),
        "over": ("Expired", lambda rows: rows.filter(expires_at__lte=timezone.now())),
        "never": ("Never", lambda rows: rows.filter(Q(expires_at=None) & ~Q(state=State.PENDING))),
    },
)


@admin.register(SigningKey)
class SigningKeyAdmin(ReadOnlyAdmin[SigningKey]):
    list_display = ("title", "namespace", "state_badge", "signs", "algorithm", "uid", "ends", "releases", "page")
    list_filter = ("state", "custody", in_namespace(), ExpiryFilter, "algorithm")
    list_select_related = ("namespace", "added_by", "ended_by")
    ordering = ("-added_at", "-pk")
    search_help_text = "A namespace, the beginning or the end (key id) of a fingerprint, or a word of the name."
    fields = (
        ("namespace", "state", "custody"),
        ("fingerprint", "key_id"),
        ("algorithm", "uid"),
        ("made_at", "expires_at"),
        ("source", "source_url"),
        ("added_by", "added_at"),
        ("ended_by", "ended_at"),
        "reason",
        "releases",
        "public_key",
    )
    acts = ACTS
    csv_columns = (
        "namespace__name",
        "fingerprint",
        "state",
        "custody",
        "algorithm",
        "uid",
        "made_at",
        "expires_at",
        "source",
        "source_url",
        "added_at",
        "ended_at",
        "reason",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[SigningKey]:
        # The relation belongs to a room above, so only its name is used here.
        signed = SigningKey.objects.filter(pk=OuterRef("pk")).annotate(number=Count("provider_versions"))
        count = Subquery(signed.order_by().values("number"), output_field=IntegerField())
        return super().get_queryset(request).annotate(release_count=count)

    def search_condition(self, word: str) -> Q:
        digits = word.removeprefix("0x").upper()
        by_number = Q(fingerprint__begins=digits) | Q(key_id=digits)
        return by_number | Q(namespace__name=word) | Q(uid__icontains=word)

    def view_on_site(self, key: SigningKey) -> str:
        if not key.fingerprint:
            return reverse("portal:keys", args=[key.namespace.name])
        return reverse("portal:key", args=[key.namespace.name, key.fingerprint])

    # --- What is shown ------------------------------------------------------------------------------------------------

    title = Column("key", str, order="fingerprint")
    state_badge = Column(
        "state",
        lambda key: badge("expired" if key.state == State.ACTIVE and key.is_expired else key.state),
        order="state",
    )

    signs = Column("custody", "custody", order="custody")

    @admin.display(description="expires", ordering="expires_at")
    def ends(self, key: SigningKey) -> str:
        return moment(key.expires_at) if key.expires_at else ("-" if key.state == State.PENDING else "never")

    releases = Column("releases signed", "release_count")  # not sorted by: each count reads as many rows
    public_key = Column("public key", lambda key: format_html("<pre>{}</pre>", key.armor) if key.armor else "-")


@admin.register(StatementKey)
class StatementKeyAdmin(ReadOnlyAdmin[StatementKey]):
    list_display = ("title", "state_badge", "made_at", "retired_at", "signed")
    list_filter = (is_set("state", "retired", "retired_at", ("Retired", "Active")),)
    ordering = ("-made_at", "-pk")
    search_help_text = "The start of a key id."
    fields = ("key_id", ("made_at", "retired_at"), "signed", "public_half")
    acts = {
        "rotate": Act(
            "Rotate selected keys",
            statement_keys.PERMISSION,
            each(lambda key, actor: statement_keys.rotate(key=key, actor=actor), "Rotated"),
            button="Rotate",
            offered=lambda key: key.retired_at is None,
            warning="A new key signs statements from now on. This one stays valid for what it has signed.",
        )
    }
    csv_columns = ("key_id", "made_at", "retired_at", "public_key")

    def get_queryset(self, request: HttpRequest) -> QuerySet[StatementKey]:
        # As for keys of namespaces.
        signed = StatementKey.objects.filter(pk=OuterRef("pk")).annotate(number=Count("statements"))
        count = Subquery(signed.order_by().values("number"), output_field=IntegerField())
        return super().get_queryset(request).annotate(statement_count=count)

    def search_condition(self, word: str) -> Q:
        return Q(key_id__begins=word.lower())

    title = Column("key", str, order="key_id")
    state_badge = Column("state", lambda key: badge(key.state))
    # Not by the name of the relation: Django would sort by that, and show a key for each of its statements.
    signed = Column("statements signed", "statement_count")
    public_half = Column("public key", lambda key: format_html("<pre>{}</pre>", key.public_key))
