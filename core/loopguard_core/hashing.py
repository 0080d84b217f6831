"""SHA-256 and BLAKE2b for a process that may start for one call only.

``hashlib`` brings OpenSSL with it, which costs a hook process a seventh of its start; the interpreter's own
modules give the same digests. Where OpenSSL is loaded anyway (an agent's process), it is used: it is
three times as fast.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _hashlib import HASH
    from typing import Any

__all__ = ["blake2b", "sha256"]

try:
    from _blake2 import blake2b

    _own = __import__("_sha2" if sys.version_info >= (3, 12) else "_sha256").sha256
except ImportError:  # an interpreter that is built without them
    from hashlib import blake2b
    from hashlib import sha256 as _own


def sha256(data: bytes = b"") -> HASH:
    """A new SHA-256 over *data*, by the faster of what this process has loaded by now."""
    openssl = sys.modules.get("_hashlib")
    make: Any = _own if openssl is None else openssl.openssl_sha256
    made: HASH = make(data)
    return made
