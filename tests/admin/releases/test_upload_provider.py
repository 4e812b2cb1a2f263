"""Publishing a provider from the admin: the portal's form in the admin's frame, then the release's page."""

import pytest
from django.urls import reverse

from apps.releases.models import Release

WHERE = "/admin/upload/provider/"
FORM = {"provider": "new", "namespace": "acme", "type": "dns", "version": "1.2.0"}


def test_the_dashboard_leads_there(operator_client):
    assert f'href="{WHERE}"' in operator_client.get(reverse("admin:index")).text


def test_the_form_is_the_portals_in_the_admins_frame(operator_client, acme):
    page = operator_client.get(WHERE).text

    assert 'id="user-tools"' in page
    assert "data-provider-publish" in page
    assert f'action="{WHERE}"' in page
    assert "js/publish-provider.js" in page


def test_the_draft_is_the_operators_and_its_page_follows(operator_client, acme, olga):
    page = operator_client.post(WHERE, FORM, follow=True)
    release = Release.objects.get()
    assert page.redirect_chain[-1][0] == reverse("portal:release", args=[release.public_id])
    assert release.created_by == olga
    assert "data-provider-draft" in page.text
    assert page.context["is_own"]


def test_the_script_is_answered_where_to_send_its_files(operator_client, acme):
    answer = operator_client.post(WHERE, FORM, headers={"Accept": "application/json"})
    release = Release.objects.get()

    assert answer.status_code == 201
    assert answer.json() == {"release": f"/releases/{release.public_id}", "state": "receiving", "files": []}


def test_a_refusal_stays_in_the_admin(operator_client, acme):
    page = operator_client.post(WHERE, FORM | {"version": "v1"})

    assert page.status_code == 422
    assert 'id="user-tools"' in page.text
    assert page.context["form"].errors["version"]


@pytest.mark.parametrize("who", ["bob", "nobody"])
def test_only_staff_upload_there(request, browser_of, acme, who):
    user = None if who == "nobody" else request.getfixturevalue(who)
    answer = browser_of(user).post(WHERE, FORM)

    assert answer.status_code in (302, 403)
    assert not Release.objects.exists()
