"""The broker is lost while each slot of each worker has a task, and is back after the last of them has ended.

So no acknowledgement of these tasks arrives. They wait for the table of jobs, which another session locks meanwhile.
"""

import signal
import time

import psycopg
import redis

from tests.chaos.world import World
from tests.production import OURS, REDIS_ADMIN
from tests.site.processes import eventually

# By queue: two of each worker, unless LARDER_WORKER_CONCURRENCY says otherwise.
SLOTS = {
    queue: 2 * one.get("deploy", {}).get("replicas", 1)
    for one in OURS.values()
    if one["command"][-1] == "worker"
    for queue in one["environment"]["LARDER_WORKER_QUEUES"].split()
}
# The task looks for forgotten jobs, which any worker can.
RING = f"""
from registry_site.celery import app
for queue, slots in {SLOTS}.items():
    for _ in range(slots):
        app.send_task("jobs.reap", queue=queue)
"""
# How long it is away, counted from the end of the tasks: until the acknowledgements have failed, at once or by their
# time-outs. `emptied`: it is killed, and begins with nothing; `flushed`: it forgets everything and stays.
FAULTS = {"killed": 3.0, "stopped": 8.0, "emptied": 3.0, "flushed": 0.0}


def lose_the_broker(world: World, fault: str) -> None:
    broker = world.stack.broker
    with psycopg.connect(world.stack.database.url) as own:
        own.execute("LOCK TABLE jobs_job IN ACCESS EXCLUSIVE MODE")
        world.stack.live.manage("shell", "--no-imports", "-v", "0", "-c", RING)
        with redis.Redis(port=broker.port, **REDIS_ADMIN) as asked:
            of_signers = SLOTS["sign"]
            for key, slots in (("unacked", sum(SLOTS.values()) - of_signers), ("sign_unacked", of_signers)):
                eventually(lambda: asked.hlen(key) >= slots, seconds=8, what=f"the last of {slots} slots")  # noqa: B023
        if fault == "flushed":
            flush(world)
        elif fault == "stopped":
            broker.process.send_signal(signal.SIGSTOP)
        else:
            broker.stop(signal.SIGKILL)
        own.rollback()
        time.sleep(FAULTS[fault])
    if fault == "flushed":
        return
    if fault == "stopped":
        broker.process.send_signal(signal.SIGCONT)
        return
    if fault == "emptied":
        for path in (world.stack.folder / "broker").glob("appendonlydir/*"):
            path.unlink()
    broker.start()


def flush(world: World) -> None:
    with redis.Redis(port=world.stack.broker.port, **REDIS_ADMIN) as asked:
        asked.flushall()
