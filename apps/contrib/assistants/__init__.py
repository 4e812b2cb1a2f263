"""The Model Context Protocol, by which AI assistants read the registry: an edge that reuses the API's shapes and the
portal's blocks to copy. Only `protocol.py` imports the SDK, which is an optional extra.
"""
