"""Restore the demonstration: states, dates and figures as the seed has them, and nothing that visitors left behind.

All in one transaction: who reads meanwhile sees all of it as it was, or as it is afterwards. Stored bytes stay, so that
a download under way ends as it began.
"""

import random
from collections import defaultdict
from datetime import date, datetime, timedelta

from django.contrib.sessions.models import Session
from django.db import transaction

from apps.accounts.models import Team, User
from apps.audit import generation
from apps.contrib.demo import filling
from apps.contrib.demo.seed import Planned, seed
from apps.modules.models import Configuration, ConfigurationUse
from apps.releases.lifecycle import verbs
from apps.releases.models import DownloadCount, Fetch, Lifecycle, Release, SearchDoc, TeamDownload

DAYS = 70
CLIENTS = (("OpenTofu 1.12.1", 5), ("OpenTofu 1.11.4", 2), ("Terraform 1.14.0", 3))
# Of the downloads of a version, how many are there a while after the next one.
FADES_DAYS = 45
VERBS = {"deprecate": (verbs.deprecate, Lifecycle.DEPRECATED), "yank": (verbs.yank, Lifecycle.YANKED)}


def is_restored() -> bool:
    """Return whether the figures are there, which come last."""
    return Configuration.objects.exists()


@transaction.atomic
def restore(*, now: datetime) -> None:
    """Needs all versions of the seed."""
    rows = _published()
    Session.objects.all().delete()
    _restore_lifecycles(rows)
    _restore_dates(rows, now)
    _restore_downloads(rows, now.date())
    _restore_reports(rows, now)
    generation.touch([generation.EVERYTHING])


def _published() -> dict[Planned, Release]:
    found = {
        (release.namespace.name, release.name, release.version): release
        for release in Release.objects.published()
        .filter(namespace__name__in=seed().facts["namespaces"])
        .select_related("namespace")
    }
    return {planned: found[planned.key] for planned in seed().versions}


def _restore_lifecycles(rows: dict[Planned, Release]) -> None:
    wanted = {entry["release"]: entry for entry in seed().facts["lifecycle"]}
    for planned, release in rows.items():
        entry = wanted.get(str(planned))
        owner = filling.viewer(seed().facts["namespaces"][planned.namespace]["owner"])
        act, state = VERBS[entry["verb"]] if entry else (None, Lifecycle.MAINTAINED)
        if release.quarantined_at is not None:
            verbs.restore(release=release, actor=owner, reason="The demonstration was reset.")
        if release.lifecycle == state:
            continue
        if release.lifecycle != Lifecycle.MAINTAINED:
            verbs.restore(release=release, actor=owner, reason="The demonstration was reset.")
        if entry and act:
            act(release=release, actor=owner, reason=entry["reason"], replacement=entry["replacement"])


def _restore_dates(rows: dict[Planned, Release], now: datetime) -> None:
    for planned, release in rows.items():
        at = now - timedelta(days=planned.age, hours=_dice(planned).randrange(1, 9))
        release.published_at = release.finished_at = at
        if release.lifecycle_at is not None:
            release.lifecycle_at = now - timedelta(days=max(1, planned.age - 2))
        SearchDoc.objects.filter(release=release).update(published_at=at)
    Release.objects.bulk_update(rows.values(), ["published_at", "finished_at", "lifecycle_at"])


def _restore_downloads(rows: dict[Planned, Release], today: date) -> None:
    """Each day a few less of old versions, and more of new ones; half as many at weekends, and none before its day."""
    DownloadCount.objects.all().delete()
    TeamDownload.objects.all().delete()
    Fetch.objects.all().delete()
    teams = {team.name: team for team in Team.objects.filter(name__in=seed().facts["teams"])}
    machines = {team: User.objects.get(username=name) for name, team in seed().machines.items()}
    counts, of_teams, totals = [], [], defaultdict[tuple[int, str, str], int](int)
    for planned, release in rows.items():
        dice, followed = _dice(planned), _followed(planned)
        for ago in range(min(DAYS, planned.age), -1, -1):
            day = today - timedelta(days=ago)
            share = 1.0 if followed is None or ago > followed else max(0.06, 1 - (followed - ago) / FADES_DAYS)
            count = round(seed().daily(planned) * share * dice.uniform(0.6, 1.3) * (0.4 if day.weekday() >= 5 else 1))  # noqa: PLR2004
            for client, parts in CLIENTS:
                if part := count * parts // 10:
                    counts.append(DownloadCount(release=release, day=day, client=client, count=part))
                    totals[release.namespace_id, release.kind, release.name] += part
            for name, team in teams.items():
                if ago < 30 and (part := count // (3 + len(name))):  # noqa: PLR2004
                    account = machines.get(name)
                    of_teams.append(TeamDownload(release=release, day=day, team=team, account=account, count=part))
    DownloadCount.objects.bulk_create(counts, batch_size=500)
    TeamDownload.objects.bulk_create(of_teams, batch_size=500)
    for (namespace, kind, name), total in totals.items():
        SearchDoc.objects.filter(namespace=namespace, kind=kind, name=name).update(downloads=total)


def _restore_reports(rows: dict[Planned, Release], now: datetime) -> None:
    Configuration.objects.all().delete()
    by_text = {str(planned): release for planned, release in rows.items()}
    for hours, entry in enumerate(seed().facts["configurations"], start=1):
        configuration = Configuration.objects.create(
            reporter=User.objects.get(username=entry["reporter"]),
            repository=entry["repository"],
            folder=entry["folder"],
            reported_at=now - timedelta(hours=hours),
        )
        uses = [by_text[use] for use in entry["uses"]]
        ConfigurationUse.objects.bulk_create(ConfigurationUse(configuration=configuration, release=use) for use in uses)


def _followed(planned: Planned) -> int | None:
    """Return how many days ago the next version appeared; None for the newest one."""
    later = [one.age for one in seed().versions if one.address == planned.address and one.age < planned.age]
    return max(later) if later else None


def _dice(planned: Planned) -> random.Random:
    """The same numbers for the same version, always."""
    return random.Random(str(planned))  # noqa: S311  # figures, and no secret
