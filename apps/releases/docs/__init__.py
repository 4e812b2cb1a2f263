"""The docs of a provider version, of our own or of another registry: from Markdown in an archive to pages."""
