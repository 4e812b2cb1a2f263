"""The hosts that tell each other that the database answers. test_stale.py has what a host does that hears of it."""

from django.db import connections

from registry_site.backends import other_hosts


def test_hosts_tell_each_other_only_where_the_operator_says_so(settings):
    settings.CACHE_URL, settings.INSTANCES, settings.SERVE_STALE_SECONDS = "redis://127.0.0.1:1/0", 2, 60
    assert other_hosts.chosen() is not None
    for name, value in (("INSTANCES", 1), ("CACHE_URL", ""), ("SERVE_STALE_SECONDS", 0)):
        before = getattr(settings, name)
        setattr(settings, name, value)
        assert other_hosts.chosen() is None, name
        setattr(settings, name, before)


def test_what_is_said_of_another_database_or_with_another_key_is_not_heard(settings, monkeypatch):
    found = [other_hosts.database()]
    settings.SECRET_KEY = "another-one-" + "x" * 50
    found.append(other_hosts.database())
    monkeypatch.setitem(connections["default"].settings_dict, "NAME", "staging")
    found.append(other_hosts.database())
    assert len(set(found)) == len(found)
