"""The program `windlass` of this package."""

import signal
import sys

from . import _windlass


def main() -> int:
    """Runs the program with the arguments of this process."""
    # The program has its own way to end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    return _windlass.main(["windlass", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
