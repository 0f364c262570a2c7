"""Trust: an audit declared before it is run, sealed against re-rolling, recorded, and verified by the other side."""

from improvable.trust.bundle import verify_bundle, write_bundle
from improvable.trust.files import read_protocol, write_protocol
from improvable.trust.ledger import read_ledger
from improvable.trust.seal import Seal, make_seal, read_seal, write_seal
from improvable.trust.signing import check_signature, sign
from improvable.trust.timestamps import check_stamps, stamp
from improvable.trust.verification import Verification, verify

__all__ = [
    "Seal",
    "Verification",
    "check_signature",
    "check_stamps",
    "make_seal",
    "read_ledger",
    "read_protocol",
    "read_seal",
    "sign",
    "stamp",
    "verify",
    "verify_bundle",
    "write_bundle",
    "write_protocol",
    "write_seal",
]
