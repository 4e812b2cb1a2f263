"""A provider with 12 packages of 50 MB, sent with curl and signed by the registry: memory of the whole tree, and the
time until it is uploaded and until it is published, against `unzip -t` and `sha256sum` over the same files.
"""

import random
import struct
import subprocess
import time
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench import trees
from bench.larder import Bench
from bench.report import Figure
from tests.builders.providers import program
from tests.live import Live

PLATFORMS = (
    "darwin_amd64",
    "darwin_arm64",
    "freebsd_386",
    "freebsd_amd64",
    "freebsd_arm",
    "freebsd_arm64",
    "linux_386",
    "linux_amd64",
    "linux_arm",
    "linux_arm64",
    "windows_386",
    "windows_amd64",
)
PACKED = 50 * 1024 * 1024
PIECE = 1024 * 1024
# What a Go program shrinks to, roughly; most of it is code that repeats.
NOISE, REPEATS = 5, 11
END_WITHOUT_COMMENT = 22


def make(folder: Path, platforms: Sequence[str], size: int) -> list[Path]:
    """One zip for each platform, compressed as GoReleaser does."""
    noise, made = random.Random(0), []
    for platform in platforms:
        os, _, arch = platform.partition("_")
        suffix = ".exe" if os == "windows" else ""
        path = folder / f"{platform}.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            entry = zipfile.ZipInfo(f"terraform-provider-bench_v1.0.0{suffix}")
            entry.external_attr, entry.compress_type = 0o100755 << 16, zipfile.ZIP_DEFLATED
            with archive.open(entry, "w", force_zip64=True) as member:
                member.write(program(os, arch))
                while path.stat().st_size < size:
                    block = noise.randbytes(PIECE // (NOISE + REPEATS))
                    member.write(b"".join([noise.randbytes(len(block)) for _ in range(NOISE)] + [block] * REPEATS))
        made.append(path)
    return made


@contextmanager
def named(packages: Sequence[Path], folder: Path, version: str) -> Iterator[list[Path]]:
    """The same packages under that version; a comment makes each of them other bytes, which storage does not know."""
    made = []
    for package in packages:
        path = folder / f"terraform-provider-bench_{version}_{package.name}"
        data = package.read_bytes()
        assert data[-END_WITHOUT_COMMENT:].startswith(b"PK\5\6")
        path.write_bytes(data[:-2] + struct.pack("<H", len(version)) + version.encode())
        made.append(path)
    yield made
    for path in made:
        path.unlink()


def reference(files: Sequence[Path]) -> float:
    started = time.perf_counter()
    for file in files:
        subprocess.run(["unzip", "-tqq", file], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["sha256sum", *files], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def publish(
    larder: Live, token: str, version: str, files: Sequence[Path], http: str = "--http2"
) -> tuple[float, float]:
    """Seconds from the first byte until all files are acknowledged, and until the version is published."""
    url = f"/api/v1/providers/bench-packages/bench/{version}"
    curl = ["curl", "-sS", "--fail", http, "--cacert", str(larder.ca_bundle), "-H", f"Authorization: Bearer {token}"]
    with larder.client(token) as client:
        client.post(url, json={"protocols": ["5.0"]}).raise_for_status()
        started = time.perf_counter()
        # One curl for all files, which keeps its connection, as a browser does.
        each: list[str] = []
        for file in files:
            each += ["-o", "/dev/null", "-T", str(file), f"{larder.url}{url}/files/{file.name}"]
        subprocess.run([*curl, *each], check=True)
        uploaded = time.perf_counter() - started
        client.post(f"{url}/publish").raise_for_status()
        document = larder.wait_for(client, url, seconds=600)
        assert document["state"] == "published", document["reasons"]
        return uploaded, time.perf_counter() - started


def measure(bench: Bench) -> Iterator[Figure]:
    if bench.lacks("providers", "unzip"):
        return
    live = bench.larder(is_seeded=False, tls=True)
    folder, token = bench.folder / "packages", bench.token(live)
    folder.mkdir()
    with live.client(token) as client:
        client.put("/api/v1/namespaces/bench-packages", json={"visibility": "private"}).raise_for_status()
        client.post("/api/v1/namespaces/bench-packages/keys", json={"generate": "ed25519"}).raise_for_status()
    packages = make(folder, PLATFORMS[:2] if bench.is_tiny else PLATFORMS, PIECE if bench.is_tiny else PACKED)
    alone: list[float] = []
    whole: list[float] = []
    uploads: dict[str, list[float]] = {"--http2": [], "--http1.1": []}
    for number in range(bench.rounds):
        for minor, option in enumerate(uploads):
            with named(packages, folder, f"1.{minor}.{number}") as files:
                alone += [reference(files)] if minor == 0 else []
                uploaded, published = publish(live, token, f"1.{minor}.{number}", files, option)
            uploads[option].append(uploaded)
            whole += [published] if minor == 0 else []
    # In a separate round: sampling the memory of a tree takes processor time from everybody.
    before = trees.pss(live.process.pid)
    with named(packages, folder, "2.0.0") as files, trees.Peak(live.process.pid) as peak:
        publish(live, token, "2.0.0", files)
    work, against = f"{len(packages)} packages of {PACKED // PIECE} MiB", "unzip -t, sha256sum"
    for option, seconds in uploads.items():
        yield Figure(f"{work}, uploaded ({option[2:]})", seconds, "s", alone, against, "< 1.5")
    yield Figure(f"{work}, to published", whole, "s", alone, against, "< 3")
    yield Figure(f"{work}, growth of all processes", [peak.peak - before], "MB", wanted="< 64")
