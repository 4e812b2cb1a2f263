#!/usr/bin/env python3
"""Larder's commands: `manage.py up` runs everything; `manage.py help` lists the rest."""

import sys

from django.core.management import execute_from_command_line

from registry_site.env import use_settings

if __name__ == "__main__":
    use_settings()
    execute_from_command_line(sys.argv)
