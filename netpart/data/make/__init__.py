"""Data that is made for the zoo."""

__all__ = ["digits", "image_store", "mnist", "phantom", "python_source"]
