import pytest

from apps.accounts.models import Grant, Namespace, Role, User
from tests.cast import person


@pytest.fixture
def eve(acme: Namespace, dora: User) -> User:
    """Owns acme beside Dora."""
    user = person("eve")
    Grant.objects.create(namespace=acme, user=user, role=Role.OWNER)
    return user
