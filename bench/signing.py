"""Signing 64 times at once with RSA-4096, against gpg alone that signs as often in one home that is ready.

The registry's way costs more on purpose: each signature has its own home and is verified by a second program.
"""

import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.larder import Bench
from bench.report import Figure
from tests.builders.keys import gpg, gpg_home, signing_key

COUNT = 64
SIGN = """
import json, os, sys, time
from concurrent.futures import ThreadPoolExecutor
from django.db import connection, transaction
from apps.accounts.access.gate import NOBODY
from apps.accounts.models import Namespace
from apps.signing import key_generation, signer, vault
vault.unlock()
namespace = Namespace.objects.create(name="bench-signing", canonical="bench-signing", visibility="public")
with open(KEY, "rb") as file:
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
"""


def measure(bench: Bench) -> Iterator[Figure]:
    count = 2 if bench.is_tiny else COUNT
    live = bench.larder(is_seeded=False, tls=True)
    (bench.folder / "key").write_text(signing_key("rsa4096").secret_armor)
    script = SIGN.replace("COUNT", str(count)).replace("KEY", repr(str(bench.folder / "key")))
    process, ends = json.loads(live.manage("shell", "--no-imports", "-c", script).splitlines()[-1])
    failed = [end for end in ends if isinstance(end, str)]
    taken = sorted(end for end in ends if isinstance(end, float))
    alone = reference(count)
    time.sleep(0 if bench.is_tiny else 5)
    note = {"failed": failed, "homes left": len(homes_of(process)), "agents left": agents_of(process)}
    yield Figure(f"{count} signatures at once, the last", taken[-1:], "s", [alone], "gpg one by one", "< 6", note=note)
    yield Figure(f"{count} signatures at once, not made (see the JSON)", [len(failed)], "", wanted="0")


def reference(count: int) -> float:
    with gpg_home() as home:
        gpg(home, "--import", data=signing_key("rsa4096").secret_armor.encode())
        begun = time.monotonic()
        for number in range(count):
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
