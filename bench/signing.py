"""Signing 64 times at once with RSA-4096, against gpg alone that signs as often in one home that is ready.

The registry's way costs more on purpose: each signature has its own home and is verified by a second program.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench import figures
from tests.builders.keys import gpg, gpg_home, signing_key
from tests.live import CHECKOUT

COUNT = 64
SIGN = """
import json, os, sys, time
from concurrent.futures import ThreadPoolExecutor
from django.db import connection, transaction
from apps.accounts.access.gate import NOBODY
from apps.accounts.models import Namespace
from apps.signing import key_generation, signer, vault
vault.unlock()
namespace = Namespace.objects.create(name="bench", canonical="bench", visibility="public")
with open(os.environ["BENCH_KEY"], "rb") as file:
    key = key_generation.import_key(namespace=namespace, material=file.read(), passphrase="", actor=NOBODY)
begun = time.monotonic()
def one(number):
    try:
        return len(signer.sign(key=key, data=b"data %d" % number)) and time.monotonic() - begun
    except Exception as error:
        return repr(error)
    finally:
        connection.close()
with ThreadPoolExecutor(COUNT) as pool:
    ends = list(pool.map(one, range(COUNT)))
print(json.dumps([os.getpid(), ends]))
""".replace("COUNT", str(COUNT))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        process, ends = signings(Path(folder))
        failed = [end for end in ends if isinstance(end, str)]
        taken = sorted(end for end in ends if isinstance(end, float))
        print(f"{len(taken)} of {COUNT} succeeded; {sum('memory' in end for end in failed)} failed for memory")
        print(*failed, sep="\n", end="\n" if failed else "")
        print(figures.line("end of a signing, all begun at once", taken, "s"))
        alone = reference()
        print(figures.line("gpg alone, one after the other, all", [alone], "s"))
        print(figures.ratio("all signings, against gpg alone", taken[-1], alone, "< 6"))
        time.sleep(5)
        print(f"left after 5 s: {len(homes_of(process))} homes, {agents_of(process)} agents (wanted: none)")


def signings(folder: Path) -> tuple[int, list[float | str]]:
    """The number of the process that signed, and when each signature ended (or how it failed)."""
    secret = folder / "key"
    secret.write_text(signing_key("rsa4096").secret_armor)
    environment = {**os.environ, "LARDER_DATA_DIR": str(folder), "BENCH_KEY": str(secret)}  # noqa: TID251  # for children

    def manage(*arguments: str) -> str:
        command = [sys.executable, "manage.py", *arguments]
        return subprocess.run(
            command, cwd=CHECKOUT, env=environment, stdout=subprocess.PIPE, text=True, check=True
        ).stdout

    (folder / "secret_key").write_text("x" * 50)
    manage("migrate", "--verbosity", "0")
    process, ends = json.loads(manage("shell", "--no-imports", "-c", SIGN).splitlines()[-1])
    return process, ends


def reference() -> float:
    with gpg_home() as home:
        gpg(home, "--import", data=signing_key("rsa4096").secret_armor.encode())
        begun = time.monotonic()
        for number in range(COUNT):
            gpg(home, "--digest-algo", "SHA512", "--detach-sign", data=f"data {number}".encode())
        return time.monotonic() - begun


def homes_of(process: int) -> list[Path]:
    places = {Path("/dev/shm"), Path(tempfile.gettempdir())}
    return [home for place in places if place.is_dir() for home in place.glob(f"larder-gpg-{process}-*")]


def agents_of(process: int) -> int:
    lines = (read(path) for path in Path("/proc").glob("[0-9]*/cmdline"))
    return sum("gpg-agent" in line and f"larder-gpg-{process}-" in line for line in lines)


def read(path: Path) -> str:
    try:
        return path.read_bytes().decode(errors="replace")
    except OSError:
        return ""  # it has ended meanwhile


if __name__ == "__main__":
    os.umask(0o077)
    main()
