"""Repositories with tags for the benchmark of lists (`bench/seeding.py`), and the pages that show them."""

from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.accounts.models import Namespace, User
from apps.contrib.git.models import GitRepository, Rule, Tag, Verdict
from apps.lib.versions import parse

NAMESPACES = 50
TAGS = 50
PATHS: dict[str, tuple[str, ...]] = {
    "admin": ("/namespaces/team{n}/git", "/namespaces/team{n}/git/{id}"),
    "api": ("/api/v1/namespaces/team{n}/repositories", "/api/v1/namespaces/team{n}/repositories/{id}/tags"),
}


@transaction.atomic
def fill(size: Any) -> None:
    now = timezone.now()
    spaces = [Namespace.objects.get(name=f"team{n}") for n in range(min(size.repositories, NAMESPACES))]
    users = User.objects.bulk_create(
        User(username=f"repository-{n}[bot]", is_service=True) for n in range(size.repositories)
    )
    repositories = GitRepository.objects.bulk_create(
        GitRepository(
            namespace=spaces[n % len(spaces)],
            user=user,
            url=f"https://git.example.com/team/repository-{n}",
            hook_id=f"hook-{n}",
            sealed_hook_secret="-",
            started_at=now,
            fetched_at=now,
            next_at=now + timedelta(days=1),  # not while it is measured
        )
        for n, user in enumerate(users)
    )
    Rule.objects.bulk_create(
        Rule(repository=one, position=0, tag="v{version}", module="repository/aws") for one in repositories
    )
    versions = [parse(f"1.{n}.0") for n in range(TAGS)]
    Tag.objects.bulk_create(
        (
            Tag(
                repository=one,
                name=f"v{version.text}",
                module="repository/aws",
                version=version.text,
                sort_key=version.sort_key,
                commit="0" * 40,
                verdict=Verdict.PUBLISHED,
                seen_at=now,
                changed_at=now,
            )
            for one in repositories
            for version in versions
        ),
        batch_size=5_000,
    )
