"""Libraries of the emulated device."""
