"""Makes ``python -m hardbayes.cli`` equivalent to the ``hardbayes`` command."""

import sys

from hardbayes.cli import main

if __name__ == "__main__":
    sys.exit(main())
