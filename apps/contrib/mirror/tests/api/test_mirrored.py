"""/api/v1/upstreams/<host>/providers, alarms, keys and unsigned."""

import json

import pytest

from apps.contrib.mirror.tests import mirrored

URL = "/api/v1/upstreams/registry.opentofu.org"
RANDOM = f"{URL}/providers/hashicorp/random"


def send(client, url, method="POST", **body):
    return client.generic(method, url, json.dumps(body), content_type="application/json")


@pytest.mark.both
def test_providers_are_listed_with_what_clients_get(tofu, shelf, in_pages):
    rows = {f"{row['namespace']}/{row['type']}": row for row in in_pages(tofu(), f"{URL}/providers", queries=12)}

    assert set(rows) == {"hashicorp/random", "kreuzwerker/docker"}
    random = rows["hashicorp/random"]
    assert (random["newest"], random["held_back"], random["versions"]) == ("3.6.3", "3.7.0", 5)
    assert random["host"] == "registry.opentofu.org"
    assert tofu().get(RANDOM).json() == random
    found = tofu().get(f"{URL}/providers?q=docker").json()["providers"]
    assert [row["type"] for row in found] == ["docker"]


def test_versions_say_what_holds_them_back_and_how_far_they_are_proven(tofu, shelf, in_pages):
    rows = in_pages(tofu(), f"{RANDOM}/versions", queries=10)
    by = {row["version"]: row for row in rows}

    assert list(by) == ["3.8.0-beta1", "3.7.0", "3.6.3", "3.6.0", "3.5.1"]
    assert [by[number]["verdict"] for number in ("3.7.0", "3.6.3", "3.5.1")] == [None, "pinned", "first_seen"]
    held = by["3.7.0"]
    assert (held["available"], held["available_at"] is not None) == (False, True)
    assert "cool-down of 3 days" in held["rule"]
    assert (held["failure"]["url"], held["failure"]["status"]) == (mirrored.FAILURE["url"], 503)
    assert (by["3.6.3"]["available"], by["3.6.3"]["key"]) == (True, mirrored.FINGERPRINT)
    assert (by["3.6.0"]["available"], by["3.6.0"]["listed"], by["3.6.0"]["removed"]) == (True, False, False)


def test_a_version_lists_the_pages_of_its_documentation_or_says_why_there_are_none(tofu, shelf):
    found = tofu().get(f"{RANDOM}/versions/3.5.1/docs").json()
    assert found["reason"] is None
    assert {"kind": "resources", "slug": "record", "name": "dns_record", "subcategory": "Records & Sets"} in found[
        "pages"
    ]

    found = tofu().get(f"{RANDOM}/versions/3.7.0/docs").json()
    assert found["pages"] == []
    assert "stores none of this version" in found["reason"]


def test_a_version_has_its_packages_with_digests_and_origin(tofu, shelf, charlie):
    package = shelf.versions["3.6.3"].packages.get(os="linux")
    found = tofu(charlie).get(f"{RANDOM}/versions/3.6.3").json()
    rows = {f"{row['os']}_{row['arch']}": row for row in found["packages"]}

    stored = rows["linux_amd64"]
    assert (stored["digest"], stored["h1"], stored["stored"]) == (f"sha256:{package.digest}", package.h1, True)
    assert (stored["origin"], stored["fetched_by"], stored["size"]) == (package.fetched_from, "olga", 2048)
    assert (rows["darwin_arm64"]["stored"], rows["darwin_arm64"]["h1"]) == (False, None)
    anonymous = tofu().get(f"{RANDOM}/versions/3.6.3").json()["packages"]
    assert {row["fetched_by"] for row in anonymous} == {None}


def test_alarms_are_listed_and_decided(tofu, shelf, olga, auditor, in_pages):
    rows = in_pages(tofu(auditor), f"{URL}/alarms", queries=9)

    assert {row["state"] for row in rows[:3]} == {"open"}
    assert rows[3]["state"] == "accepted"
    one = tofu(auditor).get(f"{URL}/alarms/{shelf.alarms['key'].pk}").json()
    assert (one["known"], one["found"]) == (
        {"fingerprint": mirrored.OLD_KEY},
        {"fingerprint": mirrored.NEW_KEY},
    )
    assert [row["id"] for row in tofu(olga).get(f"{URL}/alarms?state=accepted").json()["alarms"]] == [
        shelf.alarms["done"].pk
    ]
    assert tofu(olga).get(f"{URL}/alarms?state=sideways").status_code == 422
    elsewhere = URL.replace("registry.opentofu.org", "registry.corp.example")
    assert tofu(olga).get(f"{elsewhere}/alarms/{one['id']}").status_code == 404

    accept = f"{URL}/alarms/{one['id']}/accept"
    assert send(tofu(olga), accept, reason=" ").status_code == 422
    decided = send(tofu(olga), accept, reason="They announced it.").json()
    assert (decided["state"], decided["resolved_by"], decided["reason"]) == ("accepted", "olga", "They announced it.")
    assert send(tofu(olga), accept, reason="again").status_code == 409
    assert (
        send(tofu(olga), f"{URL}/alarms/{shelf.alarms['bytes'].pk}/dismiss", reason="no").json()["state"] == "dismissed"
    )


def test_keys_are_listed_and_decided(tofu, shelf, olga, auditor):
    keys = tofu(auditor).get(f"{URL}/keys").json()["keys"]
    assert [(key["fingerprint"], key["state"]) for key in keys] == [
        (mirrored.NEW_KEY, "waiting"),
        (mirrored.OLD_KEY, "trusted"),
    ]
    assert keys[1]["versions"] == 3

    url = f"{URL}/keys/{keys[0]['id']}"
    decided = send(tofu(olga), url, trusted=False, reason="Not theirs.").json()
    assert (decided["state"], decided["decided_by"], decided["reason"]) == ("refused", "olga", "Not theirs.")
    assert tofu(olga).get(url).json() == decided


def test_a_namespace_without_a_key_is_allowed_with_a_reason_and_refused_again(tofu, shelf, olga):
    url = f"{URL}/unsigned/newrelic"

    assert send(tofu(olga), url, "PUT", reason="").status_code == 422
    assert send(tofu(olga), f"{URL}/unsigned/{'x' * 80}", "PUT", reason="x").status_code == 422
    assert send(tofu(olga), url, "PUT", reason="They plan to sign.").json()["by"] == "olga"
    names = [one["namespace"] for one in tofu(olga).get(f"{URL}/unsigned").json()["namespaces"]]
    assert names == ["kreuzwerker", "newrelic"]
    assert send(tofu(olga), f"{url}/withdraw", reason="They did not.").status_code == 204
    assert send(tofu(olga), f"{url}/withdraw", reason="They did not.").status_code == 404

    weak = {"reason": "SHA-1.", "allows": "weak_signature"}
    assert send(tofu(olga), url, "PUT", **weak).json()["allows"] == "weak_signature"
    assert send(tofu(olga), f"{url}/withdraw", reason="No.").status_code == 404
    assert send(tofu(olga), f"{url}/withdraw", **weak).status_code == 204
    assert send(tofu(olga), url, "PUT", reason="x", allows="all").status_code == 422
