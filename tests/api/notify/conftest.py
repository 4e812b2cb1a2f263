from tests.notify.conftest import hooked, loopback, receiver

__all__ = ["hooked", "loopback", "receiver"]
