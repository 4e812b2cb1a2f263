#!/usr/bin/env python3
"""Larder's commands: `manage.py up` runs everything; `manage.py help` lists the rest."""

import sys

from registry_site.startup import command_line

if __name__ == "__main__":
    command_line.run(sys.argv)
