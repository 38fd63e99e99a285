"""Lets ``python -m netpart`` stand for the ``netpart`` command."""

from __future__ import annotations

from netpart.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
