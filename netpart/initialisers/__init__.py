"""Initial values of parameters: the same for every number of workers and every cut."""

from __future__ import annotations

from netpart.initialisers.methods import check, initialise

__all__ = ["check", "initialise"]
