"""Publishing from the admin: the portal's forms in the admin's frame."""

from django.urls import reverse

from apps.releases.models import Release
from tests.builders.archives import module_zip
from tests.rows import for_each_row

WHERE, PROVIDER = "/admin/upload/", "/admin/upload/provider/"
PROVIDER_FORM = {"provider": "new", "namespace": "acme", "type": "dns", "version": "1.2.0"}
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
    for where in (WHERE, PROVIDER):
        assert f'href="{where}"' in operator_client.get(reverse("admin:index")).text


@for_each_row(
    ("where", "mark", "script"),
    [(WHERE, "data-publish", "js/upload.js"), (PROVIDER, "data-provider-publish", "js/publish-provider.js")],
)
def test_the_form_is_the_portals_in_the_admins_frame(operator_client, acme, where, mark, script):
    page = operator_client.get(where).text

    for words in ('id="user-tools"', mark, f'action="{where}"', script):
        assert words in page


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


def test_the_draft_of_a_provider_is_the_operators_and_its_page_follows(operator_client, acme, olga):
    page = operator_client.post(PROVIDER, PROVIDER_FORM, follow=True)
    release = Release.objects.get()
    assert page.redirect_chain[-1][0] == reverse("portal:release", args=[release.public_id])
    assert release.created_by == olga
    assert "data-provider-draft" in page.text
    assert page.context["is_own"]


def test_the_script_is_answered_where_to_send_the_files_of_a_provider(operator_client, acme):
    answer = operator_client.post(PROVIDER, PROVIDER_FORM, headers={"Accept": "application/json"})
    release = Release.objects.get()

    assert answer.status_code == 201
    assert answer.json() == {"release": f"/releases/{release.public_id}", "state": "receiving", "files": []}


def test_a_refused_provider_stays_in_the_admin(operator_client, acme):
    page = operator_client.post(PROVIDER, PROVIDER_FORM | {"version": "v1"})

    assert page.status_code == 422
    assert 'id="user-tools"' in page.text
    assert page.context["form"].errors["version"]
