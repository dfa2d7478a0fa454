#!/usr/bin/env python
"""Dolphy from the command line."""

import sys

from dolphy.command_line import main

if __name__ == "__main__":
    main(sys.argv)
