"""Publishing from the admin: the portal's uploader in the admin's frame."""

import pytest
from django.urls import reverse

from apps.releases.models import Release
from tests.builders.archives import module_zip

WHERE = "/admin/upload/"
FORM = {
    "module": "new",
    "namespace": "acme",
    "name": "vpc",
    "system": "aws",
    "version": "1.2.0",
    "file_name": "vpc.zip",
}


def test_the_lists_of_modules_and_versions_lead_there(operator_client):
    for model in ("module", "moduleversion"):
        assert f'href="{WHERE}"' in operator_client.get(reverse(f"admin:modules_{model}_changelist")).text
    assert f'href="{WHERE}"' in operator_client.get(reverse("admin:index")).text


def test_the_form_is_the_portals_in_the_admins_frame(operator_client, acme):
    page = operator_client.get(WHERE).text

    assert 'id="user-tools"' in page
    assert "data-publish" in page
    assert f'action="{WHERE}"' in page
    assert "js/upload.js" in page


def test_a_release_is_published_without_javascript(operator_client, acme, olga, work):
    page = operator_client.post(WHERE, FORM, follow=True)
    release = Release.objects.get()
    assert page.redirect_chain[-1][0] == reverse("portal:release", args=[release.public_id])
    assert release.created_by == olga

    ticket = page.context["ticket"]
    upload = reverse("portal:upload", args=[ticket])
    headers = {"Accept": "application/json", "Sec-Fetch-Site": "same-origin"}
    answer = operator_client.put(upload, module_zip(), content_type="application/zip", headers=headers)
    assert answer.status_code == 200, answer.text
    work()
    release.refresh_from_db()
    assert release.state == "published"


def test_the_script_is_answered_a_ticket(operator_client, acme):
    answer = operator_client.post(WHERE, FORM, headers={"Accept": "application/json"})

    assert answer.status_code == 201
    assert set(answer.json()) == {"upload", "release"}


def test_a_refusal_stays_in_the_admin(operator_client, published):
    published("acme/vpc/aws", "1.2.0")
    page = operator_client.post(WHERE, FORM | {"module": "acme/vpc/aws"})

    assert page.status_code == 409
    assert 'id="user-tools"' in page.text
    assert page.context["form"].errors["version"]


@pytest.mark.parametrize("who", ["bob", "nobody"])
def test_only_staff_upload_there(request, browser_of, acme, who):
    user = None if who == "nobody" else request.getfixturevalue(who)
    answer = browser_of(user).post(WHERE, FORM)

    assert answer.status_code in (302, 403)
    assert not Release.objects.exists()
