"""Acts in the rows of lists: the button of a row does it with that row alone, and the list is shown again."""

import pytest
from django.contrib.auth.models import Permission

from apps.accounts.models import ApiToken, Grant, Invitation
from apps.jobs.models import Job
from apps.modules.models import ModuleVersion
from tests.admin import rows
from tests.admin.lists import first, list_of, page_of
from tests.cast import person


def click(client, row, act, **query):
    return client.post(list_of(type(row), **query), {"row_act": f"{act}:{row.pk}"})


def test_a_row_offers_what_its_state_allows(operator_client):
    rows.make(0, 2)
    failed, queued = Job.objects.order_by("pk")
    Job.objects.filter(pk=queued.pk).update(state="queued")
    page = operator_client.get(list_of(Job)).text

    assert f'value="retry:{failed.pk}"' in page
    assert f'value="cancel:{failed.pk}"' not in page
    assert f'value="cancel:{queued.pk}"' in page
    assert f'value="retry:{queued.pk}"' not in page
    assert '<form id="row-acts" method="post">' in page
    assert 'form="row-acts"' in page


def test_it_is_done_with_this_row_alone_and_the_filtered_list_is_shown_again(operator_client):
    rows.make(0, 2)
    job, other = Job.objects.order_by("pk")
    answer = click(operator_client, job, "retry", state__exact="failed")

    assert answer.headers["Location"] == list_of(Job, state__exact="failed")
    assert dict(Job.objects.values_list("pk", "state")) == {job.pk: "queued", other.pk: "failed"}


def test_an_act_that_asks_for_a_reason_asks_first(operator_client, published):
    published("acme/vpc/aws", "1.2.0")
    version = ModuleVersion.objects.get()
    leads_to = click(operator_client, version, "yank").headers["Location"]

    assert 'name="reason"' in operator_client.get(leads_to).text
    back = operator_client.post(leads_to, {"reason": "It deletes the volume."})
    assert back.headers["Location"] == list_of(ModuleVersion)
    assert 'badge--warn">yanked' in operator_client.get(list_of(ModuleVersion)).text


def test_what_is_no_longer_possible_or_no_longer_there_is_told(operator_client):
    rows.make(0, 1)
    job = first(Job)
    click(operator_client, job, "retry")
    again = operator_client.post(list_of(Job), {"row_act": f"retry:{job.pk}"}, follow=True)
    assert "This is no longer possible" in again.text

    for key in ("999999", "x", ""):
        gone = operator_client.post(list_of(Job), {"row_act": f"retry:{key}"}, follow=True)
        assert "The row is no longer in this list." in gone.text, key


def test_who_may_only_look_has_no_buttons_and_cannot_send_one(browser_of, db):
    rows.make(0, 1)
    sam = person("sam", is_staff=True)
    sam.user_permissions.add(Permission.objects.get(codename="view_job"))
    browser = browser_of(sam)

    assert "row_act" not in browser.get(list_of(Job)).text
    click(browser, first(Job), "retry")
    assert first(Job).state == "failed"


def test_who_may_not_look_sends_nothing(browser_of, db):
    rows.make(0, 1)
    sam = person("sam", is_staff=True)
    sam.user_permissions.add(Permission.objects.get(codename="retry_job"))

    assert click(browser_of(sam), first(Job), "retry").status_code == 403
    assert first(Job).state == "failed"


@pytest.mark.parametrize("model", [ApiToken, Invitation])
def test_a_button_names_its_row_for_screen_readers(operator_client, model):
    rows.make(0, 1)
    model.objects.update(used_at=None) if model is Invitation else None
    row = first(model)

    assert f'Revoke<span class="visually-hidden"> {row}</span>' in operator_client.get(list_of(model)).text


def test_a_row_that_may_be_deleted_leads_to_the_page_that_asks(operator_client):
    rows.make(0, 1)
    grant = first(Grant)
    deletion = f"{page_of(grant).removesuffix('change/')}delete/"

    assert f'href="{deletion}"' in operator_client.get(list_of(Grant)).text
    assert "This deletes:" in operator_client.get(deletion).text


@pytest.mark.parametrize("where", [list_of, page_of], ids=["list", "page"])
def test_what_cannot_be_undone_says_so_first(operator_client, where):
    rows.make(0, 2)
    token, other = ApiToken.objects.order_by("pk")
    url = where(ApiToken) if where is list_of else where(token)
    button = {"row_act": f"revoke:{token.pk}"} if where is list_of else {"action": "revoke"}
    asked = operator_client.post(url, button)

    assert "This cannot be undone." in asked.text
    assert ApiToken.objects.filter(revoked_at=None).count() == 2
    confirmed = {"action": "revoke", "apply": "1", "_selected_action": str(token.pk)}
    for name, value in confirmed.items():
        assert f'name="{name}" value="{value}"' in asked.text
    assert "Revoked: 1." in operator_client.post(url, confirmed, follow=True).text
    assert list(ApiToken.objects.filter(revoked_at=None)) == [other]


def test_a_button_needs_a_recent_proof_and_an_export_beside_it_lends_none(browser_of, olga):
    rows.make(0, 1)
    browser = browser_of(olga, confirmed=False)
    for more in ({}, {"action": "export_csv"}):
        browser.post(list_of(Job), {"row_act": f"retry:{first(Job).pk}", **more})
        assert first(Job).state == "failed", more

    assert click(browser_of(olga), first(Job), "retry").status_code == 302
    assert first(Job).state == "queued"
