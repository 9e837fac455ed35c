"""`python -m dither` is `dither`."""

from dither.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
