"""What the letters about a release say to its publisher, and to those who watch its module."""

import pytest

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Namespace
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.modules import answers
from apps.notify import outbox
from apps.notify.models import Letter, Shape, Watch
from apps.notify.notices import notices_of
from tests.builders.archives import module_zip
from tests.conftest import run_jobs

pytestmark = pytest.mark.django_db
BEFORE = module_zip({"main.tf": 'variable "name" {\n  default = "x"\n}\n'})
AFTER = module_zip({"main.tf": 'variable "name" {}\n'})
FOUND = (
    "Found 1 breaking change since 1.2.0: input name (default removed: the input is now required), expected a number"
)


@pytest.fixture
def letter(published, alice):
    """About 1.3.0, which breaks something without saying so, under that rule."""

    def about(rule: str) -> Letter:
        alice.email = "alice@acme.example"
        alice.save()
        published(version="1.2.0", data=BEFORE)
        Namespace.objects.update(breaking_changes=rule)
        published(version="1.3.0", data=AFTER)
        outbox.dispatch()
        return Letter.objects.get()

    return about


def test_a_held_release_asks_its_publisher_and_says_what(letter):
    held = letter("ask")

    assert held.subject == "acme/vpc/aws 1.3.0 needs your answer"
    assert held.text.startswith(f"{held.subject}.\n{FOUND}")


def test_a_refused_one_says_why_in_sentences(letter):
    assert letter("refuse").text.startswith(f"acme/vpc/aws 1.3.0 was refused.\n{FOUND}")


def test_who_watches_reads_what_a_new_version_breaks_and_why(published, alice, bob):
    bob.email = "bob@acme.example"
    bob.save()
    Watch.objects.create(user=bob, namespace=Namespace.objects.get(name="acme"), name="vpc/aws")
    published(version="1.2.0", data=BEFORE)
    published(version="2.0.0", data=AFTER)
    published(version="2.0.1", data=AFTER)
    Namespace.objects.update(breaking_changes="ask")
    held = published(version="2.1.0", data=module_zip({"main.tf": ""}))
    answers.answer(release=held, viewer=Viewer(alice), confirm=["breaking-change"], reason="<b>Nobody</b> set it.")
    run_jobs()
    outbox.dispatch()

    first, major, patch, minor = Letter.objects.order_by("pk")
    assert "Breaks" not in first.text + patch.text
    assert major.text.endswith("published by alice.\nBreaks users of 1.2.0: input name.")
    assert minor.text.endswith("\nBreaks users of 2.0.1: input name.\nIts publisher says: <b>Nobody</b> set it.")


def test_programs_are_told_what_breaks_as_well(published):
    published(version="1.2.0", data=module_zip({"main.tf": "".join(f'variable "in_{n}" {{}}\n' for n in range(7))}))
    published(version="2.0.0", data=module_zip({"main.tf": ""}))
    first, second = notices_of(AuditEvent.objects.filter(kind=Kind.RELEASE_PUBLISHED).order_by("pk"))
    sentence = "Breaks users of 1.2.0: input in_0, input in_1, input in_2, input in_3, input in_4 and 2 more."

    for shape in Shape:
        assert sentence in outbox.body_of(second, shape).replace("\N{ZERO WIDTH SPACE}", "")
        assert "reaks" not in outbox.body_of(first, shape)
