"""/api/v1/invitations: owners and operators invite by script; the link is in one answer alone."""

import json
from typing import Any

from django.test import Client

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Grant, Invitation, Role, Scope, User
from apps.accounts.people import invitations
from tests.rows import for_each_row

URL = "/api/v1/invitations"
ERIN = {"note": "Erin", "namespace": "acme", "role": "publisher"}
PASSWORD = "ripe plums in august"


def invite(client, body):
    return client.post(URL, json.dumps(body), content_type="application/json")


def test_an_owner_invites_and_the_person_joins(tofu, dora, acme):
    client = tofu(dora)
    answer = invite(client, ERIN)
    made = answer.json()

    assert (answer.status_code, answer.headers["Cache-Control"]) == (201, "no-store")
    assert (made["state"], made["by"], made["role"]) == ("open", "dora", "publisher")
    assert made["link"] not in client.get(URL).text
    link = "/invitations/" + made["link"].rpartition("/")[2]
    assert Client().post(link, {"username": "erin", "password": PASSWORD, "again": PASSWORD}).status_code == 303
    (row,) = client.get(URL).json()["invitations"]
    assert (row["state"], row["used_by"]) == ("used", "erin")
    assert Grant.objects.get(user__username="erin").role == Role.PUBLISHER


def test_an_operator_invites_without_a_role_and_sees_all(tofu, olga, dora, acme):
    invite(tofu(dora), ERIN)
    answer = invite(tofu(olga), {"note": "Frank"})

    assert (answer.status_code, answer.json()["namespace"], answer.json()["role"]) == (201, None, None)
    assert [row["note"] for row in tofu(olga).get(URL).json()["invitations"]] == ["Frank", "Erin"]
    assert [row["note"] for row in tofu(dora).get(URL).json()["invitations"]] == ["Erin"]
    assert tofu(dora).get(f"{URL}/{answer.json()['id']}").status_code == 404


@for_each_row(
    ("body", "status"),
    [
        ({"note": "Erin"}, 403),
        ({"note": "Erin", "namespace": "acme"}, 422),
        ({"note": "Erin", "role": "reader"}, 422),
        ({"note": "Erin", "namespace": "acme", "role": "king"}, 422),
        ({"note": "x" * 121, "namespace": "acme", "role": "reader"}, 422),
        ({"note": "Erin", "namespace": "pantry", "role": "reader"}, 403),
        ({"note": "Erin", "namespace": "nowhere", "role": "reader"}, 404),
    ],
)
def test_an_owner_invites_into_their_namespaces_alone(tofu, dora, pantry, body, status):
    assert invite(tofu(dora), body).status_code == status
    assert not Invitation.objects.exists()


def test_a_token_invites_within_its_limits(client, bearer, dora, olga, acme, pantry):
    cases: Any = [
        (dora, {"scope": Scope.PUBLISH}, ERIN, 403),
        (dora, {"namespaces": [acme]}, ERIN, 201),
        (dora, {"only_name": "vpc/aws"}, ERIN, 403),
        (olga, {"namespaces": [acme]}, ERIN, 201),
        (olga, {"namespaces": [acme]}, {"note": "Frank"}, 403),
        (olga, {"namespaces": [acme]}, ERIN | {"namespace": "pantry"}, 403),
    ]
    for user, limits, body, status in cases:
        headers = bearer(user, **limits)
        answer = client.post(URL, json.dumps(body), content_type="application/json", headers=headers)
        assert answer.status_code == status, (user, limits, body)
    invitations.invite(actor=Viewer(olga), note="Gerda")
    seen = client.get(URL, headers=bearer(olga, namespaces=[acme])).json()["invitations"]
    assert {row["note"] for row in seen} == {"Erin"}
    for_one_name = bearer(dora, only_name="vpc/aws")
    assert client.get(URL, headers=for_one_name).status_code == 403
    assert client.delete(f"{URL}/{Invitation.objects.earliest('pk').pk}", headers=for_one_name).status_code == 403


def test_without_passwords_nobody_is_invited(tofu, dora, acme, settings):
    settings.LOCAL_SIGN_IN = "off"

    refused = invite(tofu(dora), ERIN)
    assert (refused.status_code, "single sign-on" in refused.text) == (409, True)
    assert not User.objects.filter(username="erin").exists()


def test_the_list_has_pages_and_few_queries(tofu, dora, acme, in_pages):
    for number in range(3):
        invitations.invite(actor=Viewer(dora), note=f"n{number}", namespace=acme, role=Role.READER)
    rows = in_pages(tofu(dora), URL, queries=4)

    assert [row["note"] for row in rows] == ["n2", "n1", "n0"]
