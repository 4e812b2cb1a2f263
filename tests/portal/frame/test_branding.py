"""The name and the logo of an installation: pages, mails, the admin and the address of the logo."""

import re

import pytest
from django.core import checks
from django.template.loader import render_to_string

from apps.portal.frame import branding

SVG = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><path d="M0 0h8v8z"/></svg>'


@pytest.fixture
def logo_file(settings, tmp_path):
    settings.SITE_NAME, settings.SITE_LOGO = "Acme & Sons", str(tmp_path / "logo.svg")
    (tmp_path / "logo.svg").write_bytes(SVG)
    return tmp_path / "logo.svg"


def errors():
    return [one.id for one in checks.run_checks() if one.id in ("larder.E031", "larder.E032")]


def test_name_and_logo_are_on_every_kind_of_page_and_in_mails(browser_of, olga, client, logo_file, db):
    for page in (
        client.get("/"),
        client.get("/account/login/"),
        client.get("/status"),
        browser_of(olga).get("/admin/"),
    ):
        text = page.content.decode()
        assert "Acme &amp; Sons" in re.findall(r"<title>(.*?)</title>", text, re.DOTALL)[0]
        assert re.search(r'<link rel="icon" href="/site/logo-[0-9a-f]{16}\.svg" type="image/svg\+xml">', text)
    failure = render_to_string("500.html")
    assert "Acme &amp; Sons" in failure
    assert 'src="/site/logo-' in failure
    letter = {"items": [], "host": "registry.example"}
    assert "Acme &amp; Sons at registry.example" in render_to_string("mail/letter.html", letter)
    assert "Acme & Sons at registry.example" in render_to_string("mail/letter.txt", letter)


def test_the_logo_is_served_as_a_picture_that_cannot_act(client, db, logo_file):
    answer = client.get(branding.site_logo().url)

    assert answer.content == SVG
    assert answer["Content-Type"] == "image/svg+xml"
    assert answer["Content-Security-Policy"] == branding.POLICY
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert "immutable" in answer["Cache-Control"]
    assert client.get("/site/logo-0000000000000000.svg").status_code == 404


def test_an_unusable_logo_or_name_is_named_by_the_checks_and_replaced_by_ours(client, db, logo_file, settings):
    assert errors() == []
    settings.SITE_LOGO = str(logo_file.with_name("other.svg"))
    assert errors() == ["larder.E032"]
    logo_file.with_name("other.svg").write_bytes(SVG.replace(b"<path", b"<script/><path"))
    assert errors() == ["larder.E032"]
    assert branding.site_logo().url.startswith("/static/img/logo")
    settings.SITE_NAME = "A" * 41
    assert errors() == ["larder.E031", "larder.E032"]
