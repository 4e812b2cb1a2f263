"""The log in both formats: no secret, wherever it came from (A16); and JSON stays JSON."""

import json
import logging
import subprocess
import sys
import threading
from contextlib import contextmanager

import pytest
import structlog

from apps.lib.text.redaction import HIDDEN
from registry_site import logs
from tests.builders import canaries
from tests.rows import for_each_row

FORMATS = ["json", "console"]


class Thing:
    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return f"<Thing {self.text}>"


@contextmanager
def noted(formatter, level):
    """Everything that our handler would write, as it would write it."""
    lines: list[str] = []

    class Sink(logs.StderrHandler):
        def emit(self, record):
            lines.append(self.format(record))

    root, sink = logging.getLogger(), Sink()
    sink.setFormatter(formatter)
    before = root.level
    root.addHandler(sink)
    root.setLevel(level)
    yield lines
    root.removeHandler(sink)
    root.setLevel(before)


@pytest.fixture(params=FORMATS)
def written(request):
    with noted(logs.formatter(as_json=request.param == "json"), "DEBUG") as lines:
        yield lines
    assert lines
    if request.param == "json":
        assert all(isinstance(json.loads(line), dict) for line in lines)


def raised(text):
    try:
        raise ValueError(text)
    except ValueError as error:
        return error


def in_context(text):
    with structlog.contextvars.bound_contextvars(asked=text):
        structlog.get_logger("larder").info("x")


# Each way by which a text gets into a line: ours through structlog, and that of the libraries through logging.
WAYS = {
    "message": lambda text: logging.getLogger("django").warning(text),
    "argument": lambda text: logging.getLogger("django").warning("%s came", text),
    "argument-object": lambda text: logging.getLogger("django").warning("%r came", Thing(text)),
    "extra-object": lambda text: logging.getLogger("django").warning("x", extra={"request": Thing(text)}),
    "extra-deep": lambda text: logging.getLogger("celery").error("x", extra={"data": {"args": [(Thing(text),)]}}),
    "exception": lambda text: logging.getLogger("celery").error("x", exc_info=raised(text)),
    "ours-value": lambda text: structlog.get_logger("larder").info("x", path=text),
    "ours-object": lambda text: structlog.get_logger("larder").info("x", request=Thing(text)),
    "ours-deep": lambda text: structlog.get_logger("larder").info("x", found={"a": [{"b": Thing(text)}]}),
    "ours-exception": lambda text: structlog.get_logger("larder").error("x", exc_info=raised(text)),
    "ours-context": in_context,
}


@pytest.mark.parametrize("way", WAYS)
def test_no_secret_is_written_by_whatever_way_it_comes(written, way):
    for text, _ in canaries.SHOWN.values():
        WAYS[way](text)

    for (what, (_, secret)), line in zip(canaries.SHOWN.items(), written, strict=True):
        assert secret not in line, what
        assert HIDDEN in line, what


@for_each_row("key", ["password", "Authorization", "HTTP_COOKIE", "api_token", "X-CSRFToken", "secret_key"])
def test_a_value_is_hidden_by_its_key(written, key):
    structlog.get_logger("larder").info("x", **{key: "hunter2"}, headers={key: "hunter2"}, path="/modules")

    assert "hunter2" not in written[0]
    assert "/modules" in written[0]


def test_a_secret_is_hidden_where_it_is_the_key(written):
    structlog.get_logger("larder").info("x", **{canaries.TOKEN: 1}, seen={f"/uploads/{canaries.TICKET}": 2})

    assert canaries.TOKEN not in written[0]
    assert canaries.TICKET not in written[0]


@pytest.fixture
def hooks():
    """The interpreter's own last words, put back."""
    before = sys.excepthook, threading.excepthook
    logs.log_crashes()
    yield
    sys.excepthook, threading.excepthook = before


def test_what_ends_a_process_or_a_thread_is_logged_without_secrets(written, hooks):
    text, secret = canaries.SHOWN["database-url"]
    error = raised(text)
    sys.excepthook(type(error), error, error.__traceback__)

    def crash():
        raise ValueError(text)

    thread = threading.Thread(target=crash)
    thread.start()
    thread.join()

    assert ["thread_crashed" in line for line in written] == [False, True]
    assert all("ValueError" in line and "Traceback" in line for line in written)
    assert secret not in "".join(written)


def test_a_log_call_that_fails_prints_none_of_its_arguments(capsys):
    handler = logs.StderrHandler()
    handler.setFormatter(logs.formatter(as_json=True))
    record = logging.LogRecord("x", logging.INFO, "apps/x.py", 7, "%d items", (canaries.TOKEN,), None)

    handler.handle(record)

    said = capsys.readouterr().err
    assert "apps/x.py:7" in said
    assert canaries.TOKEN not in said


HANDLERS = """
import json, logging
named = [one for one in logging.Logger.manager.loggerDict.values() if isinstance(one, logging.Logger)]
found = [(one.name, handler) for one in [logging.getLogger(), *named] for handler in one.handlers]
print(json.dumps([
    (name, f"{type(handler).__module__}.{type(handler).__name__}", type(handler.formatter).__name__)
    for name, handler in found if not isinstance(handler, logging.NullHandler)
]))
"""


@pytest.mark.slow
def test_there_is_one_handler_and_it_redacts():
    """In a process of its own: what the tests alone load brings handlers along."""
    command = [sys.executable, "manage.py", "shell", "-v0", "-c", HANDLERS]
    done = subprocess.run(command, capture_output=True, check=True)

    assert json.loads(done.stdout) == [["root", "registry_site.logs.StderrHandler", "ProcessorFormatter"]]
