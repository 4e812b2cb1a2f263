"""The Origin tab of a version: where it comes from, how strongly that is known, and the commands that verify it."""

from typing import Any

from django.http import HttpRequest

from apps.accounts.models import Role
from apps.portal.versions.pages import Opened
from apps.provenance import commands, differences, origin


def origin_tab(_request: HttpRequest, opened: Opened, context: dict[str, Any]) -> None:
    found, is_known = origin.of(opened.shown.release), opened.viewer.is_identified
    context |= {
        "found": found,
        "facts": found.shown_facts(with_people=is_known),
        "others": found.shown_others(with_people=is_known),
        "differences": differences.of(found, with_people=is_known),
        "commands": commands.of(found),
        "attestations": [(one, commands.of_attestation(found, one)) for one in found.attestations],
        "may_see_claims": opened.role is not None and opened.role.covers(Role.PUBLISHER),
        # Quarantined versions give out nothing.
        "is_served": found.release.quarantined_at is None,
    }
