"""Publishing from the admin: the portal's forms in the admin's frame."""

from django.urls import reverse

from apps.releases.models import Release
from tests.builders.archives import module_zip

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


def test_lists_lead_to_the_portals_forms_in_the_admins_frame(operator_client, acme):
    for model in ("module", "moduleversion"):
        assert f'href="{WHERE}"' in operator_client.get(reverse(f"admin:modules_{model}_changelist")).text
    kinds = {WHERE: ("data-publish", "js/upload.js"), PROVIDER: ("data-provider-publish", "js/publish-provider.js")}
    for where, words in kinds.items():
        assert f'href="{where}"' in operator_client.get(reverse("admin:index")).text
        page = operator_client.get(where).text
        for part in ('aria-label="Operate"', f'action="{where}"', *words):
            assert part in page, (where, part)


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


def test_a_refusal_stays_in_the_admin(operator_client, published):
    published("acme/vpc/aws", "1.2.0")
    taken = operator_client.post(WHERE, FORM | {"module": "acme/vpc/aws"})
    broken = operator_client.post(PROVIDER, PROVIDER_FORM | {"version": "v1"})

    for page, status in ((taken, 409), (broken, 422)):
        assert page.status_code == status
        assert 'aria-label="Operate"' in page.text
        assert page.context["form"].errors["version"]


def test_the_draft_of_a_provider_is_the_operators_and_its_page_follows(operator_client, acme, olga):
    page = operator_client.post(PROVIDER, PROVIDER_FORM, follow=True)
    release = Release.objects.get()
    assert page.redirect_chain[-1][0] == reverse("portal:release", args=[release.public_id])
    assert release.created_by == olga
    assert "data-provider-draft" in page.text
    assert page.context["is_own"]


def test_the_script_is_answered_a_ticket_or_where_to_send_the_files_of_a_provider(operator_client, acme):
    answer = operator_client.post(WHERE, FORM, headers={"Accept": "application/json"})
    assert answer.status_code == 201
    assert set(answer.json()) == {"upload", "release"}

    answer = operator_client.post(PROVIDER, PROVIDER_FORM, headers={"Accept": "application/json"})
    release = Release.objects.get(kind="provider")
    assert answer.status_code == 201
    assert answer.json() == {"release": f"/releases/{release.public_id}", "state": "receiving", "files": []}
