"""Ready answers in the Redis of LARDER_CACHE_URL, in which the other hosts of this Larder find them (D16), and whether
the database answers anywhere.

All but what runs in the thread is on the event loop. One thread talks to Redis, about all that came while it was busy.
Whatever fails there is as if nothing were found.
"""

import asyncio
import base64
import hmac
import math
import struct
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import django
import structlog
from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings
from django.db import connections

from apps.http.ready import LONGEST
from registry_site import env

# A request waits so long before it goes to Django, and Redis has as long for each command.
PATIENCE = 0.05
# After a failure.
ASK_AGAIN_SECONDS = 5.0
# Of one answer, and which part of LARDER_READY_BYTES all those of a minute may take.
MOST_BYTES = 256 * 1024
PART = 8
# Of one turn of the thread: looks are many small ones, and wait for the writes of a turn.
MOST_LOOKS, MOST_WRITES = 200, 16
# For so long others believe that the database answers here.
WELL_SECONDS = 2.0
_HEAD = struct.Struct(">d32s")

_HEARD = b""
Found = tuple[bytes, float]
log = structlog.get_logger("larder.front")


class OtherHosts:
    """The cache counts rate limits too, which must not be evicted: a process writes `most_bytes` a minute at most."""

    def __init__(self, url: str, family: bytes, *, most_bytes: int) -> None:
        # Not above: the client's modules take 10 MB of each Larder that has no Redis.
        from redis import Redis, RedisError
        from redis.backoff import NoBackoff
        from redis.exceptions import ConnectionError as Lost
        from redis.retry import Retry

        self._family = family
        self._most_bytes = most_bytes
        self._errors = (RedisError, OSError)
        # One retry, for a connection that a restarted Redis has closed.
        options: dict[str, Any] = {"retry": Retry(NoBackoff(), 1, supported_errors=(Lost,))}
        self._redis = Redis.from_url(url, socket_timeout=PATIENCE, socket_connect_timeout=PATIENCE, **options)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="hosts")
        # Not accounts.identity.sealing: that opens what was written under a former secret key, which may be known.
        self._cipher = Fernet(base64.urlsafe_b64encode(hmac.digest(family, b"seal", "sha256")))
        self._wanted: dict[bytes, asyncio.Future[Found | None]] = {}
        self._unwritten: dict[bytes, Found] = {}
        self._serving: asyncio.Task[None] | None = None
        self._began = math.inf  # the turn of the thread
        self._away_until = self._window_until = -math.inf
        self._is_away = False
        self._written = 0  # bytes in this window
        self._well = f"larder:well:{hmac.digest(family, b'well', 'sha256').hex()}"

    def name(self, history: int, question: bytes) -> bytes:
        """Where the answer to the question is. `history` tells apart what numbers of changes cannot."""
        return hmac.digest(self._family, b"%d %s" % (history, question), "sha256")

    async def say_well(self) -> None:
        """Say that the database has just answered."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._ask, self._say, self._well)

    async def is_well_somewhere(self) -> bool | None:
        """Whether anybody has said so within WELL_SECONDS; None if Redis does not answer."""
        found = await asyncio.get_running_loop().run_in_executor(self._thread, self._ask, self._hear, self._well)
        return bool(found[_HEARD][1]) if found else None

    async def find(self, names: Collection[bytes]) -> dict[bytes, Found]:
        """What is there, and until when it holds by time.monotonic()."""
        now = time.monotonic()
        if not names or now < self._away_until or now > self._began + PATIENCE:
            return {}
        loop = asyncio.get_running_loop()
        futures = {name: self._wanted.setdefault(name, loop.create_future()) for name in names}
        self._serve()
        await asyncio.wait(futures.values(), timeout=PATIENCE)
        answers = {name: future.result() for name, future in futures.items() if future.done()}
        return {name: found for name, found in answers.items() if found is not None}

    def add(self, name: bytes, text: bytes, until: float) -> None:
        """Write it soon, unless it is large, or too much was written already."""
        now = time.monotonic()
        if now >= self._window_until:
            self._window_until, self._written = now + LONGEST, 0
        if now < self._away_until or len(text) > MOST_BYTES or self._written + len(text) > self._most_bytes:
            return
        self._written += len(text)
        self._unwritten[name] = (text, until)
        self._serve()

    def _serve(self) -> None:
        if self._serving is None or self._serving.done():
            self._serving = asyncio.get_running_loop().create_task(self._serve_all())

    async def _serve_all(self) -> None:
        run = asyncio.get_running_loop().run_in_executor
        while self._wanted or self._unwritten:
            looks = {name: self._wanted.pop(name) for name in list(self._wanted)[:MOST_LOOKS]}
            writes = {name: self._unwritten.pop(name) for name in list(self._unwritten)[:MOST_WRITES]}
            found: Mapping[bytes, Found] = {}
            self._began = time.monotonic()
            try:
                if looks:
                    found = await run(self._thread, self._ask, self._look, list(looks))
                for name, future in looks.items():
                    future.set_result(found.get(name))
                if writes:
                    await run(self._thread, self._ask, self._write, writes)
            finally:
                self._began = math.inf

    # --- In the thread ----------------------------------------------------------------------------------------------

    def _ask(self, ask: Callable[[Any], dict[bytes, Found]], what: Any) -> dict[bytes, Found]:
        if time.monotonic() < self._away_until:
            return {}
        try:
            found = ask(what)
        except self._errors as error:
            if not self._is_away:
                log.warning("answers_not_shared", error=type(error).__name__)
            self._is_away = True
            self._away_until = time.monotonic() + ASK_AGAIN_SECONDS
            return {}
        self._is_away = False
        return found

    def _say(self, place: str) -> dict[bytes, Found]:
        self._redis.set(place, b"1", px=int(WELL_SECONDS * 1000))
        return {}

    def _hear(self, place: str) -> dict[bytes, Found]:
        return {_HEARD: (b"", float(self._redis.exists(place)))}

    def _look(self, names: Collection[bytes]) -> dict[bytes, Found]:
        asked = time.monotonic()
        with self._redis.pipeline(transaction=False) as commands:
            for name in names:
                commands.get(_place(name))
                commands.pttl(_place(name))
            said = iter(commands.execute())
        opened = ((name, self._open(name, next(said), next(said))) for name in names)
        return {name: (text, asked + seconds) for name, (text, seconds) in opened if seconds > 0}

    def _write(self, answers: Mapping[bytes, Found]) -> dict[bytes, Found]:
        with self._redis.pipeline(transaction=False) as commands:
            for name, (text, until) in answers.items():
                seconds = min(until - time.monotonic(), LONGEST)
                if seconds > 1:
                    sealed = self._cipher.encrypt(_HEAD.pack(time.time() + seconds, name) + text)
                    commands.set(_place(name), sealed, px=int(seconds * 1000))
            commands.execute()
        return {}

    def _open(self, name: bytes, sealed: bytes | None, rest: int) -> Found:
        """The answer, and for how many seconds it holds; 0 if it is not what a host has written under this name.

        An answer must not live longer by travelling. Redis counts its rest while it lies there, however the clocks of
        the hosts differ, and a reader begins before the question. The end inside is by the writer's clock: for a Redis
        that stood still, or somebody who puts an old answer back.
        """
        try:
            opened = self._cipher.decrypt(sealed or b"")
            end, written_as = _HEAD.unpack_from(opened)
        except (InvalidToken, struct.error):
            return b"", 0
        if written_as != name:
            return b"", 0
        return opened[_HEAD.size :], min(rest / 1000, end - time.time(), LONGEST)


def _place(name: bytes) -> str:
    return f"larder:ready:{name.hex()}"


def chosen() -> OtherHosts | None:
    """None unless the operator says that there are other hosts, and names their cache."""
    if not (settings.CACHE_URL and settings.INSTANCES > 1 and settings.READY_BYTES):
        return None
    return OtherHosts(settings.CACHE_URL, family(), most_bytes=settings.READY_BYTES // PART)


def family() -> bytes:
    """Equal where answers are: the secret key, the database, the program, and the variables that all hosts share."""
    database = connections["default"].settings_dict
    said = [*(f"{part}={database.get(part)}" for part in ("HOST", "PORT", "NAME")), settings.PUBLIC_URL]
    said += [f"{name}={value}" for name, value in sorted(env.of_all_hosts().items())]
    said += sorted(folder.name for folder in Path(django.__file__).parents[1].glob("*.dist-info"))
    digest = hmac.new(settings.SECRET_KEY.encode(), "\0".join(said).encode(), "sha256")
    folders = [env.CHECKOUT / name for name in ("apps", "registry_site", "templates")]
    for file in sorted(file for folder in folders for ending in ("*.py", "*.html") for file in folder.rglob(ending)):
        digest.update(file.relative_to(env.CHECKOUT).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.digest()
