from tests.browser.conftest import chromium, open_browser, page, signed_in, space, watch

__all__ = ["chromium", "open_browser", "page", "signed_in", "space", "watch"]
