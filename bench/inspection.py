"""Reading 400 files with 2 MB of HCL: the whole inspection against tree-sitter alone and against python-hcl2, and what
its child process costs.
"""

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping

import hcl2

from apps.lib.hcl import tree
from apps.lib.hcl.files import File
from apps.modules.inspection import units
from bench.larder import Bench
from bench.report import Figure
from tests.builders import modules

FILES = 400
BYTES = 2_000_000
_NAME = re.compile(rb'^((?:variable|output|module|check|resource "\w+"|data "\w+") "\w+)"', re.MULTILINE)
# In a process of its own, because the peak of its children is all that a process is told of them.
_CHILD = """
import json, resource, sys, time
from apps.lib.sandbox import starter
from apps.modules.inspection import inspecting
inspecting.inspect({"main.tf": b""}, {"main.tf": 0})  # starts the server
texts = {name: text.encode() for name, text in json.load(sys.stdin).items()}
sizes = {name: len(text) for name, text in texts.items()}
started = time.perf_counter()
document = inspecting.inspect(texts, sizes)
seconds = time.perf_counter() - started
assert document["units"][0]["variables"], document["units"][0]["warnings"]
starter.retire()
starter.retired[0].wait()
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024]))
"""


def many_files(count: int) -> dict[str, bytes]:
    """The files of real modules over and over, each time under other names, a third of them in submodules."""
    sources = [
        data
        for module in (modules.network, modules.kubernetes)
        for path, data in module("2.0.0").items()
        if path in ("main.tf", "variables.tf", "outputs.tf")
    ]
    texts: dict[str, bytes] = {}
    size = 0
    for number in range(count):
        folder = f"modules/m{number % 20}/" if number % 3 == 0 else ""
        suffix = b'\\1_%d"' % number
        text = _NAME.sub(suffix, sources[number % len(sources)])
        texts[f"{folder}f{number}.tf"] = text
        size += len(text)
    texts["rest.tf"] = b"# the rest\n" * max(0, (BYTES * count // FILES - size) // 11)
    del texts["f1.tf"]
    return texts


def seconds_of(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def parsed(texts: Mapping[str, bytes]) -> None:
    for path, text in texts.items():
        assert not tree.parse(File(path, text)).has_error


def in_a_child(texts: Mapping[str, bytes]) -> tuple[float, float, float]:
    """Seconds until the answer, seconds of its processor, megabytes at its peak."""
    request = json.dumps({path: text.decode() for path, text in texts.items()})
    answer = subprocess.run([sys.executable, "-c", _CHILD], input=request, capture_output=True, text=True, check=True)
    wall, cpu, memory = json.loads(answer.stdout)
    return wall, cpu, memory


def measure(bench: Bench) -> Iterator[Figure]:
    texts = many_files(8 if bench.is_tiny else FILES)
    sizes = {path: len(text) for path, text in texts.items()}
    part = dict(list(texts.items())[: len(texts) // 10 + 1])
    rounds = range(bench.rounds)
    parsing = [seconds_of(lambda: parsed(texts)) for _ in rounds]
    reading = [seconds_of(lambda: units.read_module(texts, sizes)) for _ in rounds]
    small = [seconds_of(lambda: units.read_module(part, {})) for _ in rounds]
    oracle = [seconds_of(lambda: [hcl2.loads(text.decode()) for text in part.values()]) for _ in range(2)]
    children = [in_a_child(texts) for _ in rounds]
    what = f"inspection of {len(texts)} files"
    yield Figure(what, reading, "s", parsing, "tree-sitter alone", "< 6")
    yield Figure(f"inspection of {len(part)} files", small, "s", oracle, "python-hcl2", "< 0.2")
    yield Figure(f"{what}, in its child", [wall for wall, _, _ in children], "s")
    yield Figure(f"{what}, processor time of the child", [cpu for _, cpu, _ in children], "s")
    yield Figure(f"{what}, memory of the child", [memory for _, _, memory in children], "MB")
