"""/releases/<uuid>/answer: what a held release asks, and what its publisher answers."""

import re
from typing import Any

import pytest

from apps.releases.models import Release, State
from tests.builders.archives import PRIVATE_KEY, module_zip
from tests.portal.publish.conftest import JSON, NEW
from tests.rows import for_each_row

pytestmark = pytest.mark.django_db
SECRETS = {"main.tf": "", "terraform.tfstate": "{}", "tests/id_rsa": PRIVATE_KEY}
MONOREPO = {"README.md": "", "modules/My_Net/main.tf": "", "modules/terraform-aws-dns/main.tf": ""}
NET, DNS = "modules/My_Net", "modules/terraform-aws-dns"


@pytest.fixture
def upload(browser, work):
    """Begins a release in the browser, sends these files and lets the worker look at them."""

    def send(files: dict[str, str], **more: Any) -> Release:
        answer = browser.post("/publish", {**NEW, **more}, headers=JSON).json()
        body = module_zip(files)
        browser.generic("PUT", answer["upload"], body, headers={**JSON, "Sec-Fetch-Site": "same-origin"})
        work()
        return Release.objects.select_related("namespace").get(public_id=answer["release"].rpartition("/")[2])

    return send


def page_of(browser, release: Release) -> str:
    return browser.get(f"/releases/{release.public_id}").content.decode()


def answer(browser, release: Release, **data: str | list[str]):
    return browser.post(f"/releases/{release.public_id}/answer", data)


def part(at: int, **fields: str) -> dict[str, str]:
    return {f"part-{at}-{name}": text for name, text in {"chosen": "on", **fields}.items()}


@pytest.mark.parametrize("folder", ["stacks", "modules"])
@pytest.mark.parametrize("more", [{}, {"multiple_modules": "on"}])
def test_all_of_an_archive_is_offered_wherever_a_folder_has_configuration(upload, browser, work, folder, more):
    release = upload({"README.md": "", f"{folder}/one/main.tf": "", f"{folder}/two/main.tf": ""}, **more)
    assert "The whole archive: a module without a root, used by its folders" in page_of(browser, release)

    assert answer(browser, release, folder=".").status_code == 303
    work()
    release.refresh_from_db()
    assert (release.state, release.folder, release.reasons) == (State.PUBLISHED, "", [])


def test_a_held_release_asks_and_goes_on_when_every_question_is_answered(upload, browser, work):
    release = upload(SECRETS)
    assert release.state == State.HELD
    page = page_of(browser, release)
    assert re.findall(r'data-step-state="(\w+)"', page) == ["done", "waiting", "waiting"]
    assert "waiting for your answer" in page
    assert re.findall(r'data-question="([\w-]+)"', page) == ["state_file", "private_key"]
    for words in (
        "terraform.tfstate",
        "tests/id_rsa",
        "rotate them",
        "Cancel this release",
        "then the release is rejected",
    ):
        assert words in page
    document = browser.get(f"/releases/{release.public_id}/status").content.decode()
    assert 'hx-trigger="every 5s"' in document

    response = answer(browser, release, state_file="on")
    assert response.status_code == 422
    assert 'id="id_private_key_error"' in response.text
    assert re.search(r'name="state_file"[^>]*checked', response.text), "what was ticked stays"
    release.refresh_from_db()
    assert release.state == State.HELD

    response = answer(browser, release, state_file="on", private_key="on")
    assert (response.status_code, response.url) == (303, f"/releases/{release.public_id}")
    work()
    release.refresh_from_db()
    assert release.state == State.PUBLISHED
    page = page_of(browser, release)
    assert "1 file left out by rule" in page
    assert release.uploaded_digest in page
    assert release.digest in page
    assert 'href="/modules/acme/vpc/aws/1.2.0"' in page


def test_no_ends_it_and_the_number_is_free(upload, browser, browser_of, dora, stored_files):
    release = upload(SECRETS)
    assert browser.post(f"/releases/{release.public_id}/cancel").status_code == 303
    page = page_of(browser, release)
    assert "1.2.0 is still free" in page
    assert "This release was cancelled" in page
    assert re.search(r"a held release that its publisher cancelled on \d{4}-\d\d-\d\d at \d\d:\d\d UTC", page)
    assert "whole archive" not in page
    assert stored_files() == []
    assert upload({"main.tf": ""}).state == State.PUBLISHED

    release = upload(SECRETS, version="1.3.0")
    assert browser_of(dora).post(f"/releases/{release.public_id}/cancel").status_code == 303
    assert "a held release that another publisher of acme cancelled on " in page_of(browser, release)


def test_several_modules_are_taken_from_one_upload(upload, browser, work):
    release = upload(MONOREPO, multiple_modules="on")
    page = page_of(browser, release)
    assert re.findall(r'name="folder" value="([^"]+)"', page) == [".", NET, DNS]
    values = dict(re.findall(r'name="part-\d-(\w+)" value="([^"]*)"', page.rpartition("part-1-chosen")[2]))
    assert values == {"name": "dns", "system": "aws", "version": "1.2.0"}
    assert 'name="part-0-name" value="my_net"' in page
    response = answer(browser, release, folder=NET, **part(1, name="dns", system="google", version="0.1.0"))
    assert response.status_code == 303
    work()
    published = Release.objects.filter(state=State.PUBLISHED).order_by("pk")
    assert [(str(one), one.folder) for one in published] == [
        ("acme/vpc/aws 1.2.0", NET),
        ("acme/dns/google 0.1.0", DNS),
    ]
    page = page_of(browser, release)
    assert f'href="/releases/{published[1].public_id}">acme/dns/google 0.1.0</a>' in page
    assert f'<span class="mono">{NET}</span>' in page


@pytest.mark.parametrize("more", [{}, {"multiple_modules": "on"}])
def test_chosen_folders_become_one_version_in_which_each_has_its_path(upload, browser, work, more):
    release = upload({"README.md": "", **{f"stacks/{name}/main.tf": "" for name in ("a", "b", "c")}}, **more)
    page = page_of(browser, release)
    assert 'type="checkbox" name="folder" value="stacks/a"' in page
    assert "Choose several" in page

    assert answer(browser, release, folder=["stacks/c", "stacks/a"]).status_code == 303
    work()
    release.refresh_from_db()
    assert (release.state, release.folder, release.questions) == (State.PUBLISHED, "stacks/a\nstacks/c", [])
    assert [file["name"] for file in release.module_version.files] == ["stacks/a/main.tf", "stacks/c/main.tf"]
    assert "Only its folders" in page_of(browser, release)
    assert "contains the folders that its publisher chose" in browser.get("/modules/acme/vpc/aws/1.2.0").text
    assert browser.get("/modules/acme/vpc/aws/1.2.0/folders/stacks/c").status_code == 200


def test_a_pipeline_answers_with_several_folders_as_well(upload, alice, bearer, client, work):
    release = upload({"README.md": "", "stacks/a/main.tf": "", "stacks/b/main.tf": "", "stacks/c/main.tf": ""})
    url, headers = f"/api/v1/releases/{release.public_id}/answer", bearer(alice)
    for folder, status in (("stacks/a\nelsewhere", 422), ("stacks/a\nstacks/a", 422), ("stacks/b\nstacks/a", 202)):
        said = client.post(url, {"folder": folder}, content_type="application/json", headers=headers)
        assert said.status_code == status, said.text
    work()
    release.refresh_from_db()
    assert (release.state, release.folder) == (State.PUBLISHED, "stacks/a\nstacks/b")


@pytest.mark.parametrize(
    ("chosen", "folder"),
    [
        (["stacks", "stacks/a", "stacks-b"], "stacks\nstacks-b"),
        (["stacks/a", "stacks"], "stacks"),
        ([".", "stacks/a", "stacks-b"], ""),
    ],
    ids=["one inside of another", "only that", "all of it"],
)
def test_what_is_inside_of_another_choice_is_published_once(upload, browser, work, chosen, folder):
    release = upload({f"{name}/main.tf": "" for name in ("stacks", "stacks/a", "stacks-b")}, multiple_modules="on")
    assert answer(browser, release, folder=chosen).status_code == 303
    work()
    release.refresh_from_db()
    assert (release.state, release.folder) == (State.PUBLISHED, folder)


def test_many_folders_are_chosen_together_and_listed_when_asked_for(upload, browser, work):
    folders = [f"modules/a-network-of-the-team-{number:03}" for number in range(120)]
    release = upload({f"{folder}/main.tf": "" for folder in folders})
    refused = answer(browser, release, folder=folders)
    assert refused.status_code == 422
    assert 'id="id_folder" data-own-folders' in refused.text
    assert "Found 120 folders with 4079 characters, expected at most 4000 in total." in refused.text
    assert answer(browser, release, folder=folders[:100]).status_code == 303
    work()
    release.refresh_from_db()
    assert (release.state, release.folder.splitlines()) == (State.PUBLISHED, folders[:100])
    page = page_of(browser, release)
    assert "<summary>Only 100 of its folders belong to this release</summary>" in page
    assert f"<li>{folders[99]}</li>" in page


def test_the_top_of_the_archive_may_be_a_module_too(upload, browser, work):
    release = upload({"main.tf": "", **MONOREPO}, multiple_modules="on")
    assert "The whole archive: the root of the archive is the module" in page_of(browser, release)
    answer(browser, release, folder=".", **part(1, name="net", system="aws", version="1.0.0"))
    work()
    assert [(str(one), one.folder) for one in Release.objects.filter(state=State.PUBLISHED).order_by("pk")] == [
        ("acme/vpc/aws 1.2.0", ""),
        ("acme/net/aws 1.0.0", NET),
    ]


@for_each_row(
    ("data", "says"),
    [
        ({}, "Choose at least one folder for this release."),
        ({"folder": "elsewhere"}, "elsewhere is not one of the available choices"),
        (
            {"folder": DNS, **part(1, name="dns", system="aws", version="1.0.0")},
            "is already in acme/vpc/aws 1.2.0",
        ),
        (
            {"folder": [NET, DNS], **part(1, name="dns", system="aws", version="1.0.0")},
            "terraform-aws-dns is already in acme/vpc/aws 1.2.0",
        ),
        ({"folder": NET, **part(1, name="d ns", system="aws", version="1.0.0")}, "a space"),
        ({"folder": NET, **part(1, name="dns", system="a-ws", version="1.0.0")}, "a dash"),
        ({"folder": NET, **part(1, name="dns", system="aws", version="v1")}, "v1"),
    ],
    ids=["no folder", "another folder", "the same folder twice", "one of several", "a name", "a system", "a version"],
)
def test_a_broken_rule_of_a_further_module_is_explained(upload, browser, data, says):
    release = upload(MONOREPO, multiple_modules="on")
    response = answer(browser, release, **data)
    assert response.status_code == 422
    assert says in response.content.decode()
    assert Release.objects.count() == 1


def test_a_number_that_is_taken_and_an_answer_that_nobody_waits_for_change_nothing(upload, browser, published):
    unasked = answer(browser, published("acme/dns/aws", "1.0.0"))
    assert unasked.status_code == 409
    assert 'role="alert"' in unasked.text
    release = upload(MONOREPO, multiple_modules="on")
    response = answer(browser, release, folder=NET, **part(1, name="dns", system="aws", version="1.0.0"))
    assert response.status_code == 409
    assert "acme/dns/aws 1.0.0 is already published" in response.content.decode()
    assert 'name="part-1-chosen" id="id_part-1-chosen" checked' in response.content.decode()
    release.refresh_from_db()
    assert release.state == State.HELD


def test_a_refusal_that_knows_folders_leads_to_each(upload, browser):
    release = upload(MONOREPO, folder="modules/nothing")
    assert release.state == State.REJECTED
    Release.objects.update(notes={"folders": [NET, DNS]})
    page = page_of(browser, release)
    again = "/publish?namespace=acme&amp;name=vpc&amp;system=aws&amp;version=1.2.0"
    assert f'href="{again}&amp;folder=modules%2FMy_Net"' in page
    assert f'href="{again}&amp;multiple_modules=1"' in page
    form = browser.get(f"{again}&amp;folder=modules%2FMy_Net".replace("&amp;", "&")).content.decode()
    assert f'name="folder" value="{NET}"' in form
    assert re.search(r"data-monorepo\s+open", form)


def test_only_the_folder_that_was_named_is_published_and_none_outside_the_archive(upload, browser):
    release = upload(MONOREPO, folder=f"{NET}/")
    assert (release.state, release.folder) == (State.PUBLISHED, NET)

    response = browser.post("/publish", {**NEW, "folder": "../secrets"}, headers=JSON)
    assert response.status_code == 422
    assert list(response.json()["errors"]) == ["folder"]


def test_the_page_costs_the_same_however_many_folders_there_are(upload, browser, django_assert_max_num_queries):
    few = upload(MONOREPO, multiple_modules="on", name="few")
    many = upload({f"modules/m{number}/main.tf": "" for number in range(40)}, multiple_modules="on", name="many")
    page_of(browser, few)  # the number in the menu lasts for a minute
    for release in (few, many):
        with django_assert_max_num_queries(10):
            page_of(browser, release)
