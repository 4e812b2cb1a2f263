"""/api/v1/upstreams: staff enable and change upstreams, everybody sees what they may read of them."""

import json
from datetime import timedelta

import pytest
from django.apps import apps
from django.contrib.auth.models import Permission
from django.utils import timezone

from apps.accounts.models import Scope, User
from apps.audit.models import AuditEvent
from apps.contrib.mirror.asking import upstreams
from apps.contrib.mirror.models import (
    Alarm,
    AlarmKind,
    KeyPin,
    PolicyException,
    Upstream,
    UpstreamPackage,
    UpstreamProvider,
)
from apps.contrib.mirror.tests import mirrored
from apps.lib.net.addresses import ANYWHERE
from tests.builders.tls import Authority
from tests.rows import for_each_row

URL = "/api/v1/upstreams"
TOFU = f"{URL}/registry.opentofu.org"
TERRAFORM = f"{URL}/registry.terraform.io"
CHANGED = "operation:upstream:changed"


def put(client, at=TOFU, **fields):
    return client.put(at, json.dumps(fields), content_type="application/json")


def test_staff_enable_the_opentofu_registry_with_two_fields(tofu, olga):
    answer = put(tofu(olga), enabled=True, cooldown_days=0)

    assert answer.status_code == 201, answer.json()
    made = answer.json()
    assert (made["host"], made["enabled"], made["cooldown_days"]) == ("registry.opentofu.org", True, 0)
    assert (made["visibility"], made["terraform_only"], made["url"], made["has_token"]) == ("public", False, "", False)
    assert made["health"]["state"] == "unasked"
    assert made["storage"] == {"packages": 0, "bytes": 0, "providers": 0}
    assert str(upstreams.enabled("Registry.OpenTofu.org")) == "registry.opentofu.org"
    assert tofu(olga).get(TOFU).json() == made
    assert tofu(olga).get(URL).json() == {"upstreams": [made], "next": None}
    [event] = AuditEvent.objects.filter(kind=CHANGED)
    assert event.detail == {"created": True, "changed": {"is_enabled": True, "cooldown_days": 0}}
    assert (event.subject, event.actor_id) == ("registry.opentofu.org", olga.pk)


def test_sent_again_in_any_spelling_it_changes_nothing_and_records_nothing(tofu, olga):
    put(tofu(olga), enabled=True, token="secret-of-theirs")
    again = put(tofu(olga), enabled=True, token="secret-of-theirs")

    assert again.status_code == 200
    assert AuditEvent.objects.filter(kind=CHANGED).count() == 1
    idn = [put(tofu(olga), f"{URL}/{host}", enabled=True) for host in ("Bücher.example", "xn--bcher-kva.example")]
    assert [(one.status_code, one.json()["host"]) for one in idn] == [
        (201, "xn--bcher-kva.example"),
        (200, "xn--bcher-kva.example"),
    ]
    assert put(tofu(olga), enabled=False).json()["enabled"] is False
    assert upstreams.enabled("registry.opentofu.org") is None
    assert upstreams.of_host("registry.opentofu.org") is not None


def test_others_see_those_that_are_on_and_nothing_about_operations(tofu, olga, charlie):
    put(tofu(olga), enabled=True, url="https://mirror.example.org", proxy="http://proxy.example:3128")
    put(tofu(olga), f"{URL}/internal.example", enabled=True, visibility="internal")
    put(tofu(olga), f"{URL}/private.example", enabled=True, visibility="private")
    put(tofu(olga), f"{URL}/off.example")

    def hosts(client):
        return [one["host"] for one in client.get(URL).json()["upstreams"]]

    assert hosts(tofu()) == ["registry.opentofu.org"]
    assert hosts(tofu(charlie)) == ["internal.example", "registry.opentofu.org"]
    assert hosts(tofu(olga)) == ["internal.example", "off.example", "private.example", "registry.opentofu.org"]
    shown = tofu(charlie).get(TOFU).json()
    assert {name for name, value in shown.items() if value is not None} == {
        *("host", "enabled", "visibility", "terraform_only", "sealed", "cooldown_days"),
    }
    assert "mirror.example.org" not in json.dumps(tofu().get(URL).json())
    for host in ("private.example", "off.example", "missing.example"):
        assert tofu(charlie).get(f"{URL}/{host}").status_code == 404
        assert tofu().get(f"{URL}/{host}").status_code == 401


def test_only_staff_who_may_view_them_see_operations(tofu, olga, charlie):
    put(tofu(olga), f"{URL}/off.example")
    view = Permission.objects.get(codename="view_upstream")
    charlie.user_permissions.add(view)
    pat = User.objects.create_user("pat", is_staff=True)
    assert [tofu(one).get(URL).json()["upstreams"] for one in (charlie, pat)] == [[], []]

    pat.user_permissions.add(view)
    assert [one["host"] for one in tofu(pat).get(URL).json()["upstreams"]] == ["off.example"]


def test_a_token_of_staff_sees_operations_with_the_scope_manage_and_no_limits_alone(tofu, bearer, client, olga, acme):
    put(tofu(olga), f"{URL}/off.example", proxy="http://proxy.example:3128")

    for scope, limits in ((Scope.READ, {}), (Scope.PUBLISH, {}), (Scope.MANAGE, {"namespaces": [acme]})):
        headers = bearer(olga, scope, **limits)
        assert client.get(URL, headers=headers).json()["upstreams"] == [], (scope, limits)
        assert client.get(f"{URL}/off.example", headers=headers).status_code == 404
    assert tofu(olga).get(f"{URL}/off.example").json()["proxy"] == "http://proxy.example:3128"


def test_the_token_is_written_and_never_shown(tofu, olga):
    answer = put(tofu(olga), enabled=True, token="hidden-token-7")

    assert answer.json()["has_token"] is True
    assert "hidden-token-7" not in answer.content.decode()
    rows = [str(row) for model in apps.get_models() for row in model._default_manager.values_list()]
    assert [row for row in rows if "hidden-token-7" in row] == []
    assert upstreams.token_of(Upstream.objects.get()) == "hidden-token-7"
    assert AuditEvent.objects.get(kind=CHANGED).detail["changed"]["signs_in"] is True
    assert put(tofu(olga), token="").json()["has_token"] is False
    assert AuditEvent.objects.filter(kind=CHANGED).latest("pk").detail["changed"] == {"signs_in": False}


def test_who_enables_the_terraform_registry_accepts_its_terms(tofu, olga):
    assert put(tofu(olga), TERRAFORM, enabled=False).json()["terms_accepted_at"] is None
    made = put(tofu(olga), TERRAFORM, enabled=True).json()
    assert (made["enabled"], made["terraform_only"]) == (True, True)
    assert made["terms_accepted_at"] is not None
    detail = AuditEvent.objects.filter(kind=CHANGED).latest("pk").detail["changed"]
    assert detail == {"is_enabled": True, "accepted_terms": "https://registry.terraform.io/terms"}
    assert put(tofu(olga), TERRAFORM, terraform_only=False).json()["terraform_only"] is False
    assert put(tofu(olga), enabled=True).json()["terms_accepted_at"] is None  # the other registry has none


@for_each_row(
    ("host", "fields", "said"),
    [
        ("larder.example", {}, "is this Larder"),
        ("registry.example:8443", {}, "has a colon"),
        ("-dash.example", {}, "is not a host name"),
        ("x.example", {"url": "http://x.example"}, "expected https on port 443"),
        ("x.example", {"url": "https://10.0.0.1"}, "is not allowed"),
        ("x.example", {"proxy": "http://u:p@proxy.example:3128"}, "user name or password"),
        ("x.example", {"ca": "no PEM"}, "is not a PEM certificate"),
        ("x.example", {"token": "two words"}, "contains spaces"),
        ("x.example", {"visibility": "secret"}, "is not a valid choice"),
        ("x.example", {"cooldown_days": 10**9}, "cooldown_days"),
        ("x.example", {"color": "red"}, "There is no field"),
    ],
)
def test_what_cannot_work_is_refused_with_a_hint(tofu, olga, settings, host, fields, said):
    settings.HOSTNAMES = frozenset({"larder.example", "127.0.0.1"})
    answer = put(tofu(olga), f"{URL}/{host}", **fields)

    assert answer.status_code == 422, answer.content
    assert said in json.dumps(answer.json(), ensure_ascii=False)
    assert answer.json()["error"]["hint"]
    assert not Upstream.objects.exists()


def test_an_internal_registry_has_its_own_url_authority_and_proxy(tofu, olga, settings):
    settings.UPSTREAM = type(settings.UPSTREAM)(allow=ANYWHERE)
    pem = Authority("Corp").pem.decode()
    made = put(
        tofu(olga),
        f"{URL}/registry.corp.example",
        enabled=True,
        url="http://10.0.0.7:8080/",
        ca=pem,
        proxy="http://proxy.corp.example:3128",
    ).json()

    assert (made["url"], made["ca"], made["proxy"]) == ("http://10.0.0.7:8080", pem, "http://proxy.corp.example:3128")
    [fingerprint] = AuditEvent.objects.get(kind=CHANGED).detail["changed"]["ca"]
    assert len(fingerprint) == 64


def test_a_change_of_the_way_there_asks_again_at_once(tofu, olga):
    put(tofu(olga), enabled=True)
    later = timezone.now() + timedelta(hours=1)
    Upstream.objects.update(failures=9, open_until=later, discovered="https://x/", discovered_at=timezone.now())
    row = Upstream.objects.get()
    provider = UpstreamProvider.objects.create(upstream=row, namespace="hashicorp", type="random", retry_at=later)
    assert tofu(olga).get(TOFU).json()["health"]["state"] == "open"

    put(tofu(olga), cooldown_days=5)
    row.refresh_from_db()
    assert row.failures == 9  # this changes nothing about the way there
    put(tofu(olga), proxy="http://proxy.example:3128")
    row.refresh_from_db()
    provider.refresh_from_db()
    assert (row.failures, row.open_until, row.discovered, row.discovered_at) == (0, None, "", None)
    assert provider.retry_at is None


@pytest.mark.both
def test_the_list_costs_the_same_however_many_there_are(tofu, olga, in_pages):
    for number in range(5):
        put(tofu(olga), f"{URL}/r{number}.example", enabled=True)

    rows = in_pages(tofu(olga), URL, queries=7)
    assert [row["host"] for row in rows] == [f"r{number}.example" for number in range(5)]


@pytest.mark.both
def test_removed_it_is_forgotten_with_its_keys_and_packages(tofu, olga, charlie):
    row = mirrored.upstream()
    version = mirrored.provider(row).versions.get(version="3.7.0")
    mirrored.verify(version)
    Alarm.objects.create(
        kind=AlarmKind.KEY_CHANGED, upstream=row, version=version, namespace="hashicorp", seen_at=timezone.now()
    )
    PolicyException.objects.create(version=version, reason="Fixes a bug", expires_at=timezone.now())
    PolicyException.objects.create(
        upstream=row, module="acme/vpc/aws", module_version="1.2.0", reason="Fixes a bug", expires_at=timezone.now()
    )
    other = mirrored.provider(mirrored.upstream("other.example"))

    assert tofu(charlie).delete(TOFU).status_code == 403
    UpstreamPackage.objects.update(used_at=timezone.now(), uses=5)
    [hit] = tofu(olga).delete(f"{TOFU}?dry_run=1").json()["hits"]
    assert (hit["kind"], hit["effect"], hit["count"]) == ("provider", "fails", 10), "two packages"
    assert tofu(olga).delete(TOFU).status_code == 204
    assert tofu(olga).delete(TOFU).status_code == 404
    assert [str(one) for one in Upstream.objects.all()] == ["other.example"]
    assert set(UpstreamProvider.objects.all()) == {other}
    assert [model.objects.count() for model in (KeyPin, UpstreamPackage, Alarm, PolicyException)] == [0, 0, 0, 0]
    [event] = AuditEvent.objects.filter(kind=CHANGED)
    forgotten = {"providers": 1, "packages": 1, "keys": [f"hashicorp: {mirrored.FINGERPRINT}"]}
    assert event.detail == {"removed": True, "forgotten": forgotten}


def test_how_an_upstream_does_is_told_with_the_url_status_and_rule(tofu, olga):
    row = mirrored.upstream(
        failures=2,
        failed_at=timezone.now(),
        failure={"code": "bad_status", "message": "403", "url": "https://x.example/v1", "status": 403, "rule": ""},
    )
    mirrored.verify(mirrored.provider(row).versions.get(version="3.7.0"), stored=("linux_amd64", "darwin_arm64"))

    told = tofu(olga).get(TOFU).json()
    assert told["health"]["state"] == "failing"
    assert (told["health"]["failure"]["url"], told["health"]["failure"]["status"]) == ("https://x.example/v1", 403)
    assert told["health"]["oldest_list_at"] is not None
    assert told["storage"] == {"packages": 2, "bytes": 4096, "providers": 1}
