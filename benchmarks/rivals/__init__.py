"""Other libraries and straightforward implementations, with the same settings as gssl."""
