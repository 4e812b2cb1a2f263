import re

from django.urls import reverse

from tests import pages
from tests.admin import rows

INLINE = re.compile(
    r"<script(?![^>]*\bsrc=)|<style\b|<[^>]*\sstyle\s*=|<[^>]*\son[a-z]+\s*=|javascript:", re.IGNORECASE
)
# Data that a script of Django's reads; a browser runs nothing in it, and no policy reports it.
DATA = re.compile(r'<script[^>]*type="application/json"[^>]*>')


def test_staff_without_a_permission_sees_no_rows(browser_of, bob):
    bob.is_staff = True
    bob.save()
    client = browser_of(bob)

    assert client.get(reverse("admin:index")).status_code == 200
    assert client.get(reverse("admin:jobs_job_changelist")).status_code == 403


def test_the_password_is_changed_where_everybody_changes_it(operator_client):
    assert operator_client.get(reverse("admin:password_change")).url == reverse("account_change_password")


def test_operate_has_the_frame_of_the_portal(operator_client):
    page = pages.markup_of(operator_client.get(reverse("admin:index")))

    assert "<title>Operate - Larder</title>" in page
    for part in ('class="masthead"', 'class="colophon"', "css/site.css", f'href="{reverse("portal:home")}"'):
        assert part in page, part
    assert "admin/css/base.css" not in page


def pages_of(client):
    yield client.get(reverse("admin:index"))
    for model in rows.LISTED:
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        yield client.get(reverse(f"{name}_changelist"))
        yield client.get(reverse(f"{name}_change", args=[model.objects.order_by("pk")[:1].get().pk]))
    for added in ("namespace", "grant", "invitation"):
        yield client.get(reverse(f"admin:accounts_{added}_add"))


def test_no_page_breaks_the_content_security_policy(operator_client):
    rows.make(0, 2)
    for page in pages_of(operator_client):
        assert page.status_code == 200, page.request["PATH_INFO"]
        assert "script-src 'self'" in page["Content-Security-Policy"]
        assert INLINE.findall(DATA.sub("", page.text)) == [], page.request["PATH_INFO"]
        assert "css/operate.css" in page.text
