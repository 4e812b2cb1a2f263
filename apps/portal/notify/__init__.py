"""Pages about who is told of what: webhooks, watching, and a person's mail."""
