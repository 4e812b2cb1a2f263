"""/api/v1/namespaces/<ns>/trusted-publishers for owners, and the exchange for runs of CI that have only an id token."""

from collections.abc import Collection, Iterator
from functools import partial
from http import HTTPStatus
from typing import Any

from django.db.models import QuerySet
from django.urls import path
from django.views.decorators.debug import sensitive_variables
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import (
    BooleanField,
    CharField,
    ChoiceField,
    DictField,
    IntegerField,
    JSONField,
    ListField,
)

from apps.accounts.access import gate
from apps.accounts.identity.trusted.vendors import OIDC, VENDORS
from apps.accounts.models import ApiToken, Namespace, Role, TokenExchange, TrustedPublisher
from apps.api.frame.base import DRY_RUN, ApiView, DetailView, ListView, listed, operation, shown
from apps.api.frame.shapes import Consequences, MomentField, Shape, page
from apps.contrib.trusted import publishers
from apps.contrib.trusted.exchange import exchange
from apps.releases.lifecycle.access_impact import of_machine

# What rules of the vendors name, each with the kinds that have it.
_NAMED = {
    name: sorted(kind for kind, vendor in VENDORS.items() if vendor.field_named(name))
    for name in dict.fromkeys(name for vendor in VENDORS.values() for name in vendor.field_names)
}


def described(names: Collection[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the fields of the rules of these namespaces, as they were sent, for files that describe them: an answer has
    those of its kind in `fields`, and all that it checks.
    """
    for rule in publishers.rules().filter(namespace__name__in=names).select_related("namespace").iterator():
        sent = {"id": rule.pk, "kind": rule.kind, "issuer": rule.issuer, "only_name": rule.only_name, **rule.fields}
        claims = publishers.claims_of(rule) if rule.kind == OIDC.kind else {}
        sent["claims"] = {name: value for name, value in claims.items() if name not in ("iss", "aud")} or None
        yield rule.namespace.name, sent


class TextOrNumber(serializers.JSONField):
    """Ids are numbers at some vendors. `publishers.draft` checks the value."""


class PublisherInput(serializers.Serializer[Any]):
    """The fields depend on `kind`; see the table in docs/trusted-publishing.md."""

    kind = serializers.ChoiceField(choices=list(VENDORS))
    only_name = serializers.CharField(
        required=False,
        allow_blank=True,
        help_text="Limits publishing to this name, such as vpc/aws. The default is everything.",
    )
    issuer = serializers.CharField(
        required=False, allow_blank=True, max_length=200, help_text="The default is the vendor's own."
    )
    claims = serializers.DictField(
        child=serializers.JSONField(), required=False, help_text="For oidc: claims with their exact values."
    )

    def get_fields(self) -> dict[str, Any]:
        fields = super().get_fields()
        for name, kinds in _NAMED.items():
            fields[name] = TextOrNumber(required=False, help_text=f"Only for {', '.join(kinds)}.")
        return fields


class Preview(Shape):
    kind = ChoiceField(choices=list(VENDORS))
    issuer = CharField()
    only_name = CharField(help_text="Limits publishing to this name. Empty for everything in the namespace.")
    fields_ = DictField(child=JSONField(), help_text="What the rule matches.")
    claims = DictField(
        child=JSONField(),
        help_text="The accepted claims and their values. A value that ends in … is truncated.",
    )
    refused = ListField(child=CharField(), help_text="What is always refused.")
    warnings = ListField(child=CharField(), help_text="Weaknesses of the rule.")


class Publisher(Preview):
    id = IntegerField(source="pk")
    publishes_as = CharField(source="user.username", help_text="Account named in its releases and audit events.")
    pinned = DictField(child=JSONField(), help_text="Immutable ids, recorded by the first exchange.")
    pinned_at = MomentField(allow_null=True)
    by = CharField(source="created_by.shown_name", allow_null=True)
    created_at = MomentField()
    expires_at = MomentField(allow_null=True, help_text="Expires at this time if it is not used before.")
    last_used_at = MomentField(allow_null=True)
    suspended_at = MomentField(allow_null=True, help_text="Suspended: it does nothing until an owner confirms it.")
    suspended_reason = CharField()

    def claims_of(self, rule: TrustedPublisher) -> dict[str, Any]:
        return publishers.claims_of(rule)

    def refused_of(self, rule: TrustedPublisher) -> list[str]:
        return publishers.refusals_of(publishers.vendor_of(rule))

    def warnings_of(self, rule: TrustedPublisher) -> list[str]:
        return publishers.warnings_of(publishers.vendor_of(rule), rule.fields)


class Attempt(Shape):
    publisher = IntegerField(source="publisher_id")
    at = MomentField()
    accepted = BooleanField()
    refused_claim = CharField(source="refused", help_text="Empty if it was accepted.")
    message = CharField(help_text="Why it was refused, or empty.")
    claims = DictField(child=JSONField())

    def accepted_of(self, attempt: TokenExchange) -> bool:
        return not attempt.refused


class ExchangeInput(serializers.Serializer[Any]):
    token = serializers.CharField(max_length=1024 * 1024, help_text="The id token of the run.")
    address = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=200,
        help_text="What to publish, such as acme/vpc/aws, if several trusted publishers match.",
    )


class RunToken(Shape):
    token = CharField(help_text="The API token. Returned only in this response.")
    expires_at = MomentField()
    namespace = CharField()
    only_name = CharField(help_text="Limits publishing to this name. Empty for everything in the namespace.")
    publisher = IntegerField(help_text="The id of the trusted publisher.")


class OwnersView(ApiView):
    def place(self) -> Namespace:
        """Raises what the gate raises."""
        return gate.namespace_for(self.viewer, self.kwargs["namespace"], need=Role.OWNER)


class PublisherList(OwnersView, ListView):
    get = listed(
        "List the trusted publishers of a namespace",
        page("TrustedPublisherPage", trusted_publishers=Publisher(many=True)),
        scope="manage",
    )

    def rows(self, **_: Any) -> QuerySet[TrustedPublisher]:
        return publishers.of(self.place())

    @operation(
        "Add a trusted publisher",
        takes=PublisherInput,
        answers={201: Publisher},
        again="409, because an equal one exists.",
    )
    def post(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        """`claims` are those that would pass. An immutable id that is left out is pinned at the first exchange."""
        place = self.place()
        rule = publishers.create(namespace=place, actor=self.viewer, **self.body())
        return self.answer(rule, HTTPStatus.CREATED)


class PublisherPreview(OwnersView):
    @operation(
        "Preview a trusted publisher",
        takes=PublisherInput,
        answers={200: Preview},
        again="The same response.",
        idempotent=True,
    )
    def post(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        """The claims that would pass. Nothing is saved."""
        self.place()
        draft = publishers.draft(**self.body())
        return self.answer(
            {
                "kind": draft.vendor.kind,
                "issuer": draft.issuer,
                "only_name": draft.only_name,
                "fields": draft.fields,
                "claims": draft.claims,
                "refused": publishers.refusals_of(draft.vendor),
                "warnings": publishers.warnings_of(draft.vendor, draft.fields),
            }
        )


class PublisherDetail(OwnersView, DetailView):
    get = shown("Show a trusted publisher", Publisher, scope="manage")

    def row(self, **_: Any) -> TrustedPublisher:
        return publishers.publisher_of(self.place(), self.kwargs["publisher_id"])

    @operation("Delete a trusted publisher", answers={200: Consequences, 204: None}, query=DRY_RUN, again="404.")
    def delete(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        """Its tokens end at once. Releases stay."""
        rule = publishers.publisher_of(self.place(), self.kwargs["publisher_id"])
        if self.is_dry_run():
            return self.answer(of_machine(rule.user))
        publishers.end(publisher=rule, actor=self.viewer)
        return self.answer(status=HTTPStatus.NO_CONTENT)


class Attempts(OwnersView, ListView):
    get = listed(
        "List the attempts at the trusted publishers of a namespace, newest first",
        page("TokenExchangePage", attempts=Attempt(many=True)),
        scope="manage",
    )

    def rows(self, **_: Any) -> QuerySet[TokenExchange]:
        return publishers.recent_exchanges(self.place())


class Exchange(ApiView):
    """Exchange an id token, which is the credential: no other is needed."""

    authentication_classes = []

    @operation(
        "Exchange an id token of a CI run for an API token",
        takes=ExchangeInput,
        answers={200: RunToken},
        errors={
            403: "The id token was refused. The message names the claim.",
            409: "Several trusted publishers match: send `address`.",
            503: "The keys of the issuer cannot be read.",
        },
        limits=["tokens"],
        again="403: an id token is exchanged once.",
        scope=None,
        public=True,
    )
    @sensitive_variables("wanted", "made", "secret")
    def post(self, request: Request) -> Response:  # noqa: ARG002
        """The token is valid for 15 minutes and publishes what the trusted publisher says."""
        wanted = self.body()
        made, secret, record = exchange(
            wanted["token"], address=wanted.get("address", ""), count_refusal=partial(self.count, "tokens")
        )
        return self.answer(_run_token(made, secret, record), headers={"Cache-Control": "no-store"})


@sensitive_variables("secret")
def _run_token(made: ApiToken, secret: str, record: TokenExchange) -> dict[str, Any]:
    return {
        "token": secret,
        "expires_at": made.expires_at,
        "namespace": record.publisher.namespace.name,
        "only_name": made.only_name,
        "publisher": record.publisher_id,
    }


_RULES = "namespaces/<segment:namespace>/trusted-publishers"

urlpatterns = [
    path(_RULES, PublisherList.as_view(), name="trusted-publishers"),
    path(f"{_RULES}/preview", PublisherPreview.as_view(), name="trusted-publisher-preview"),
    path(f"{_RULES}/attempts", Attempts.as_view(), name="trusted-publisher-attempts"),
    path(f"{_RULES}/<int:publisher_id>", PublisherDetail.as_view(), name="trusted-publisher"),
    path("trusted-publishing/token", Exchange.as_view(), name="trusted-publishing-token"),
]
