"""``python -m murmurs``: the command line."""

from murmurs.cli import main

if __name__ == "__main__":
    main()
