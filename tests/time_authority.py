"""A time stamp authority on this machine, made with OpenSSL."""

import subprocess
from pathlib import Path

CONFIGURATION = """
[tsa]
default_tsa = here
[here]
serial = serial
crypto_device = builtin
signer_cert = tsa.pem
signer_key = tsa.key
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256
ess_cert_id_alg = sha256
"""
EXTENSIONS = """
extendedKeyUsage = critical, timeStamping
keyUsage = critical, digitalSignature
basicConstraints = CA:false
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
"""


def openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


def make_authority(folder: Path) -> None:
    (folder / "tsa.cnf").write_text(CONFIGURATION)
    (folder / "ext.cnf").write_text(EXTENSIONS)
    (folder / "serial").write_text("01\n")
    new = ["-days", "9", "-newkey", "rsa:2048", "-nodes", "-keyout"]
    may = [
        "-addext",
        "basicConstraints=critical,CA:true",
        "-addext",
        "keyUsage=critical,keyCertSign",
    ]
    openssl(
        folder,
        "req",
        "-x509",
        *new,
        "root.key",
        "-out",
        "root.pem",
        "-subj",
        "/CN=Root",
        *may,
    )
    openssl(
        folder, "req", *new[2:], "tsa.key", "-out", "tsa.csr", "-subj", "/CN=Authority"
    )
    signed = [
        "-CA",
        "root.pem",
        "-CAkey",
        "root.key",
        "-CAcreateserial",
        "-days",
        "9",
        "-extfile",
        "ext.cnf",
    ]
    openssl(folder, "x509", "-req", "-in", "tsa.csr", *signed, "-out", "tsa.pem")


def answer(folder: Path, query: Path, token: Path) -> None:
    """What an authority does when it is asked: sign the digest in a query with the
    time.
    """
    openssl(
        folder,
        "ts",
        "-reply",
        "-config",
        "tsa.cnf",
        "-queryfile",
        str(query.resolve()),
        "-out",
        str(token.resolve()),
    )
