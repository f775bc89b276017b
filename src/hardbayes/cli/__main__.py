"""Lets ``python -m hardbayes.cli`` stand in for the ``hardbayes`` command."""

import sys

from hardbayes.cli import main

if __name__ == "__main__":
    sys.exit(main())
