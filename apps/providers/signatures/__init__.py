"""Who signed a provider version, and the signatures that come later."""
