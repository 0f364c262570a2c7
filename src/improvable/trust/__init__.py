"""Trust: an audit declared before it is run, sealed against re-rolling, recorded, and verified by the other side."""

from improvable.trust.files import read_protocol, write_protocol
from improvable.trust.ledger import read_ledger
from improvable.trust.seal import Seal, make_seal, read_seal, write_seal
from improvable.trust.verification import Verification, verify

__all__ = [
    "Seal",
    "Verification",
    "make_seal",
    "read_ledger",
    "read_protocol",
    "read_seal",
    "verify",
    "write_protocol",
    "write_seal",
]
