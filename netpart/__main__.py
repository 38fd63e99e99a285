"""Entry point of ``python -m netpart``, which does the same as the ``netpart`` command."""

from __future__ import annotations

from netpart.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
