"""A registry with every kind that a file can describe: it is read at once, and an export makes it again."""

import io
from typing import Any

import pytest
import yaml
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import Namespace, Team, User
from apps.contrib.apply import reading
from apps.signing.models import SigningKey

pytestmark = [pytest.mark.django_db, pytest.mark.both]


def every_kind(many: int) -> str:
    """A file with `many` of each kind that the installed rooms have."""
    site: dict[str, list[Any]] = {"teams": [], "namespaces": [], "site_webhooks": [], "upstreams": []}
    hook = {"url": "https://ci.example/", "events": ["release.published"]}
    for number in range(many):
        site["teams"].append(
            {
                "name": f"t{number}",
                "description": "Ours",
                "members": [{"user": "alice", "manager": True}, {"user": "bob"}],
                "service_accounts": ["ci"],
                "roles": [{"namespace": f"n{number}", "role": "owner"}],
            }
        )
        site["namespaces"].append(
            {
                "name": f"n{number}",
                "visibility": "private",
                "quota_versions": 9,
                "requires_approval": True,
                "grants": [{"user": "charlie", "role": "reader"}],
                "signing_keys": [{"generate": "ed25519"}],
                "webhooks": [hook, {**hook, "url": "https://other.example/"}],
                "trusted_publishers": [{"kind": "github", "repository": f"acme/r{number}", "workflow": "publish.yml"}],
                "repositories": [
                    {
                        "url": f"https://git.example/acme/{number}.git",
                        "rules": [{"tag": "v{version}", "module": "vpc/aws"}],
                    }
                ],
                "checks": {"mode": "hold", "requirements": [{"name": "lint"}]},
                "cleanup": {"keep_newest": 3},
            }
        )
        site["upstreams"].append(
            {
                "host": f"r{number}.example",
                "cooldown_days": 3,
                "policies": {"rules": [{"pattern": "acme/*", "effect": "deny", "reason": "Ours"}]},
            }
        )
    site["site_webhooks"] = [{"url": "https://all.example/", "events": ["release.published"], "shape": "slack"}]
    found = {}
    for kind in reading.kinds():
        inner = {child.word for child in reading.kinds(kind.word)}
        assert all(inner <= one.keys() for one in site[kind.word]), "a new kind belongs here"
        found[kind.word] = [
            {
                key: value
                for key, value in one.items()
                if not inner or key in inner or not isinstance(value, list | dict)
            }
            for one in site[kind.word]
        ]
    return yaml.safe_dump(found, sort_keys=False)


def exported() -> str:
    out = io.StringIO()
    call_command("export", stdout=out)
    return out.getvalue()


def test_an_exported_registry_is_the_same_after_it_was_wiped_and_applied(apply: Any) -> None:
    apply(every_kind(2))
    first = exported()
    assert "no changes" in apply(first)[-1]

    others = sorted({kind.word for kind in reading.kinds()} - {"namespaces", "teams"})
    apply(yaml.safe_dump({"prune": others, **{word: [] for word in others}}))
    SigningKey.objects.all().delete()
    Namespace.including_deleted.all().delete()
    Team.objects.all().delete()
    User.objects.filter(is_service=True).delete()
    assert "+ grants charlie of n1: role reader" in apply(first)
    assert exported() == first


def test_neither_a_second_run_nor_an_export_asks_more_for_more_entries(apply: Any) -> None:
    counts = []
    for many in (1, 12):
        file = every_kind(many)
        apply(file)
        for again in (lambda: apply(file)[-1], lambda: exported() and "no changes"):  # noqa: B023  # called here
            with CaptureQueriesContext(connection) as asked:
                assert "no changes" in again()
            counts.append(len(asked))

    assert counts[:2] == counts[2:]
