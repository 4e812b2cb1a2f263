"""Finding the module in an upload, and the questions that only its publisher can answer."""
