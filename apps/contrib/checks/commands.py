"""The command that sends a report, to copy."""

from shlex import quote

from django.conf import settings

from apps.releases.models import Release


def command_of(release: Release) -> str:
    path = f"/api/v1/{release.kind}s/{release.address}/{release.version}/checks/checkov"
    lines = [
        "curl --fail-with-body --request PUT",
        '--header "Authorization: Bearer $LARDER_TOKEN"',
        "--upload-file results_sarif.sarif",
        quote(f"{settings.PUBLIC_URL}{path}"),
    ]
    return " \\\n  ".join(lines)
