"""The demonstration is published as people publish, and restored as the seed has it"""

import pytest

pytestmark = pytest.mark.django_db
