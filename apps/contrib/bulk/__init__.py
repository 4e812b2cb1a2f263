"""One act on several versions by one call of the API."""
