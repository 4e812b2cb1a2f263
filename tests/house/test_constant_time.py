"""Where secrets are compared. The time that a comparison takes must not tell how much of a guess is right.

No test can see that in an answer, so this one reads the code.
"""

import ast

from tests import rooms
from tests.house import sources

COMPARES = {"compare_digest", "constant_time_compare"}
# Where a text from outside meets a secret, or what was made with one.
WHERE = {
    "apps/accounts/identity/cli_login.py: _proves",
    "apps/accounts/identity/sessions.py: _is_of",
    "apps/blobs/capabilities.py: seconds_left",
    "registry_site/monitoring/page.py: may_read",
    "registry_site/operations/authenticity.py: problem_with",
    *rooms.rows("COMPARES_SECRETS"),
}


def functions_that_compare():
    for path in sources.python_files("apps", "registry_site"):
        if any(name in sources.text_of(path) for name in COMPARES):
            for function in ast.walk(sources.tree_of(path)):
                if isinstance(function, ast.FunctionDef) and calls_of(function) & COMPARES:
                    yield f"{sources.name_of(path)}: {function.name}"


def calls_of(function):
    found = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
    return {one.attr if isinstance(one, ast.Attribute) else getattr(one, "id", "") for one in found}


def test_secrets_are_compared_in_constant_time():
    assert set(functions_that_compare()) == WHERE
