"""Mirrored versions with docs in their packages, read as a worker reads them."""

from collections.abc import Mapping

from apps.contrib.mirror.models import UpstreamPackage
from apps.contrib.mirror.serving import docs
from apps.contrib.mirror.tasks import read_docs
from apps.contrib.mirror.tests.shelf import add_package, add_upstream, add_version
from apps.jobs.models import Job
from tests.builders import docs as builder
from tests.builders import providers

ABOUT = {
    "README.md": "# DNS\n\nRead [how records work](docs/resources/record.md) and the [changes](CHANGELOG.md).\n",
    "CHANGELOG.md": "## 1.2.0\n\n- Faster.\n",
    "LICENSE": "Mozilla Public License\n    1. Definitions <b>\n",
}


def zipped(files: Mapping[str, str | bytes], arch: str = "amd64") -> bytes:
    texts = {name: text if isinstance(text, bytes) else text.encode() for name, text in files.items()}
    return providers.package("dns", "1.2.0", "linux", arch, extra=texts)


def package(files: Mapping[str, str | bytes] = {**builder.TODAY, **ABOUT}, upstream=None, **more) -> UpstreamPackage:
    """A stored package of acme/dns 1.2.0 with these files beside the program. Nothing has read it."""
    return add_package(add_version(upstream or add_upstream(), "acme/dns", "1.2.0"), zipped(files), **more)


def work() -> int:
    """Do what a worker would with each such job; return how many."""
    jobs = list(Job.objects.filter(kind=docs.JOB, state="queued").order_by("pk").values_list("pk", flat=True))
    for pk in jobs:
        read_docs(job_id=pk)
    return len(jobs)


def read(*given, **more) -> UpstreamPackage:
    """Return a package like `package`, with its docs."""
    made = package(*given, **more)
    docs.request(made.version)
    work()
    return made
