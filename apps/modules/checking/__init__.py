"""Which part of an upload is the module, and the questions that only its publisher can answer."""
