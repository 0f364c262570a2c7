"""Trust: an audit declared before it is run, sealed against re-rolling, recorded, and
verified by the other side.
"""

from improvable.trust.bundle import verify_bundle, write_bundle
from improvable.trust.ledger import read_ledger
from improvable.trust.seal import (
    Seal,
    make_seal,
    read_protocol,
    read_seal,
    write_protocol,
    write_seal,
)
from improvable.trust.verification import Verification, verify

__all__ = [
    "Seal",
    "Verification",
    "make_seal",
    "read_ledger",
    "read_protocol",
    "read_seal",
    "verify",
    "verify_bundle",
    "write_bundle",
    "write_protocol",
    "write_seal",
]
