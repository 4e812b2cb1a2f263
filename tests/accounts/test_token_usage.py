"""Last used: at most once a minute a token, never by the request itself."""

import subprocess
import sys
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts import tokens
from apps.accounts.access import Viewer
from apps.accounts.models import ApiToken, Scope
from apps.accounts.token_usage import UsageNotes


@pytest.fixture
def token(alice):
    return tokens.issue(user=alice, label="CI", scope=Scope.READ, actor=Viewer(alice))[0]


@pytest.fixture
def notes():
    return UsageNotes()


def test_noting_asks_the_database_nothing(notes, token, django_assert_num_queries):
    with django_assert_num_queries(0):
        notes.note(token)


def test_it_writes_many_in_one_statement(notes, alice, django_assert_num_queries):
    for number in range(50):
        notes.note(tokens.issue(user=alice, label=f"t{number}", scope=Scope.READ, actor=Viewer(alice))[0])

    with django_assert_num_queries(1):
        assert notes.flush() == 50
    assert not ApiToken.objects.filter(last_used_at=None).exists()


def test_it_writes_a_token_at_most_once_a_minute(notes, token):
    notes.note(token)
    assert notes.flush() == 1
    first = ApiToken.objects.get(pk=token.pk).last_used_at

    notes.note(token)  # another process, which read the row before
    assert notes.flush() == 0
    token.refresh_from_db()
    notes.note(token)
    assert notes.flush() == 0
    assert ApiToken.objects.get(pk=token.pk).last_used_at == first

    ApiToken.objects.filter(pk=token.pk).update(last_used_at=timezone.now() - timedelta(minutes=2))
    token.refresh_from_db()
    notes.note(token)
    assert notes.flush() == 1


def test_a_token_that_is_gone_disturbs_nobody(notes, token):
    notes.note(token)
    token.delete()

    assert notes.flush() == 0


EXITING = """
import os, sys
from multiprocessing import get_context

sys.path.insert(0, os.getcwd())
os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
import django
django.setup()
from apps.accounts.token_usage import UsageNotes

def child():
    notes = UsageNotes()
    notes.flush = lambda: print("flushed", flush=True)
    notes.start()

if __name__ == "__main__":
    for method in ("fork", "spawn"):
        process = get_context(method).Process(target=child)
        process.start()
        process.join()
    child()
"""


@pytest.mark.once
def test_a_clean_exit_flushes_in_a_process_and_in_its_children(tmp_path):
    """Web servers run their workers as multiprocessing children, where atexit alone is not called after a fork."""
    script = tmp_path / "exiting.py"
    script.write_text(EXITING)

    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60, check=False)

    assert ran.stdout == "flushed\n" * 3, ran.stderr
