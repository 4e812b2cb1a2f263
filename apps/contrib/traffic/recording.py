"""Writes the downloads of a batch by account, token and team, in the transaction that counts them."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from datetime import date, timedelta
from typing import Any

from django.db.models import Avg, F, Model, Q
from django.utils import timezone

from apps.accounts.models import Membership, User
from apps.contrib.traffic.models import AccountTraffic, TeamTraffic
from apps.providers.models import Package
from apps.releases.catalogue.downloads import Batch
from apps.releases.models import Kind, Release

# More than a year, so that a month can be compared with the same one of the year before.
KEPT = timedelta(days=400)
# Runs of a pipeline may have a token each: after these, the rest of an account's day has the number 0.
MAX_TOKENS = 20
NO_TOKEN = 0
BATCH_SIZE = 500  # rows in one statement

# Downloads and bytes; and the day, account and token that they count for.
Sum = tuple[int, int]
Key = tuple[date, int | None, int]


def write(batch: Batch, releases: Mapping[int, Release]) -> None:
    sizes = _sizes(releases)
    readers: defaultdict[Key, Sum] = defaultdict(lambda: (0, 0))
    for (release_id, day), tally in batch.items():
        for (user_id, token_id), count in tally.readers.items():
            key = (day, user_id, NO_TOKEN if user_id is None else token_id or NO_TOKEN)
            readers[key] = _plus(readers[key], (count, count * sizes[release_id]))
    days = {day for _, day in batch}
    people = {user_id for _, user_id, _ in readers if user_id is not None}
    there = set(User.objects.filter(pk__in=people).values_list("pk", flat=True))
    _write_accounts({key: value for key, value in readers.items() if key[1] is None or key[1] in there}, days)
    _write_teams(readers, days, people)


def _sizes(releases: Mapping[int, Release]) -> dict[int, int]:
    """Return what one download of each is: the archive of a module, the mean package of a provider.

    Which platform a client fetches is not known where the document that it read names all.
    """
    providers = [pk for pk, release in releases.items() if release.kind == Kind.PROVIDER]
    means = dict(
        Package.objects.filter(version__release__in=providers).values_list("version__release").annotate(Avg("size"))
    )
    return {pk: round(means[pk]) if pk in means else release.size or 0 for pk, release in releases.items()}


def _write_accounts(added: Mapping[Key, Sum], days: Collection[date]) -> None:
    accounts = {account for _, account, _ in added}
    of_readers = Q(account__in=accounts - {None}) | (Q(account=None) if None in accounts else Q(pk__in=[]))
    # In one order: processes that write at the same time take turns.
    rows = AccountTraffic.objects.select_for_update(no_key=True).filter(of_readers, day__in=days).order_by("pk")
    found = {(row.day, row.account_id, row.token): row for row in rows}
    tokens: defaultdict[tuple[date, int | None], set[int]] = defaultdict(set)
    for day, account, token in found:
        tokens[day, account].add(token)
    sums: defaultdict[Key, Sum] = defaultdict(lambda: (0, 0))
    for (day, account, token), value in sorted(added.items(), key=lambda item: _in_order(item[0])):
        known = tokens[day, account]
        own = token if token in known or len(known - {NO_TOKEN}) < MAX_TOKENS else NO_TOKEN
        known.add(own)
        sums[day, account, own] = _plus(sums[day, account, own], value)
    new = {key: AccountTraffic(day=key[0], account_id=key[1], token=key[2]) for key in sums if key not in found}
    _add(AccountTraffic, found, new, sums)


def _write_teams(readers: Mapping[Key, Sum], days: Collection[date], people: set[int]) -> None:
    teams: defaultdict[int | None, list[int]] = defaultdict(list)
    for user_id, team_id in Membership.objects.filter(user__in=people).values_list("user", "team"):
        teams[user_id].append(team_id)
    sums: defaultdict[tuple[date, int], Sum] = defaultdict(lambda: (0, 0))
    for (day, reader, _), value in readers.items():
        for team_id in teams[reader]:
            sums[day, team_id] = _plus(sums[day, team_id], value)
    rows = TeamTraffic.objects.select_for_update(no_key=True).filter(team__in={team for _, team in sums}, day__in=days)
    found = {(row.day, row.team_id): row for row in rows.order_by("pk")}
    new = {(day, team): TeamTraffic(day=day, team_id=team) for day, team in sorted(sums) if (day, team) not in found}
    _add(TeamTraffic, found, new, sums)


def _add(model: type[Model], found: Mapping[Any, Any], new: Mapping[Any, Any], sums: Mapping[Any, Sum]) -> None:
    changed = [found[key] for key in sums if key in found]
    for key, (downloads, size) in sums.items():
        if key in found:
            found[key].downloads, found[key].bytes = F("downloads") + downloads, F("bytes") + size
        else:
            new[key].downloads, new[key].bytes = downloads, size
    rows: Any = model._default_manager  # noqa: SLF001  # Django's public name for it
    rows.bulk_update(changed, ["downloads", "bytes"], batch_size=BATCH_SIZE)
    rows.bulk_create(new.values(), batch_size=BATCH_SIZE)


def _in_order(key: Key) -> tuple[date, int, int]:
    day, account, token = key
    return day, account or 0, token


def _plus(one: Sum, other: Sum) -> Sum:
    return one[0] + other[0], one[1] + other[1]


def prune() -> int:
    """Delete what is too old; return how many rows."""
    before = timezone.now().date() - KEPT
    accounts, _ = AccountTraffic.objects.filter(day__lt=before).delete()
    teams, _ = TeamTraffic.objects.filter(day__lt=before).delete()
    return accounts + teams
