"""/namespaces/<ns>/git/<number>/plan: what a worker found in the newest tags, and what was left off."""

import pytest

from apps.contrib.git.models import GitRepository
from apps.contrib.git.tests.conftest import work_off
from apps.contrib.git.tests.pages.conftest import LIST, fields_of, plan_url, previewed_in_browser, verdicts_of
from tests import pages


@pytest.mark.both
def test_what_would_be_refused_or_held_is_said_and_counted_before_and_success_is_no_warning(owner, draft, mono):
    mono.commit({"vpc/main.tf": 'module "a" {\n  source = "../dns"\n}\n'})
    mono.tag("vpc/v2.0.0")
    mono.tag("gone/v1.0.0")
    owner.post(f"{LIST}/{draft.pk}/look")
    work_off()
    rules = {
        "rule_tag": ["vpc/v{version}", "gone/v{version}", "dns/v{version}"],
        "rule_folder": ["vpc", "gone", "dns"],
        "rule_module": ["vpc/aws", "gone/aws", "dns/aws"],
    }

    page = previewed_in_browser(owner, draft, rules)

    shown = pages.shown(page)
    # Of vpc/v1.0.0 and v1.1.0 and the two of dns nothing is known that stands in the way.
    assert "These rules would publish 4 of 9 tags, as 2 modules; 1 version would need your answer." in shown
    held, refused = shown.index("Would be held"), shown.index("Would be refused")
    assert held < shown.index("vpc/aws 2.0.0") < refused < shown.index("gone/aws 1.0.0")
    assert "Correct the folder of the rule" in shown
    assert 'data-pick-count="5"' in page.text
    assert "nothing would be refused" not in shown

    assert owner.post(page.request["PATH_INFO"], fields_of(page) | {"act": "publish"}).status_code == 303
    work_off()
    assert {shown for shown, module in verdicts_of(draft).values() if module} == {"published", "held", "refused"}
    after = pages.shown(owner.get(plan_url(draft)))
    assert "No tag would be published" not in after
    assert "5 versions published or in progress, 1 refused: no other tag matches a rule." in after


def test_rules_that_were_seen_and_not_checked_publish_nothing(owner, previewed):
    more = {"rule_tag": "v{version}", "rule_folder": "", "rule_module": "vpc/aws"}
    seen = fields_of(owner.post(plan_url(previewed), more | {"act": "add"}))

    answer = owner.post(plan_url(previewed), seen | {"act": "publish"})

    assert answer.status_code == 422
    assert "These rules were not checked yet." in answer.text
    assert "Not checked yet" in answer.text or "No tag would be published" in answer.text
    assert not previewed.rules.exists()


def test_suggestions_that_were_cut_say_so_with_their_number(owner, previewed):
    more = {"left_off": 20, "more_folders": 140}
    GitRepository.objects.filter(pk=previewed.pk).update(preview=previewed.preview | more)

    shown = pages.shown(owner.get(plan_url(previewed)))

    assert "143 folders contain modules." in shown
    assert "These are 1 of 21 suggested rules" in shown
    assert "Larder suggests rules for 3 of 143 folders with modules." in shown
