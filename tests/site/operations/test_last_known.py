"""The output of `manage.py doctor` while the database is away and answers are repeated."""

from registry_site import healthcheck
from registry_site.operations import last_known
from tests.rows import for_each_row


@for_each_row(
    ("said", "state", "words"),
    [
        (
            {"serving_stale": {"since": "2026-01-31T10:00:00.5Z", "until": "2026-01-31T10:05:00.5Z", "answers": 7}},
            "warn",
            "served since 2026-01-31T10:00, 7 by one web process; ends 2026-01-31T10:05",
        ),
        ({"database_elsewhere": True}, "fail", "only this host cannot reach the database"),
        ({"status": "ok"}, "ok", "served for 300 s if the database goes down"),
    ],
)
def test_what_the_web_server_of_this_host_says_of_an_outage_is_told(settings, monkeypatch, said, state, words):
    settings.SERVE_STALE_SECONDS = 300
    answer = healthcheck.Answer(503, said)
    monkeypatch.setattr(healthcheck, "ask_this_server", {"/status": answer}.__getitem__)
    [found] = last_known.look()
    assert (found.state, words in found.found) == (state, True), found.found


def test_nothing_is_said_where_nothing_is_repeated_or_no_web_server_runs(settings, monkeypatch):
    settings.SERVE_STALE_SECONDS = 300
    monkeypatch.setattr(healthcheck, "ask_this_server", lambda _: healthcheck.Answer())
    assert list(last_known.look()) == []
