"""/mirror/alarms and keys: both sides beside each other, and what staff decide."""

from apps.audit.models import AuditEvent
from apps.contrib.mirror.models import KeyState, UnsignedAllowance
from apps.contrib.mirror.tests import mirrored
from tests.pages import queries_of, shown, text_of
from tests.rows import for_each_row


def url_of(alarm):
    return f"/mirror/alarms/{alarm.pk}"


def kinds():
    rows = AuditEvent.objects.filter(kind__startswith="operation:upstream:").order_by("pk")
    return [row.kind.rpartition(":")[2] for row in rows]


@for_each_row(
    ("alarm", "row", "known", "found"),
    [("key", "Key", "C874 011F 0AB4", "91A6 E7F8 5D05"), ("bytes", "sha256", "a" * 64, "d" * 64)],
)
def test_both_fingerprints_or_digests_are_side_by_side(browser_of, shelf, olga, alarm, row, known, found):
    page = shown(browser_of(olga).get(url_of(shelf.alarms[alarm])))

    sides = page.partition(f'<th scope="row">{row}</th>')[2].partition("</tr>")[0]
    assert sides.index(known) < sides.index(found)
    assert shelf.alarms[alarm].url in page
    assert ("found 3 times" in page) is (alarm == "bytes")


def test_an_accepted_key_is_pinned_and_its_alarm_closed(browser_of, shelf, olga):
    alarm, client = shelf.alarms["key"], browser_of(olga)
    answer = client.post(url_of(alarm), {"decision": "accept", "reason": "They announced it on their page."})

    assert (answer.status_code, answer.url) == (303, url_of(alarm))
    alarm.refresh_from_db()
    shelf.waiting.refresh_from_db()
    assert (alarm.state, shelf.waiting.state) == ("accepted", KeyState.TRUSTED)
    assert (alarm.reason, alarm.resolved_by) == ("They announced it on their page.", olga)
    assert {"alarm-resolved", "key-pinned"} <= set(kinds())
    page = shown(client.get(url_of(alarm)))
    assert "They announced it on their page." in page
    assert 'name="decision"' not in page  # nothing left to decide


def test_a_decision_is_made_once_with_a_reason(browser_of, shelf, olga):
    client = browser_of(olga)
    for data, said in (
        ({"decision": "accept", "reason": ""}, "This field is required"),
        ({"decision": "shrug", "reason": "why"}, "Select a valid choice"),
    ):
        answer = client.post(url_of(shelf.alarms["key"]), data)
        assert answer.status_code == 422
        assert said in text_of(answer)
    shelf.alarms["key"].refresh_from_db()
    assert shelf.alarms["key"].state == "open"

    answer = client.post(url_of(shelf.alarms["done"]), {"decision": "dismiss", "reason": "again"})
    assert answer.status_code == 409
    assert "already accepted" in text_of(answer)


def test_auditors_read_alarms_without_a_form(browser_of, shelf, auditor):
    assert 'name="decision"' not in shown(browser_of(auditor).get(url_of(shelf.alarms["key"])))
    assert "A different key" in shown(browser_of(auditor).get("/mirror/alarms"))


def test_a_key_is_refused_and_trusted_on_its_page(browser_of, shelf, olga):
    client, url = browser_of(olga), f"/mirror/upstreams/{shelf.public}/keys/{shelf.waiting.pk}"

    assert "91A6 E7F8 5D05" in shown(client.get(url))
    assert client.post(url, {"decision": "refuse", "reason": "not theirs"}).status_code == 303
    shelf.waiting.refresh_from_db()
    assert shelf.waiting.state == KeyState.REFUSED
    assert client.post(url, {"decision": "refuse", "reason": "not theirs"}).status_code == 409
    assert client.post(url, {"decision": "trust", "reason": "it is theirs"}).status_code == 303


def test_a_namespace_without_a_key_is_allowed_and_refused_again(browser_of, shelf, olga):
    client, url = browser_of(olga), f"/mirror/upstreams/{shelf.public}/unsigned"

    assert client.post(url, {"namespace": "no/name", "reason": "x"}).status_code == 422
    assert client.post(url, {"namespace": "Newrelic", "reason": "They plan to sign."}).status_code == 303
    assert "They plan to sign." in shown(client.get(f"/mirror/upstreams/{shelf.public}"))
    assert client.post(f"{url}/newrelic", {"reason": "They did not."}).status_code == 303
    assert client.get(f"{url}/newrelic").status_code == 404
    assert list(UnsignedAllowance.objects.values_list("namespace", flat=True)) == ["kreuzwerker"]

    weak = {"namespace": "newrelic", "allows": "weak_signature", "reason": "They sign anew."}
    assert client.post(url, weak).status_code == 303
    assert "Signatures with SHA-1 or in text mode" in shown(client.get(f"/mirror/upstreams/{shelf.public}"))
    assert client.get(f"{url}/newrelic").status_code == 404
    assert client.post(f"{url}/newrelic?allows=weak_signature", {"reason": "Done."}).status_code == 303


def test_the_list_costs_the_same_however_many_there_are(browser_of, shelf, olga):
    client = browser_of(olga)
    urls = ("/mirror/alarms", "/mirror/alarms?state=open", f"/mirror/upstreams/{shelf.public}")
    before = {url: queries_of(client, url) for url in urls}
    for number in range(10):
        mirrored.alarm("no_key", shelf.versions["3.6.3"], known={}, found={}, subject=f"{shelf.public}/n{number}")
        mirrored.pin(shelf.provider, f"{number:040X}")

    assert {url: queries_of(client, url) for url in urls} == before
