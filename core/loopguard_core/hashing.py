"""SHA-256 and BLAKE2b for a process that may start for one call only.

``hashlib`` brings OpenSSL with it, which costs a hook process a seventh of its start; the interpreter's own
modules give the same digests. Where OpenSSL is loaded anyway (an agent's process), it is used: it is
faster on long texts.
"""

from __future__ import annotations

import sys

__all__ = ["blake2b", "sha256"]

if "_hashlib" in sys.modules:
    from hashlib import blake2b, sha256
else:
    try:
        from _blake2 import blake2b

        sha256 = __import__("_sha2" if sys.version_info >= (3, 12) else "_sha256").sha256
    except ImportError:  # an interpreter that is built without them
        from hashlib import blake2b, sha256
