"""A provider with 12 packages of 50 MB, sent with curl and signed by the registry: memory of the whole tree, and the
time until it is uploaded and until it is published, against `unzip -t` and `sha256sum` over the same files.
"""

import random
import struct
import subprocess
import tempfile
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path

from bench import figures, trees
from tests.builders.providers import program
from tests.live import Live, start_live

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
ROUNDS = 3
# What a Go program shrinks to, roughly; most of it is code that repeats.
NOISE, REPEATS = 5, 11
END_WITHOUT_COMMENT = 22


def make(folder: Path) -> list[Path]:
    """One zip for each platform, compressed as GoReleaser does."""
    noise = random.Random(0)
    return [_package(folder / f"{platform}.zip", platform, noise) for platform in PLATFORMS]


def _package(path: Path, platform: str, noise: random.Random) -> Path:
    os, _, arch = platform.partition("_")
    suffix = ".exe" if os == "windows" else ""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        entry = zipfile.ZipInfo(f"terraform-provider-bench_v1.0.0{suffix}")
        entry.external_attr, entry.compress_type = 0o100755 << 16, zipfile.ZIP_DEFLATED
        with archive.open(entry, "w", force_zip64=True) as member:
            member.write(program(os, arch))
            while path.stat().st_size < PACKED:
                block = noise.randbytes(PIECE // (NOISE + REPEATS))
                member.write(b"".join([noise.randbytes(len(block)) for _ in range(NOISE)] + [block] * REPEATS))
    return path


def named(packages: Sequence[Path], folder: Path, version: str) -> list[Path]:
    """The same packages under that version; a comment makes each of them other bytes, which storage does not know."""
    made = []
    for package in packages:
        path = folder / f"terraform-provider-bench_{version}_{package.name}"
        data = package.read_bytes()
        assert data[-END_WITHOUT_COMMENT:].startswith(b"PK\5\6")
        path.write_bytes(data[:-2] + struct.pack("<H", len(version)) + version.encode())
        made.append(path)
    return made


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
    url = f"/api/v1/providers/bench/bench/{version}"
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


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="larder-bench-") as name, start_live(Path(name) / "larder") as larder:
        folder, token = Path(name), larder.token()
        with larder.client(token) as client:
            client.put("/api/v1/namespaces/bench", json={"visibility": "private"}).raise_for_status()
            client.post("/api/v1/namespaces/bench/keys", json={"generate": "ed25519"}).raise_for_status()
        packages = make(folder)
        uploads, whole, references, growth, over_http1 = [], [], [], [], []
        for number in range(ROUNDS):
            files = named(packages, folder, f"1.0.{number}")
            references.append(reference(files))
            uploaded, published = publish(larder, token, f"1.0.{number}", files)
            uploads.append(uploaded)
            whole.append(published)
            _forget(files)
            # HTTP/2 brings frames of 16 KiB, each of which the server hands on by itself.
            files = named(packages, folder, f"1.1.{number}")
            over_http1.append(publish(larder, token, f"1.1.{number}", files, "--http1.1")[0])
            _forget(files)
        # In a round of its own: sampling the memory of a tree takes processor time from everybody.
        files = named(packages, folder, "2.0.0")
        before = trees.pss(larder.process.pid)
        with trees.Peak(larder.process.pid) as peak:
            publish(larder, token, "2.0.0", files)
        growth.append(peak.peak - before)
    alone = figures.median(references)
    print(figures.line(f"{len(PLATFORMS)} packages of 50 MB, unzip -t and sha256sum", references, "s"))
    print(figures.line("the same, uploaded", uploads, "s"))
    print(figures.line("the same, uploaded over HTTP/1.1", over_http1, "s"))
    print(figures.line("the same, from the first byte to published", whole, "s"))
    print(figures.ratio("upload / unzip -t and sha256sum", figures.median(uploads), alone, "< 1.5"))
    print(figures.ratio("upload over HTTP/1.1 / unzip -t and sha256sum", figures.median(over_http1), alone, "< 1.5"))
    print(figures.ratio("published / unzip -t and sha256sum", figures.median(whole), alone, "< 3"))
    print(figures.line("growth of the tree's PSS (wanted: < 64)", growth, "MB"))


def _forget(files: Sequence[Path]) -> None:
    for file in files:
        file.unlink()


if __name__ == "__main__":
    main()
