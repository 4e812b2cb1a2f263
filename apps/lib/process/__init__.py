"""Parts of a long-running process besides its requests: metrics, traces, periodic work, durable files."""
