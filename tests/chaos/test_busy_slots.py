"""The broker is lost under load while each slot is busy, with threads and with processes: no worker falls asleep."""

import time
from collections.abc import Iterator

import pytest

from tests.chaos import busy_slots
from tests.chaos.world import IS_LONG, World, under_load
from tests.programs import PRODUCTION

pytestmark = [pytest.mark.live, pytest.mark.nightly, pytest.mark.needs(*PRODUCTION), pytest.mark.timeout(900)]

# 24 in all.
ROUNDS = 3 if IS_LONG else 1


@pytest.fixture(scope="module", params=["threads", "prefork"])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("busy")
    with under_load(folder, LARDER_WORKER_POOL=request.param, LARDER_WORKER_CONCURRENCY="2") as found:
        yield found


@pytest.mark.parametrize("fault", busy_slots.FAULTS)
def test_a_broker_lost_while_each_slot_is_busy_puts_no_worker_to_sleep(world: World, fault: str) -> None:
    """No task could be acknowledged, so a worker without a free slot asked for no more. None has to be restarted."""
    answers: set[int] = set()
    for _ in range(ROUNDS):
        with world.load():
            time.sleep(0.5)
            busy_slots.lose_the_broker(world, fault)
            back = time.monotonic()
            time.sleep(1)
        answers |= set(world.answers)
        world.over = back
        world.settle()
    world.check()
    assert answers == {202}
    names = [name for name in world.stack.processes if "worker" in name]
    assert {name: world.stack.processes[name].poll() for name in names} == dict.fromkeys(names)
