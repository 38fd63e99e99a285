"""Libraries of the emulated device; to import one is to load it."""
