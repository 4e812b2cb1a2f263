"""`manage.py upstream sync`: the plan, the question, the progress, and an exit status for scripts."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from apps.contrib.mirror.models import RunState, Schedule, SyncRun, UpstreamPackage
from apps.contrib.mirror.tests.ahead.test_syncing import ADDRESS, stored, tool
from apps.contrib.mirror.tests.locks import PLATFORMS, entry
from tests.builders import faults

__all__ = ["tool"]
pytestmark = pytest.mark.django_db


def command(*words) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    call_command("upstream", "sync", *words, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def test_the_command_states_the_plan_and_stops(tool, upstream):
    out, _ = command(ADDRESS, "--platform=linux_amd64", "--plan")
    assert f"{ADDRESS} 2.0.0 linux_amd64: " in out
    assert "To fetch: 1 packages" in out
    assert "Nothing was fetched." in out
    assert stored() == set()
    out, _ = command(ADDRESS)  # nobody is there to ask
    assert "Nothing was fetched." in out


@pytest.mark.both
def test_the_command_fetches_and_pins(tool, upstream, tmp_path):
    block = tmp_path / "versions.tf"
    block.write_text(f"terraform {{\n required_providers {{\n{entry('tool', ADDRESS, '~> 1.0')}\n}}\n}}\n")
    words = [f"--platform={platform}" for platform in PLATFORMS]
    out, _ = command(f"--required-providers={block}", *words, "--pin", "--yes")
    assert "2 of 2 packages" in out
    assert stored() == {f"tool 1.1.0 {platform}" for platform in PLATFORMS}
    assert UpstreamPackage.objects.filter(is_pinned=True).count() == 2
    out, _ = command(f"--required-providers={block}", *words, "--yes")
    assert "To fetch: 0 packages, 0 bytes. Stored already: 2." in out


def test_the_command_ends_with_an_error_if_something_is_missing(tool, registry, upstream, tmp_path):
    registry.misbehave(tool.zip_path("2.0.0"), faults.wrong_bytes())
    with pytest.raises(CommandError, match="with problems"):
        command(ADDRESS, "--yes")
    with pytest.raises(CommandError, match="cannot be read"):
        command(f"--lock={tmp_path / 'none'}")
    with pytest.raises(CommandError, match="Nothing is named"):
        command()
    with pytest.raises(CommandError, match="expected"):
        command("nonsense")


def test_the_command_leaves_a_schedule_to_workers(tool, upstream):
    out, _ = command(ADDRESS, "--every=24")
    assert "every 24 h" in out
    assert Schedule.objects.get().every_hours == 24
    assert SyncRun.objects.get().state == RunState.PLANNING
