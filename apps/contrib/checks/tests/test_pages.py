"""What people see: the tab of a version, lists, the badge, the comparison, the policy's page."""

import pytest

from apps.contrib.checks import policy
from apps.contrib.checks.policy import Requirement
from apps.contrib.checks.tests import samples
from apps.contrib.checks.tests.samples import plain
from apps.releases.catalogue import marks
from tests.rows import for_each_row

pytestmark = pytest.mark.usefixtures("shelf")

TAB = "/modules/acme/vpc/aws/1.2.0/checks"


def page(client, url):
    answer = client.get(url)
    assert answer.status_code == 200, answer.content[:500]
    return " ".join(answer.content.decode().split())


def test_a_version_without_reports_says_that_none_were_sent(published, browser_of, alice, bob):
    published()

    seen = page(browser_of(bob), TAB)

    assert "No checks were sent" in seen
    assert "Send a report" not in seen
    assert "/checks/checkov" in page(browser_of(alice), TAB)


def test_findings_stand_beside_the_text_of_their_file(published, browser_of, tofu, send, alice, bob):
    published()
    inside, outside = samples.result(line=2), samples.result("CKV_2", "<b>bold</b>", file="../../etc/passwd", line=7)
    send(tofu(alice), samples.sarif(inside, outside))

    seen = page(browser_of(bob), TAB)

    assert "2 high findings" in seen
    assert 'href="/modules/acme/vpc/aws/1.2.0/files/main.tf#L2"' in seen
    assert 'data-line="2"' in seen
    assert "../../etc/passwd:7" in seen
    assert "not a file of this version" in seen
    assert "&lt;b&gt;bold&lt;/b&gt;" in seen


def test_a_file_is_found_wherever_the_tool_ran(published, browser_of, tofu, send, alice, bob):
    published()
    roots = {"in-module": "", "above": "modules/vpc/", "runner": "/home/runner/work/vpc/", "junit": "/"}
    for name, root in roots.items():
        send(tofu(alice), samples.sarif(samples.result(file=f"{root}main.tf", line=2)), name)
    send(tofu(alice), samples.sarif(samples.result(file="../main.tf", line=2)), "outside")
    client = browser_of(bob)

    for name in roots:
        assert 'data-line="2"' in page(client, f"{TAB}?check={name}"), name
    assert "not a file of this version" in page(client, f"{TAB}?check=outside")


def test_tests_have_their_failures_first(published, browser_of, tofu, send, alice, bob):
    published()
    send(tofu(alice), samples.run_lines(fails=True), "tofu-test")

    seen = page(browser_of(bob), TAB)

    assert "1 of 2 tests passed" in seen
    assert seen.index("is_upper") < seen.index("labels")
    assert "expected capital letters" in seen


def test_the_check_that_is_asked_for_is_shown_with_its_history(published, browser_of, tofu, send, alice, bob):
    published()
    send(tofu(alice), samples.FINDINGS)
    send(tofu(alice), plain(summary="first run"), "lint")
    send(tofu(alice), plain(summary="all fine"), "lint")

    seen = page(browser_of(bob), f"{TAB}?check=lint")

    assert 'data-details="lint"' in seen
    assert "Earlier reports (1)" in seen
    assert 'data-details="checkov"' in page(browser_of(bob), TAB)


def test_a_version_that_lacks_required_checks_says_which(published, browser_of, bob, dora, require):
    release = published()
    require(Requirement("checkov"), mode="warn")

    seen = page(browser_of(bob), TAB)

    assert policy.missing(release)[0] in seen
    assert "This version lacks required checks" in seen


@for_each_row(
    "url",
    [
        "/modules",
        "/modules/acme/vpc/aws",
        "/modules/acme/vpc/aws/versions",
        "/namespaces/acme",
        "/modules?checks=failed",
        "/modules?sort=checks",
    ],
)
def test_lists_and_the_modules_page_have_one_line(published, browser_of, tofu, send, alice, bob, url):
    published()
    send(tofu(alice), samples.FINDINGS)

    assert "1 high finding" in page(browser_of(bob), url)


def test_a_filter_leaves_out_what_has_another_state(published, browser_of, tofu, send, alice, bob):
    published()
    send(tofu(alice), samples.CLEAN)

    assert "No modules match" in page(browser_of(bob), "/modules?checks=failed")
    assert 'href="/modules/acme/vpc/aws"' in page(browser_of(bob), "/modules?checks=passed")


def test_the_api_filters_and_sorts_modules_by_their_checks(published, tofu, send, alice, bob):
    published()
    published("acme/dns/aws", "1.0.0")
    ask = lambda query: [one["name"] for one in tofu(bob).get(f"/api/v1/modules?{query}").json()["modules"]]  # noqa: E731
    assert ask("checks=passed") == []

    send(tofu(alice), samples.CLEAN)

    assert ask("checks=passed") == ask("checks=passed&q=vpc") == ["vpc"]
    assert ask("checks=failed") == ask("checks=passed&q=dns") == []
    assert ask("sort=checks") == ["vpc", "dns"]
    refused = tofu(bob).get("/api/v1/modules?checks=fine")
    assert (refused.status_code, refused.json()["error"]["message"]) == (422, "'fine' is not a value of checks.")
    assert tofu(bob).get("/api/v1/providers?checks=passed").status_code == 422


def test_lists_sort_what_passed_first(published, browser_of, tofu, send, alice):
    published("pantry/a/aws", "1.0.0")
    published("pantry/b/aws", "1.0.0")
    published("pantry/c/aws", "1.0.0")
    for name, body in (("a", samples.FINDINGS), ("c", samples.CLEAN)):
        send(tofu(alice), body, url=f"/api/v1/modules/pantry/{name}/aws/1.0.0/checks")

    seen = page(browser_of(alice), "/modules?sort=checks&namespace=pantry")

    places = [seen.index(f'href="/modules/pantry/{name}/aws"') for name in "cab"]
    assert places == sorted(places)


def test_the_mark_of_a_version_says_it_and_one_without_reports_has_none(published, tofu, send, alice):
    release = published("pantry/vpc/aws", "1.0.0")
    assert marks.of([release.pk])[release.pk] == []

    send(tofu(alice), samples.CLEAN, url="/api/v1/modules/pantry/vpc/aws/1.0.0/checks")

    [mark] = marks.of([release.pk])[release.pk]
    assert (mark.name, mark.text) == ("checks", "1 check passed")


def test_a_comparison_has_the_findings_that_are_new_gone_and_unchanged(published, browser_of, tofu, send, alice, bob):
    published("acme/vpc/aws", "1.1.0")
    published()
    old, new, same = samples.result("OLD", "was there"), samples.result("NEW", "came"), samples.result("SAME", "stays")
    send(tofu(alice), samples.sarif(old, same), url="/api/v1/modules/acme/vpc/aws/1.1.0/checks")
    send(tofu(alice), samples.sarif(new, same))

    seen = page(browser_of(bob), "/modules/acme/vpc/aws/compare/1.1.0...1.2.0")

    assert "1 new, 1 gone, 1 unchanged finding" in seen
    part = seen[seen.index("data-compared-checks") :]
    assert part.index("NEW") < part.index("OLD")
    assert "SAME" not in part


def test_owners_change_the_policy_on_its_page_and_publishers_read_it(published, browser_of, alice, bob, dora, acme):
    url = "/namespaces/acme/checks"
    assert browser_of(bob).get(url).status_code == 403
    assert "No check is required" in page(browser_of(alice), url)
    form = {
        "mode": "hold",
        "mail_at": "high",
        "required-TOTAL_FORMS": "2",
        "required-INITIAL_FORMS": "0",
        "required-0-name": "tofu-*",
        "required-0-passed": "on",
        "required-0-max_age_days": "30",
        "required-1-name": "",
        "required-1-passed": "on",
    }
    assert browser_of(alice).post(url, form).status_code == 403

    assert browser_of(dora).post(url, form).status_code == 303

    assert policy.requirements_of(policy.of(acme)) == [Requirement("tofu-*", max_age_days=30)]
    assert "tofu-*: passed, at most 30 days old" in page(browser_of(alice), url)
    assert browser_of(dora).post(url, form | {"required-0-name": "a b"}).status_code in (200, 422)


@pytest.mark.both
def test_lists_ask_for_the_marks_of_a_page_in_one_query(
    published, browser_of, tofu, send, alice, django_assert_max_num_queries
):
    for name in ("a", "b", "c"):
        published(f"pantry/{name}/aws", "1.0.0")
        send(tofu(alice), samples.CLEAN, url=f"/api/v1/modules/pantry/{name}/aws/1.0.0/checks")
    client = browser_of(alice)
    client.get("/modules")

    with django_assert_max_num_queries(14) as counted:
        client.get("/modules")

    assert sum("checks_report" in one["sql"] for one in counted.captured_queries) == 1


@pytest.mark.both
def test_the_page_of_a_version_asks_for_its_reports_once(
    published, browser_of, tofu, send, alice, bob, django_assert_max_num_queries
):
    published()
    send(tofu(alice), samples.FINDINGS)
    client = browser_of(bob)

    with django_assert_max_num_queries(30) as counted:
        seen = page(client, "/modules/acme/vpc/aws/1.2.0")

    assert "1 high finding" in seen
    assert f'href="{TAB}"' in seen
    assert sum("checks_report" in one["sql"] for one in counted.captured_queries) == 1
