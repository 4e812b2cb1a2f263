"""/namespaces/<ns>/git/connect and /plan: from a URL to the first versions, and nothing is published unseen."""

import pytest

from apps.contrib.git import rulebook, tag_matching
from apps.contrib.git.models import GitRepository, Tag
from apps.contrib.git.pages import planning
from apps.contrib.git.tests.conftest import work_off
from apps.contrib.git.tests.pages.conftest import LIST, fields_of, plan_url, previewed_in_browser, verdicts_of
from apps.releases.models import Release
from tests import pages
from tests.rows import for_each_row


@pytest.mark.slow
@pytest.mark.both
def test_an_owner_connects_a_monorepo_and_publishes_what_is_ticked(owner, draft):
    page = owner.get(plan_url(draft))
    shown = pages.shown(page)
    assert "3 folders contain modules." in shown
    assert "would publish 6 of 7 tags, as 3 modules" in shown
    assert "</svg> Suggested</span>" in owner.get(plan_url(draft)).text
    assert not Release.objects.exists()
    assert draft.started_at is None

    form = fields_of(page)
    assert len(form["picked"]) == 6
    form["picked"].remove("dns/v1.0.0")
    done = owner.post(plan_url(draft), form | {"act": "publish"}, follow=True)
    assert "A worker publishes 5 versions now." in pages.shown(done)
    assert "Larder lists the tags" in pages.shown(done)
    work_off()

    found = verdicts_of(draft)
    assert found["vpc/v1.1.0"][0] == "published"
    assert found["dns/v1.0.0"][0] == "ignored"
    assert found["nightly"] == ("ignored", "")
    assert Release.objects.filter(state="published").count() == 5
    page = pages.shown(owner.get(f"{LIST}/{draft.pk}"))
    assert "It was not selected" in page
    assert 'href="/modules/acme/vpc/' in page


def test_other_rules_are_previewed_before_they_are_saved(owner, draft):
    form = fields_of(owner.get(plan_url(draft)))
    only = {"rule_tag": ["vpc/v{version}", ""], "rule_folder": ["vpc", ""], "rule_module": ["net/aws", ""]}

    refused = owner.post(plan_url(draft), form | only | {"act": "publish"})
    assert refused.status_code == 422
    assert "These rules were not checked yet." in refused.text
    assert not draft.rules.exists()

    page = previewed_in_browser(owner, draft, only)
    assert "would publish 2 of 7 tags, as 1 module." in pages.shown(page)
    assert "</svg> Suggested" not in pages.shown(page)
    assert owner.post(plan_url(draft), fields_of(page) | {"act": "publish"}).status_code == 303
    work_off()
    assert {module for shown, module in verdicts_of(draft).values() if shown == "published"} == {"net/aws"}


@for_each_row(
    ("act", "rule", "said"),
    [
        ("save", ("v1", "", "vpc/aws"), "{version} once"),
        ("preview", ("v1", "", "vpc/aws"), "{version} once"),
        ("save", ("v{version}", "", "<script>alert(1)</script>/aws"), "Rule 1"),
    ],
)
def test_a_rule_that_cannot_be_is_refused_with_its_number(owner, previewed, act, rule, said):
    tag, folder, module = rule
    form = {"rule_tag": tag, "rule_folder": folder, "rule_module": module, "act": act}

    answer = owner.post(plan_url(previewed), form)

    assert answer.status_code == 422
    assert said in pages.text_of(answer)
    assert f'value="{module}"' in pages.text_of(answer), "what was typed stays"
    assert "<script>alert(1)" not in answer.text
    assert not previewed.rules.exists()


def test_no_rule_is_lost_by_the_form_however_many_there_are(owner, previewed):
    for number in range(rulebook.MAX_RULES):
        previewed.rules.create(position=number, tag=f"m{number}/v{{version}}", folder="", module=f"m{number}/aws")
    refs = [{"tag": f"m{number}/v1.0.0", "commit": "a" * 40} for number in range(planning.MAX_BOXES)]
    GitRepository.objects.filter(pk=previewed.pk).update(preview=previewed.preview | {"refs": refs})
    form = fields_of(owner.get(plan_url(previewed)))
    assert len(form["rule_tag"]) == rulebook.MAX_RULES

    form["rule_tag"][0] = "first/v{version}"
    assert owner.post(plan_url(previewed), form | {"act": "save"}).status_code == 303
    assert previewed.rules.count() == rulebook.MAX_RULES
    assert previewed.rules.get(position=0).tag == "first/v{version}"

    more = {
        name: [*form[name], form[name][1].replace("m1", "more")] for name in ("rule_tag", "rule_folder", "rule_module")
    }
    answer = owner.post(plan_url(previewed), form | more | {"act": "save"})
    assert answer.status_code == 422
    assert "more than 200 rules" in pages.text_of(answer)


def test_only_new_tags_are_published_if_an_owner_wants_that_and_what_was_refused_is_not_offered(owner, draft, mono):
    form = fields_of(owner.get(plan_url(draft)))
    done = owner.post(plan_url(draft), form | {"act": "later"}, follow=True)
    assert "From now on, Larder publishes each new tag that matches a rule." in pages.shown(done)
    work_off()
    assert not Release.objects.exists()

    Tag.objects.filter(name="vpc/v1.0.0").update(verdict="refused", code="lfs", reason="Found a Git LFS pointer.")
    page = owner.get(plan_url(draft))
    assert 'value="vpc/v1.0.0"' not in page.text
    assert "Found a Git LFS pointer." in pages.shown(page)

    mono.tag("vpc/v2.0.0")
    owner.post(f"{LIST}/{draft.pk}/sync")
    work_off()
    assert [release.version for release in Release.objects.filter(state="published")] == ["2.0.0"]


def test_many_tags_are_chosen_by_module_and_number(owner, previewed):
    refs = [{"tag": f"{name}/v1.{minor}.0", "commit": "a" * 40} for name in ("vpc", "dns") for minor in range(300)]
    GitRepository.objects.filter(pk=previewed.pk).update(preview=previewed.preview | {"refs": refs})

    page = owner.get(plan_url(previewed))
    assert "600 tags are too many to tick one by one." in pages.shown(page)
    assert "only the newest of each" not in pages.shown(page)
    form = fields_of(page)
    assert len(form["picked_module"]) == 2
    form["picked_module"].pop()
    newest = owner.post(plan_url(previewed), form | {"newest": "5", "act": "preview"})
    assert 'data-pick-count="5"' in newest.text
    assert owner.post(plan_url(previewed), form | {"newest": "5", "act": "publish"}).status_code == 303
    previewed.refresh_from_db()
    assert len(previewed.selected) == 5
    assert all(name.endswith(("295.0", "296.0", "297.0", "298.0", "299.0")) for name in previewed.selected)


@for_each_row("tags", [40, 400])
def test_of_very_many_versions_only_the_newest_are_ticked_at_first(owner, previewed, tags):
    refs = [{"tag": f"v1.{minor}.0", "commit": "a" * 40} for minor in range(tags)]
    rules = [{"tag": "v{version}", "folder": f"m{number}", "module": f"m{number}/aws"} for number in range(30)]
    preview = previewed.preview | {"refs": refs, "suggested": rules, "rules": rules}
    GitRepository.objects.filter(pk=previewed.pk).update(preview=preview)

    page = owner.get(plan_url(previewed))

    assert f"All would be {tags * 30:,} versions, so only the newest of each module are selected." in pages.shown(page)
    assert 'data-pick-count="150"' in page.text
    assert owner.post(plan_url(previewed), fields_of(page) | {"act": "publish"}).status_code == 303
    assert sorted(GitRepository.objects.get().selected or []) == [f"v1.{minor}.0" for minor in range(tags - 5, tags)]
    form = fields_of(page) | {"newest": "", "act": "all:*"}
    assert f'data-pick-count="{tags * 30}"' in owner.post(plan_url(previewed), form).text


def test_more_versions_than_a_repository_can_have_are_an_error_of_the_rules(owner, previewed, monkeypatch):
    monkeypatch.setattr(tag_matching, "MAX_VERSIONS", 5)

    page = owner.get(plan_url(previewed))

    assert page.status_code == 422
    assert "The rules make more than 5 versions of the tags. Remove rules" in page.text
    assert "Add a rule" in page.text


def test_a_server_that_refuses_says_so_with_what_to_do(owner, site, acme):
    owner.post(f"{LIST}/connect", {"url": site.url_of("acme/absent"), "kind": "none"})
    row = GitRepository.objects.get()
    assert "Larder lists the tags, finds folders" in pages.shown(owner.get(plan_url(row)))
    work_off()

    page = pages.shown(owner.get(plan_url(row)))
    row.refresh_from_db()

    assert "Larder cannot read" in page
    assert row.preview["failure"]["text"] in page
    assert row.preview["failure"]["hint"] in page
    assert "Change the credential" in page
    site.repository("acme/absent").commit({"main.tf": "# a module"})
    assert owner.post(f"{LIST}/{row.pk}/look").status_code == 303
    work_off()
    assert "One folder contains a module." in pages.shown(owner.get(plan_url(row)))


def test_a_token_is_neither_shown_nor_stored_while_its_owner_confirms(dora, browser_of, site, acme):
    unsure = browser_of(dora, confirmed=False)
    form = {"url": site.url_of("acme/modules"), "kind": "token", "password_token": "glpat-quince"}

    answer = unsure.post(f"{LIST}/connect", form)

    assert answer.status_code == 302
    assert "reauthenticate" in answer["Location"]
    assert "glpat-quince" not in str(dict(unsure.session.items()))
    assert not GitRepository.objects.exists()


@for_each_row("url", ["ftp://example.com/x", "https://user:pw@example.com/x.git", "file:///etc", "ext::sh -c id"])
def test_a_url_that_is_no_repository_is_refused_at_the_form(owner, acme, url):
    answer = owner.post(f"{LIST}/connect", {"url": url, "kind": "none"})

    assert answer.status_code == 422
    assert "error-summary" in answer.text
    assert not GitRepository.objects.exists()


def test_rules_and_ticks_are_changed_without_scripts_and_nothing_is_saved_by_that(owner, previewed):
    before = GitRepository.objects.values().get(pk=previewed.pk)
    form = fields_of(owner.get(plan_url(previewed)))

    def after(act, sent=form):
        answer = owner.post(plan_url(previewed), sent | {"act": act})
        assert answer.status_code == 200
        return fields_of(answer)

    assert len(after("preview")["picked"]) == 9
    assert len(after("add")["rule_tag"]) == len(form["rule_tag"]) + 1
    assert len(after("remove:0")["rule_tag"]) == 1
    none = after("none:*")
    assert none["picked"] == []
    assert len(after("all:*", none)["picked"]) == 9
    assert sorted(after("all:vpc/generic", none)["picked"]) == ["vpc/v1.0.0", "vpc/v1.1.0", "vpc/v1.2.0"]
    assert GitRepository.objects.values().get(pk=previewed.pk) == before
    assert not previewed.rules.exists()
    assert not Tag.objects.exists()


def test_later_rules_publish_what_is_ticked_of_the_old_tags(owner, draft, mono):
    form = fields_of(owner.get(plan_url(draft)))
    owner.post(plan_url(draft), form | {"act": "later"})
    work_off()
    page = owner.get(plan_url(draft))
    assert fields_of(page)["picked"] == [], "what was left out before is offered, and not ticked"

    other = {"rule_tag": "vpc/v{version}", "rule_folder": "vpc", "rule_module": "net/aws"}
    form = fields_of(previewed_in_browser(owner, draft, other))
    assert len(form["picked"]) == 2
    form["picked"] = ["vpc/v1.1.0"]
    assert owner.post(plan_url(draft), form | {"act": "publish"}).status_code == 303
    mono.tag("vpc/v2.0.0")  # after the preview: it is new, and no one could tick it
    work_off()

    published = Release.objects.filter(state="published").order_by("version")
    assert [(release.name, release.version) for release in published] == [("net/aws", "1.1.0"), ("net/aws", "2.0.0")]
    found = verdicts_of(draft)
    assert found["vpc/v1.0.0"] == ("ignored", "net/aws")
