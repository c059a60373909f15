"""`python -m kgen` is `kgen`."""

from kgen.cli import main

if __name__ == "__main__":
    main()
