"""The demo module that the first run publishes."""
