"""Larder seen from outside: /metrics, the counts of all processes of a host, and the states that are asked for."""
