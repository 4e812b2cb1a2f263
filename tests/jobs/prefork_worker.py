"""A worker whose jobs take some time: `python -m tests.jobs.prefork_worker FILE`, with Larder's settings.

It adds four jobs in bulk. The first one adds a job that somebody waits for. FILE has a line for each begin and end.
"""

import sys
import time

import django

SECONDS = {True: 2.0, False: 0.1}  # in bulk, and awaited
AWAITED = 99


def main(file: str) -> None:
    from registry_site.celery import app

    django.setup()
    from django.db import connection

    from apps.jobs import claims, queue
    from registry_site.server import serving

    def write(*words: object) -> None:
        line = " ".join(map(str, (time.monotonic(), *words)))
        with open(file, "a") as sink:  # noqa: PTH123
            print(line, file=sink)

    def work(claim: claims.Claim) -> None:
        write("begin", claim.target)
        if claim.target == 1:
            queue.enqueue("test.slow", target=AWAITED, created_by_id=None, source="", share="")
        time.sleep(SECONDS[bool(claim.source)])
        write("end", claim.target)

    claims.task("test.slow", work)
    app.loader.import_default_modules()
    for number in range(1, 5):
        queue.enqueue("test.slow", target=number, created_by_id=None, source="test 1", share="test")
    connection.close()
    serving.worker(with_beat=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
