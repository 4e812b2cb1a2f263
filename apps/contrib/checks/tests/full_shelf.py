"""Reports on the shelf: findings in files and elsewhere, failed tests, a plain one with a hostile summary."""

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Namespace, User
from apps.contrib.checks import policy, sending
from apps.contrib.checks.policy import Requirement
from apps.contrib.checks.reading import child
from apps.contrib.checks.tests import samples
from apps.contrib.checks.tests.samples import plain
from apps.releases.models import Release


def fill(namespace: Namespace, admin: User, hostile: str) -> dict[str, list[int]]:
    release = Release.objects.get(namespace=namespace, name="network/aws", version="2.0.0")
    findings = [samples.result(line=3), samples.result("CKV_2", f"{hostile} {'long-word' * 20}", file=hostile, line=7)]
    many = [samples.result(f"CKV_{number}", level="note", file="variables.tf", line=number) for number in range(1, 60)]
    for name, content in (
        ("checkov", samples.sarif(*findings, *many)),
        ("tofu-test", samples.run_lines(fails=True)),
        ("plain", plain("warning", summary=f"{hostile} {'long-word' * 40}")),
    ):
        read = child.read(content), name.ljust(64, "0")
        sending.send(viewer=Viewer(admin), release=release, name=name, read=read, digest="")
    policy.change(
        namespace=namespace,
        actor=Viewer(admin),
        mode="warn",
        requirements=[Requirement("checkov", passed=False, no_finding_at="high")],
        mail_at="high",
    )
    return {}
