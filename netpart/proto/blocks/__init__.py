"""Blocks: layers that are written once and repeated, and values with names, written out before the net is built."""

__all__ = ["expansion", "flat_text", "folded_text", "joined_faults", "placeholders", "source"]
