"""A PgBouncer of the test run's own, before a PostgreSQL, in transaction mode and with everything else as it comes."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from tests import postgres

SETTINGS = """
[databases]
* = host=127.0.0.1 port={server}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {folder}/users
pool_mode = transaction
default_pool_size = {size}
max_client_conn = 200
query_wait_timeout = 5
logfile = {folder}/log
"""


@contextmanager
def before(server: postgres.Server, *, size: int = 5) -> Iterator[str]:
    """Start one; yields the URL under which it is the server."""
    folder, port = Path(tempfile.mkdtemp(prefix="larder-pgbouncer-", dir="/tmp")), postgres.free_port()
    url = urlsplit(server.url)
    told = SETTINGS.format(server=url.port, port=port, folder=folder, size=size)
    (folder / "settings.ini").write_text(told)
    (folder / "users").write_text(f'"{url.username}" ""\n')
    become = ["setpriv", "--pdeathsig=TERM"]  # a killed test run leaves none behind
    if os.geteuid() == 0:  # it refuses to run as root
        become += ["--reuid=postgres", "--regid=postgres", "--clear-groups"]
        for path in (folder, *folder.iterdir()):
            shutil.chown(path, "postgres", "postgres")
    command = [*become, "pgbouncer", str(folder / "settings.ini")]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        postgres.wait(process, port)
        yield url._replace(netloc=f"{url.username}@127.0.0.1:{port}").geturl()
    finally:
        process.terminate()
        process.wait(timeout=10)
        shutil.rmtree(folder, ignore_errors=True)
