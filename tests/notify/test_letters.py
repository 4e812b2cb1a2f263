"""What the letters about a release say to its publisher."""

import pytest

from apps.accounts.models import Namespace
from apps.notify import outbox
from apps.notify.models import Letter
from tests.builders.archives import module_zip

pytestmark = pytest.mark.django_db
BEFORE = module_zip({"main.tf": 'variable "name" {\n  default = "x"\n}\n'})
AFTER = module_zip({"main.tf": 'variable "name" {}\n'})
FOUND = "Found 1 breaking change since 1.2.0: input name (the input has no default any more), expected a number"


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

    assert held.subject == "acme/vpc/aws 1.3.0 waits for your answer"
    assert held.text.startswith(f"{held.subject}.\n{FOUND}")


def test_a_refused_one_says_why_in_sentences(letter):
    assert letter("refuse").text.startswith(f"acme/vpc/aws 1.3.0 was refused.\n{FOUND}")
