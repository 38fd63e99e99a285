"""The job language: messages, generated from proto/*.proto, and what reads, changes and writes them as text."""

import warnings

# 6.30 and 6.31 alone warn that our code was generated for 5.29, which all up to 7 read: tests/proto/test_versions.py.
warnings.filterwarnings("ignore", "Protobuf gencode version", UserWarning)
