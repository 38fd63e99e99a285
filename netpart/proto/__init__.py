"""The job language: messages, generated from proto/*.proto, and modules that read, change and write them as text."""

import warnings

# protobuf 6.30 and 6.31, and only these, warn that our code was generated for 5.29. All releases up to 7 read that
# code: tests/proto/test_versions.py.
warnings.filterwarnings("ignore", "Protobuf gencode version", UserWarning)
