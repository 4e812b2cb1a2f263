"""Badges: the same for everybody, of public namespaces only."""

from xml.etree import ElementTree as ET

from apps.contrib.feeds.pages.badges import short, svg
from apps.releases.models import DownloadCount, SearchDoc
from tests.rows import for_each_row

BADGE = "/modules/pantry/vpc/aws/badge/{}.svg"


def words(answer):
    return words_in(answer.content)


def words_in(picture):
    root = ET.fromstring(picture)  # noqa: S314  # our own bytes
    return [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]


def test_a_public_module_has_badges_that_caches_may_keep(published, client, django_assert_max_num_queries):
    release = published("pantry/vpc/aws", "1.2.0")
    published("pantry/vpc/aws", "1.3.0-rc.1")
    SearchDoc.objects.update(downloads=12_345)
    with django_assert_max_num_queries(3):
        answer = client.get(BADGE.format("version"))

    assert words(answer) == ["version", "1.2.0"]
    assert words(client.get(BADGE.format("downloads"))) == ["downloads", "12k"]
    assert answer["Content-Type"] == "image/svg+xml"
    assert answer["Cache-Control"] == "public, max-age=300"
    assert not {"Cookie", "Authorization"} & set(answer.get("Vary", "").split(", "))
    assert client.get(BADGE.format("stars")).status_code == 404
    assert not DownloadCount.objects.exists()
    type(release).objects.update(lifecycle="yanked", lifecycle_reason="No.", lifecycle_at=release.published_at)
    assert words(client.get(BADGE.format("version"))) == ["version", "none listed"]


def test_nobody_gets_or_is_offered_badges_of_what_is_hidden(published, client, browser_of, alice):
    for namespace in ("acme", "hall", "pantry"):
        published(f"{namespace}/vpc/aws", "1.2.0")
    member = browser_of(alice)
    hidden = [
        browser.get(f"/modules/{namespace}/vpc/aws/badge/version.svg")
        for namespace in ("acme", "hall", "nowhere")
        for browser in (client, member)
    ]

    assert {(answer.status_code, answer.content) for answer in hidden} == {(404, hidden[0].content)}
    assert "/badge/" not in member.get("/modules/acme/vpc/aws/versions").text
    assert "/modules/pantry/vpc/aws/badge/version.svg)](" in member.get("/modules/pantry/vpc/aws/versions").text


def test_texts_in_a_badge_are_texts_and_its_fonts_are_the_readers():
    picture = svg("version", '"><script>alert(1)</script>')

    assert words_in(picture)[1].startswith('">')
    assert not any(word in picture for word in ("url(http", "@import", "style", "href"))


@for_each_row(
    ("number", "text"),
    [(0, "0"), (999, "999"), (1_000, "1k"), (1_250, "1.2k"), (12_999, "12k"), (5_600_000, "5.6M"), (2 * 10**9, "2G")],
)
def test_large_numbers_are_short(number, text):
    assert short(number) == text
