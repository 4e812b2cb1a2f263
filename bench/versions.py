"""`versions` of a module with 1,000 versions against one with 10: queries, time, and time per byte.

Byte-equal work: a hundred answers with ten versions carry as many entries as one answer with a thousand.
"""

import tempfile
import time
from pathlib import Path

from bench import figures
from tests.live import Live, start_live

ROUNDS = 60
FILL = """
import secrets
from django.utils import timezone
from apps.accounts.models import Namespace
from apps.lib.versions import parse
from apps.modules.models import Module, ModuleVersion
from apps.releases.models import Release
namespace = Namespace.objects.create(name="bench", canonical="bench", visibility="public")
for count in (10, 1000):
    name = f"of-{count}"
    module = Module.objects.create(namespace=namespace, name=name, system="local", canonical=f"{name}/local")
    numbers = [parse(f"{n // 100}.{n // 10 % 10}.{n % 10}") for n in range(count)]
    releases = Release.objects.bulk_create(
        Release(kind="module", namespace=namespace, name=f"{name}/local", version=number.text, sort_key=number.sort_key,
                state="published", digest=secrets.token_hex(32), size=1, published_at=timezone.now(), staging_key="-")
        for number in numbers)
    ModuleVersion.objects.bulk_create(
        ModuleVersion(module=module, release=release, is_prerelease=False) for release in releases)
"""


def measure(larder: Live, count: int) -> tuple[list[float], int]:
    path = f"/v1/modules/bench/of-{count}/local/versions"
    seconds = []
    with larder.client() as client:
        size = len(client.get(path).content)
        for _ in range(ROUNDS):
            started = time.perf_counter()
            answer = client.get(path)
            seconds.append(time.perf_counter() - started)
            assert len(answer.json()["modules"][0]["versions"]) == count
    return seconds, size


def main() -> None:
    with (
        tempfile.TemporaryDirectory(prefix="larder-bench-") as name,
        start_live(Path(name)) as larder,
    ):
        larder.manage("shell", "-c", FILL)
        few, few_bytes = measure(larder, 10)
        many, many_bytes = measure(larder, 1000)
        print(figures.line(f"versions, 10 of them ({few_bytes} bytes)", few, "s"))
        print(figures.line(f"versions, 1,000 of them ({many_bytes} bytes)", many, "s"))
        per_byte = figures.median(many) / many_bytes, figures.median(few) / few_bytes
        print(figures.ratio("time per byte, 1,000 / 10", *per_byte, "< 1.5"))
        print(figures.ratio("time, 1,000 / 10", figures.median(many), figures.median(few), "for orientation"))


if __name__ == "__main__":
    main()
