"""The calls of the API that say so can be sent again: each is made twice, and the second finds what the first left."""

import pytest
from django.db import transaction

from apps.http import api_document
from tests import rooms
from tests.house import scenario
from tests.house.policy.table import ROUTES, TABLES, cells_of
from tests.openapi import id_of

pytestmark = [pytest.mark.both, pytest.mark.matrix]

# Nobody succeeds with these in the scene; their own tests repeat them.
ELSEWHERE = {
    "delete_namespace": "tests/api/test_namespaces.py",
    "post_job_cancel": "tests/api/test_jobs.py",
    "post_module_end_cooldown": "tests/releases/test_cooldown.py",
    "post_module_restore": "tests/api/test_lifecycle.py",
    "post_provider_end_cooldown": "tests/releases/test_cooldown.py",
    "post_provider_restore": "tests/api/providers/test_provider_lifecycle.py",
    "post_provider_resign": "tests/providers/signatures",
    "put_provider_signature": "tests/providers/signatures",
    **rooms.rows("IDEMPOTENT_ELSEWHERE"),
}
# The scene leaves them nothing to do, so the second answer equals the first; their own tests repeat them.
NOTHING_TO_DO = {
    **rooms.rows("IDEMPOTENT_NOTHING_TO_DO"),
}


def changes():
    """{(route, method): whether it says that it is idempotent}, of all calls that are no reads."""
    operations = [one for methods in api_document.document()["paths"].values() for one in methods.values()]
    said = {one["operationId"]: one["x-idempotent"] for one in operations}
    return {
        (name, method): said[id_of(name, method)]
        for name, methods in TABLES.items()
        for method in methods
        if name.startswith("api:") and method != "GET"
    }


def who_may(name, method):
    """The row and the person of the first cell that succeeds; the rows of namespaces before `missing`."""
    return next(
        ((row, who) for (verb, row, who), status in cells_of(name).items() if verb == method and status < 300), None
    )


def sent_twice(scene, client, name, method, row):
    url = scenario.version_for(name, method, scene.url(ROUTES[name], row))
    with transaction.atomic():
        answers = [client.generic(method, url, **scenario.body_of(name, method, row)) for _ in range(2)]
        transaction.set_rollback(True)
    return answers


def is_same(method, first, second):
    if first.status_code == second.status_code:
        return first.content == second.content
    if first.status_code in (201, 202) and second.status_code == 200:
        return True
    return method == "DELETE" and (first.status_code, second.status_code) == (204, 404)


@pytest.mark.parametrize(("name", "method"), [pytest.param(*one, id=id_of(*one)) for one in sorted(changes())])
def test_a_call_that_may_be_repeated_ends_as_it_did(scene, client_of, name, method):
    cell = who_may(name, method)
    assert (cell is None) == (id_of(name, method) in ELSEWHERE)
    if cell is None or id_of(name, method) in NOTHING_TO_DO:
        return
    row, who = cell
    first, second = sent_twice(scene, client_of(who), name, method, row)

    assert first.status_code < 300, first.content
    assert is_same(method, first, second) == changes()[name, method], (first.status_code, second.content)
