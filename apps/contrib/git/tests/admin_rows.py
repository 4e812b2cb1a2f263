"""Many Git repositories with their tags, made in bulk."""

from django.utils import timezone

from apps.accounts.models import Namespace, User
from apps.contrib.git.models import GitRepository, Rule, Tag
from apps.lib.versions import parse

LISTED = (GitRepository, Tag)


def make(start, stop):
    now, numbers = timezone.now(), range(start, stop)
    namespaces = Namespace.objects.bulk_create(Namespace(name=f"git{n}", canonical=f"git{n}") for n in numbers)
    users = User.objects.bulk_create(User(username=f"git{n}:git-{n}[bot]", is_service=True) for n in numbers)
    repositories = GitRepository.objects.bulk_create(
        GitRepository(
            namespace=namespace,
            user=user,
            url=f"https://git.example.com/team/vpc{n}",
            hook_id=f"hook{n}",
            started_at=now,
            fetched_at=now,
        )
        for n, namespace, user in zip(numbers, namespaces, users, strict=True)
    )
    Rule.objects.bulk_create(
        Rule(repository=repository, position=0, tag="v{version}", module="vpc/aws") for repository in repositories
    )
    Tag.objects.bulk_create(
        Tag(
            repository=repository,
            name="v1.0.0",
            module="vpc/aws",
            version="1.0.0",
            sort_key=parse("1.0.0").sort_key,
            commit="1" * 40,
            verdict="refused",
            code="no_module",
            reason="Found no .tf file.",
            seen_at=now,
            changed_at=now,
        )
        for repository in repositories
    )
