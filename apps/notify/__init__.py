"""Notices: who is told of what, by an outbox that `audit.record` fills, and the channel that every Larder has: mail."""
