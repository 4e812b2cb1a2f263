"""The shapes of answers about tokens, service accounts, people and invitations."""

from typing import Any

from rest_framework.serializers import (
    BooleanField,
    CharField,
    ChoiceField,
    DateTimeField,
    IntegerField,
    ListField,
    Serializer,
)

from apps.api.frame.shapes import ROLES, Page, TokenFacts


class Token(TokenFacts):
    start = CharField(help_text="Its first characters, to recognise it.")
    usable = BooleanField(help_text="Neither expired, revoked nor suspended.")
    created_at = DateTimeField()
    revoked_at = DateTimeField(allow_null=True)
    suspended_at = DateTimeField(allow_null=True, help_text="Since an older database was restored.")
    leaked_at = DateTimeField(allow_null=True, help_text="Since someone reported where they found it.")
    leaked_url = CharField()
    last_used_at = DateTimeField(allow_null=True)
    last_used_by = CharField(help_text="The client, or empty.")
    last_used_from = CharField(help_text="Its address, or empty.")


class TokenPage(Page):
    tokens = Token(many=True)


class Creation(Serializer[Any]):
    kind = CharField(help_text="role, membership, invitation, token, service account, signing key or webhook.")
    name = CharField()
    created_at = DateTimeField()


class KeptCreation(Creation):
    reason = CharField(help_text="Why it has not ended.")
    hint = CharField()


class TokenDetail(Token):
    created = Creation(many=True, help_text="What it created and has not ended.")


class RevokedToken(Serializer[Any]):
    ended = Creation(many=True)
    kept = KeptCreation(many=True)


class NewToken(Token):
    secret = CharField(help_text="The token itself, in this answer alone.")


class ServiceAccount(Serializer[Any]):
    name = CharField()
    user = CharField(help_text="As others see it: team.name[bot].")
    team = CharField()
    may_manage = BooleanField(help_text="Its team's manager allowed tokens of scope manage.")
    warning = CharField(help_text="For people: empty, or why this account is worth a look.")
    created_at = DateTimeField()


class ServiceAccountPage(Page):
    service_accounts = ServiceAccount(many=True)


class UserRow(Serializer[Any]):
    user = CharField()
    name = CharField()
    active = BooleanField()
    staff = BooleanField()
    superuser = BooleanField()
    roles = ListField(child=CharField(), help_text="Operator or Auditor.")
    machine = BooleanField(help_text="A service account.")
    team = CharField(allow_null=True, help_text="Of a service account.")
    may_manage = BooleanField(help_text="A service account that may have tokens of scope manage.")
    warning = CharField(help_text="For people: empty, or why this service account is worth a look.")
    erased = BooleanField()
    joined_at = DateTimeField()
    signed_in_at = DateTimeField(allow_null=True)


class UserPage(Page):
    users = UserRow(many=True)


class User(UserRow):
    only_owner_of = ListField(child=CharField(), help_text="Namespaces without another active owner.")
    only_manager_of = ListField(child=CharField(), help_text="Teams without another active manager.")


class Invitation(Serializer[Any]):
    id = IntegerField()
    note = CharField()
    state = ChoiceField(choices=["open", "used", "revoked", "expired"])
    namespace = CharField(allow_null=True)
    role = ChoiceField(choices=ROLES, allow_null=True)
    by = CharField(allow_null=True, help_text="null if it was made on the host.")
    created_at = DateTimeField()
    expires_at = DateTimeField()
    revoked_at = DateTimeField(allow_null=True)
    used_at = DateTimeField(allow_null=True)
    used_by = CharField(allow_null=True)


class InvitationPage(Page):
    invitations = Invitation(many=True)


class NewInvitation(Invitation):
    link = CharField(help_text="For the person, in this answer alone.")
