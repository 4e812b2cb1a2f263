from tests.browser.conftest import chromium, watch

__all__ = ["chromium", "watch"]
