"""`manage.py apply` and `manage.py export`: what differs changes once, and nothing else does."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import CommandError

from apps.accounts.models import Grant, Membership, Namespace, Team, User
from apps.audit.models import AuditEvent as Event
from apps.contrib.apply import applying, schema
from apps.contrib.apply.calls import ACCOUNT
from apps.lib.errors import Invalid
from tests import documents
from tests.rows import for_each_row

pytestmark = pytest.mark.django_db
WHOLE = """
teams:
  - name: platform
    description: Runs what others stand on
    members: [{user: alice, manager: true}, bob]
    service_accounts: [ci]
    roles: [{namespace: tools, role: owner}]
namespaces:
  - name: tools
    visibility: private
    cooldown_hours: 4
    requires_approval: true
    quota_versions: 100
    introduction: |
      # Start here
    grants: [{user: charlie, role: reader}]
"""
WITH_KEY = WHOLE + "    signing_keys: [{generate: ed25519}]\n"  # whose generation takes seconds


def test_a_file_makes_a_registry_as_it_says_and_twice_changes_nothing(apply: Any) -> None:
    planned = apply(WITH_KEY, plan=True)
    assert planned[-1] == "8 to add."
    assert not Namespace.objects.filter(name="tools").exists()

    done = apply(WITH_KEY)

    assert done[-1] == "8 added."
    assert [line for line in done if line.startswith("+")] == planned[:-1]
    tools = Namespace.objects.get(name="tools")
    assert (tools.visibility, tools.cooldown_hours, tools.requires_approval, tools.quota_versions) == (
        *("private", 4, True),
        100,
    )
    assert Membership.objects.get(user__username="alice").is_manager
    assert Grant.objects.get(namespace=tools, team__name="platform").get_role_display().lower() == "owner"
    before = Event.objects.count()
    assert "no changes" in apply(WITH_KEY)[-1]
    assert "no changes" in apply(WITH_KEY, plan=True)[-1]
    assert Event.objects.count() == before


def test_every_change_is_audited_as_the_operator(apply: Any) -> None:
    apply("teams: [platform]")

    event = Event.objects.filter(subject__contains="platform").latest("pk")
    assert event.actor_id == User.objects.get(username=ACCOUNT).pk
    assert not User.objects.get(username=ACCOUNT).has_usable_password()


def test_a_change_by_hand_is_a_difference(apply: Any) -> None:
    apply(WHOLE)
    Namespace.objects.filter(name="tools").update(cooldown_hours=0)
    Team.objects.filter(name="platform").update(description="Mine")

    assert apply(WHOLE, plan=True) == [
        "~ teams platform: description Mine → Runs what others stand on",
        "~ namespaces tools: cooldown_hours 0 → 4",
        "2 to change.",
    ]
    assert apply(WHOLE)[-1] == "2 changed."
    assert Namespace.objects.get(name="tools").visibility == "private"


def test_what_the_file_lacks_stays_unless_its_kind_is_named(apply: Any, acme: Namespace) -> None:
    apply(WHOLE)
    less = yaml.safe_load(WHOLE)
    less["namespaces"][0]["grants"] = []
    assert "no changes" in apply(yaml.safe_dump(less))[-1]

    less["prune"] = ["grants", "namespaces"]
    said = apply(yaml.safe_dump(less), plan=True)

    # The operator stays the owner of what it made; roles of the team are its own, so the file has to name them here.
    assert "- grants charlie of tools" in said
    assert f"- grants {ACCOUNT} of tools" not in said
    assert "- namespaces acme" in said


def test_a_secret_is_read_from_where_the_file_says_and_sent_again_only_when_it_changes(
    apply: Any, tmp_path: Path
) -> None:
    secret = tmp_path / "token"
    secret.write_text("first\n")
    text = f"""
upstreams:
  - {{host: registry.other.example, enabled: false, token: {{from_file: {secret}}}}}
"""
    assert apply(text)[0].endswith("token (secret)")
    assert "no changes" in apply(text)[-1]

    secret.write_text("second\n")
    assert apply(text)[0] == "~ upstreams registry.other.example: token changes"


@for_each_row(
    ("text", "said"),
    [
        ("[1]", "The file is a list"),
        ("teams: [", "Line 1, column"),
        ("teams: [a]\nteams: [b]", "Line 2: 'teams' is there twice"),
        ("teams: &all [*all]", "recursive"),
        ("teams: {name: a}", "teams is a map, expected a list"),
        ("people: []", "The file: 'people' is unknown"),
        ("namespaces: [{name: a, visibility: secret}]", '"secret" is not a valid choice'),
        ("namespaces: [{name: a}]", "visibility: This field is required"),
        ("namespaces: [{name: a, visibility: public, colour: red}]", "namespaces[0]: 'colour' is unknown"),
        ("teams: [a, A]", "'A' is described at teams[0] already"),
        ("teams: ['a/b']", "'a/b' cannot be a name"),
        ("teams: [{description: x}]", "teams[0] has no name"),
        ("teams: [{name: a, description: {from_variable: NO_SUCH_VARIABLE}}]", "'NO_SUCH_VARIABLE' is not set"),
        ("teams: [{name: a, description: {from_file: /nowhere/at-all}}]", "/nowhere/at-all cannot be read"),
        ("teams: [{name: a, description: {from_file: /dev/zero}}]", "/dev/zero has more than 256 KiB"),
        ("prune: [everything]", "prune: 'everything' is unknown"),
        ("!!python/object:os.system x", "could not determine a constructor"),
        ("teams:\n  - !secret a", "Line 2: a tag or an alias that a file cannot have"),
        ("teams: [\x07]", "the file is not YAML: special characters are not allowed."),
    ],
)
def test_a_mistake_is_named_with_its_place_and_nothing_changes(apply: Any, text: str, said: str) -> None:
    with pytest.raises(CommandError) as raised:
        apply(text)

    assert said in str(raised.value)
    assert not Team.objects.exists()


def test_all_mistakes_are_listed_at_once(apply: Any) -> None:
    with pytest.raises(CommandError, match="The file has 2 mistakes"):
        apply("teams: [{name: a, colour: red}, {description: x}]")


WEBHOOK = "{{url: '{}', events: [{}]}}"


@for_each_row(
    ("tools", "said"),
    [
        ("quota_bytes: -1", "[0]: quota_bytes is from 0 (no limit) to 9,223,372,036,854,775,807"),
        ("quota_versions: 2147483648", "[0]: quota_versions is from 0 (no limit) to 2,147,483,647"),
        ("quota_bytes: true", "quota_bytes: A valid integer is required. Found true."),
        ("cooldown_hours: 99999", "less than or equal to 2160. Found 99999."),
        (f"description: {'x' * 201}", "no more than 200 characters. Found 201."),
        ("breaking_changes: refus", '"refus" is not a valid choice. Did you mean refuse?'),
        ("grants: [{user: nobody, role: reader}]", "grants[0]: There is no user nobody"),
        ("grants: [{user: bob, team: platform, role: reader}]", "has user and team, expected one of them"),
        (f"webhooks: [{WEBHOOK.format('ftp://ci.example/x', 'release.published')}]", "expected https:// and a host"),
        (f"webhooks: [{WEBHOOK.format('https://ci.example/x', '')}]", "webhooks[0]: The webhook has no events"),
        ("signing_keys: [{source: x}]", "signing_keys[0]: A key is either registered or generated"),
        ("signing_keys: [{armor: x}]", "signing_keys[0]: Found no armour block"),
        ("trusted_publishers: [{kind: github}]", "repository: a rule for GitHub Actions needs it"),
        ("repositories: [{url: 'https://git.example/x', credential: {kind: token}}]", "token is missing"),
        ("repositories: [{url: 'https://git.example/x', rules: [{colour: red}]}]", "rules.0: 'colour' is unknown"),
        ("checks: {mode: hold, requirements: [{name: x, max_age_days: -1}]}", "max_age_days: Ensure this value is"),
        ("cleanup: {stable_days: 3651}", "cleanup: stable_days is 3651, expected a number from 1 to 3,650"),
    ],
)
def test_a_plan_refuses_what_a_run_refuses_and_nothing_of_the_file_is_left(apply: Any, tools: str, said: str) -> None:
    text = f"teams: ['platform']\nnamespaces: [{{name: tools, visibility: private, {tools}}}]"
    before = Event.objects.count()

    sentences = []
    for plan in (True, False):
        with pytest.raises(CommandError) as raised:
            apply(text, plan=plan)
        sentences.append(str(raised.value))

    assert sentences[0] == sentences[1]
    assert said in sentences[0]
    assert "Nothing was changed." in sentences[0]
    made = Namespace.objects.filter(name="tools")
    assert (Team.objects.exists(), made.exists(), Event.objects.count()) == (False, False, before)


def test_a_name_is_refused_as_the_file_has_it(apply: Any) -> None:
    with pytest.raises(CommandError, match="'a b!' cannot name a team"):
        apply("teams: ['a b!']")


def test_a_webhook_s_secret_is_printed_once_and_by_no_plan(apply: Any) -> None:
    hook = WEBHOOK.format("https://ci.example/x", "release.published")
    text = f"namespaces: [{{name: tools, visibility: private, webhooks: [{hook}]}}]"

    assert "whsec_" not in "".join(apply(text, plan=True))
    assert "whsec_" in "".join(apply(text))


def test_two_webhooks_to_one_url_stay_two(apply: Any) -> None:
    url = "https://ci.example/x"
    hooks = ", ".join(WEBHOOK.format(url, event) for event in ("release.published", "release.yanked"))
    text = f"prune: [webhooks]\nnamespaces: [{{name: tools, visibility: private, webhooks: [{hooks}]}}]"
    apply(text)

    assert "no changes" in apply(text)[-1]
    less = f"prune: [webhooks]\nnamespaces: [{{name: tools, visibility: private, webhooks: [{hooks.split(', {')[0]}]}}]"
    assert apply(less) == [f"- webhooks of tools: {url}", "1 removed."]


def test_a_person_called_apply_is_not_made_an_operator(apply: Any, django_user_model: Any) -> None:
    django_user_model.objects.create_superuser(username=ACCOUNT, password="correct horse")

    with pytest.raises(CommandError, match="is that of a person"):
        apply("teams: [platform]")


def test_the_file_of_the_setting_is_applied_at_the_start(settings: Any, tmp_path: Path) -> None:
    settings.APPLY = replace(settings.APPLY, file=str(tmp_path / "larder.yaml"))
    with pytest.raises(Invalid, match="cannot be read"):
        applying.at_start()

    (tmp_path / "larder.yaml").write_text("teams: [platform]")
    applying.at_start()

    assert Team.objects.filter(name="platform").exists()


def test_the_page_s_file_fits_the_schema_that_editors_read() -> None:
    import jsonschema

    found = schema.document()
    jsonschema.Draft202012Validator.check_schema(found)
    checker = jsonschema.Draft202012Validator(found)
    page = [fence.text for fence in documents.fences("docs/as-code.md") if fence.language == "yaml"]
    for text in (WITH_KEY, *page):
        assert list(checker.iter_errors(yaml.safe_load(text))) == []
    assert list(checker.iter_errors({"namespaces": [{"name": "a", "colour": "red"}]}))
    assert list(checker.iter_errors({"teams": [{"description": "no name"}]}))
