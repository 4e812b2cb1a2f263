"""Lock files and blocks of strangers are read in another process, as this one would read them."""

import threading
import time

import pytest

from apps.contrib.mirror.ahead import lock_texts
from apps.contrib.mirror.ahead.required_providers import parse_required
from apps.lib.errors import Invalid, Unavailable
from apps.lib.formats.lock_files import Client, LockFile, parse_lock
from apps.lib.sandbox import parent
from tests.rows import for_each_row

LOCK = """\
# This file is maintained automatically by "terraform init".
# Manual edits may be lost in future updates.

provider "registry.terraform.io/hashicorp/random" {
  version = "3.5.1"
}

provider "bücher.example/acme/tool" {
  version     = "1.0.0-beta1"
  constraints = "~> 1.0, != 1.0.1"
  hashes = [
    "h1:VSnd9ZIPyfKHOObuQCaKfnjIHRtR7qTw19Rz8tJxm+k=",
    "x:a $${b}",
  ]
}
"""
BLOCK = 'a = { source = "hashicorp/random", version = "~>3.1" }\nb = { source = "bücher.example/acme/tool" }'


def read(lock="", required_providers="", client=""):
    return lock_texts.read(lock=lock, required_providers=required_providers, client=client)


def test_both_texts_are_read_as_in_this_process():
    locks, required = read(LOCK, BLOCK)

    assert locks == parse_lock(LOCK)
    assert str(locks) == LOCK
    assert required == parse_required(BLOCK, default_host="registry.terraform.io")


def test_a_lock_file_without_a_client_is_that_of_the_named_one():
    _, required = read(required_providers="a = {}", client="terraform")
    assert [one.host for one in required] == ["registry.terraform.io"]
    assert read("\n", "  ", "terraform") == (LockFile(Client.TERRAFORM), {})


def test_a_refusal_is_the_same():
    lock = 'provider "a.example/b/c" {\n  version = 1\n}'
    with pytest.raises(Invalid) as here:
        parse_lock(lock)
    with pytest.raises(Invalid) as there:
        read(lock)
    assert (str(there.value), there.value.hint) == (str(here.value), here.value.hint)
    with pytest.raises(Invalid, match="a = a list"):
        read(required_providers="a = [1]")


def test_other_threads_continue_while_a_text_takes_all_of_its_time(monkeypatch):
    """The parser holds the interpreter's lock for seconds where blanks follow an error."""
    monkeypatch.setattr(lock_texts, "LIMITS", parent.Limits(seconds=0))
    refused = []

    def ask():
        with pytest.raises(Invalid) as caught:
            read("a = [" + " " * 400_000)
        refused.append(str(caught.value))

    asking = threading.Thread(target=ask)
    asking.start()
    longest, last = 0.0, time.monotonic()
    while asking.is_alive():
        time.sleep(0.005)
        longest, last = max(longest, time.monotonic() - last), time.monotonic()
    asking.join()

    assert refused == ["The text takes too much time or memory to read."]
    assert longest < 0.5


@for_each_row("answer", [{}, {"client": "tofu", "locks": [["a"]], "required": []}, {"refused": "x"}])
def test_a_reader_that_answers_nonsense_is_a_failure_of_larder(monkeypatch, answer):
    monkeypatch.setattr(parent, "run", lambda **_: answer)

    with pytest.raises(Unavailable):
        read(LOCK)


@for_each_row("lock", [["a\nb/c/d", "1.0.0", ""], ["a.example/b/c", "latest", ""], ["a.example/b/c", "1.0.0", "x"]])
def test_what_a_reader_that_was_taken_over_answers_is_checked_again(monkeypatch, lock):
    monkeypatch.setattr(parent, "run", lambda **_: {"client": "tofu", "locks": [[*lock, []]], "required": []})

    with pytest.raises(Invalid):
        read(LOCK)
