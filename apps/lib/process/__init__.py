"""What a long-running process keeps beside its requests: metrics, traces, periodic work, durable files."""
