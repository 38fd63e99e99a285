"""A run that is watched in a browser: its feed, the server on loopback, and the page's panels."""

__all__ = ["page_listener"]
