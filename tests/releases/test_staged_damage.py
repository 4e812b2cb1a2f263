"""Storage that returns other bytes than it received ends no upload: the job tries again, and the release waits."""

from apps.blobs import backends
from apps.jobs.models import Job
from apps.releases.models import Release
from tests.builders.archives import module_zip
from tests.rows import for_each_row
from tests.shelves import run_jobs

URL = "/api/v1/modules/acme/vpc/aws/1.2.0"


@for_each_row("other", [b"<Error>SlowDown</Error>", b"", module_zip(comment=b"another")])
def test_other_bytes_are_no_refusal(client, alice, bearer, other):
    sent = module_zip()
    client.put(URL, sent, content_type="application/octet-stream", headers=bearer(alice))
    release = Release.objects.get()
    staged, key = backends.current(), f"staging/{release.staging_key}"
    staged.write(key, [other])
    run_jobs()

    release.refresh_from_db()
    assert release.state in ("received", "checking")
    assert "differ from those received" in Job.objects.get(target=release.pk).error
    staged.write(key, [sent])
    run_jobs()
    release.refresh_from_db()
    assert release.state == "published"
