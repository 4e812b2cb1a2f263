"""The module that the first run publishes, as files, so that people can read them where they are."""
