"""Initial values of parameters: the same for every number of workers and every cut."""

from __future__ import annotations

from netpart.initialisers.methods import draw_initial_values, find_initialiser

__all__ = ["draw_initial_values", "find_initialiser"]
