"""Trust: an audit declared before it is run, sealed against re-rolling, recorded, and verified by the other side."""

from improvable.protocol.files import read_protocol, write_protocol
from improvable.protocol.ledger import read_ledger
from improvable.protocol.seal import Seal, make_seal, read_seal, write_seal
from improvable.protocol.verification import Verification, verify

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
