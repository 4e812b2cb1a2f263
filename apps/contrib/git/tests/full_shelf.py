"""Git repositories of the shelf: one with tags of each verdict, drafts with small and large previews, hostile names."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Namespace, User
from apps.contrib.git import connecting
from apps.contrib.git.models import CredentialKind, GitRepository, Tag, Verdict
from apps.lib.versions import sort_key
from apps.releases.models import Release

RULES = [{"tag": "{name}/v{version}", "folder": "modules/{name}", "module": "{name}/aws"}]


def fill(namespace: Namespace, admin: User, hostile: str) -> dict[str, list[int]]:
    """Return the numbers of one with a tag of each verdict, and of three drafts: with tags, failed, with many tags."""
    published = _connect(namespace, admin, "published")
    now = timezone.now()
    for number, verdict in enumerate(Verdict.values):
        release = Release.objects.get(namespace=namespace, name="network/aws", version="2.0.0") if not number else None
        _tag(published, f"network/v1.{number}.0", verdict, f"{hostile} {'long-word' * 20}", release)
    _tag(published, f"{hostile}{'n' * 200}"[:300], Verdict.IGNORED, hostile, None)
    failed = {"failed_at": now, "failure_code": "unauthorized", "failure": hostile, "log": f"{hostile}\n{'x' * 300}"}
    key = {"credential": CredentialKind.DEPLOY_KEY, "credential_facts": {"public_key": f"ssh-ed25519 {'A' * 68}"}}
    GitRepository.objects.filter(pk=published.pk).update(
        started_at=now, fetched_at=now - timedelta(hours=2), next_at=now + timedelta(minutes=4), **failed, **key
    )
    names = [*(f"module-{number}" for number in range(6)), "n" * 60]
    refs = [f"{name}/v1.{minor}.0" for name in names for minor in range(20)] + [hostile]
    planned = _connect(namespace, admin, "planned")
    looks = [("held", f"{names[0]}/v1.19.0", names[0]), ("refused", f"{names[-1]}/v1.19.0", names[-1])]
    _look(planned, state="done", refs=refs, names=names, looks=looks, more=140, reason=f"{hostile} {'long-word' * 20}")
    refused = _connect(namespace, admin, "refused")
    _look(refused, state="failed", failure={"code": "unauthorized", "text": hostile, "hint": hostile})
    large = _connect(namespace, admin, "large")
    _look(large, state="done", refs=[f"{name}/v1.{minor}.0" for name in names for minor in range(100)], names=names)
    return {"git": [published.pk, planned.pk, refused.pk, large.pk]}


def _connect(namespace: Namespace, admin: User, name: str) -> GitRepository:
    url = f"https://git.example.com/{'a-very-long-group-of-projects-' * 3}/{name}"
    made = connecting.connect(namespace=namespace, actor=Viewer(admin), url=url, rules=RULES)
    return made.repository


def _tag(row: GitRepository, name: str, verdict: str, reason: str, release: Release | None) -> None:
    now, version = timezone.now(), name.rpartition("/v")[2]
    is_version = verdict != Verdict.IGNORED
    Tag.objects.create(
        repository=row,
        name=name,
        module="network/aws" if is_version else "",
        version=version if is_version else "",
        sort_key=sort_key(version) if is_version else b"",
        commit="c" * 40,
        verdict=verdict,
        reason=reason,
        release=release,
        published_commit="c" * 40 if release else "",
        seen_at=now,
        changed_at=now,
    )


def _look(row: GitRepository, *, state: str, **found: Any) -> None:
    names = found.get("names", [])
    preview = {
        "state": state,
        "folders": [{"folder": f"modules/{name}", "files": 3} for name in names],
        "suggested": RULES,
        "refs": [{"tag": tag, "commit": "c" * 40} for tag in found.get("refs", [])],
        "failure": found.get("failure"),
        "looks": [
            {
                "verdict": verdict,
                "tag": tag,
                "module": f"{name}/aws",
                "folder": f"modules/{name}",
                "commit": "c" * 40,
                "code": "code",
                "reason": found.get("reason", ""),
            }
            for verdict, tag, name in found.get("looks", [])
        ],
        "more_folders": found.get("more", 0),
        "left_off": found.get("more", 0),
        "unchecked": found.get("more", 0),
        "rules": RULES if "looks" in found else None,
        "submodules": "refuse",
    }
    GitRepository.objects.filter(pk=row.pk).update(preview=preview, previewed_at=timezone.now())
