"""A net written in Python: a method for each layer type, and the text that a person would write."""

__all__ = ["layer_list", "named_value", "nested_layers", "net_builder"]
