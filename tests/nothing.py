"""No page shows a None: a template that renders one puts the word "None" into a sentence, a field or an address."""

from typing import Any

import pytest
from django.template import base

_render = base.render_value_in_context


def render_value(value: Any, context: Any) -> str:
    assert value is not None, f"{context.template_name or context.template} renders a None"
    return str(_render(value, context))


@pytest.fixture(autouse=True, scope="session")
def nothing_is_shown() -> None:
    base.render_value_in_context = render_value
