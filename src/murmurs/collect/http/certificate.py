"""Certificate: a certificate for TLS that is renewed while the server runs.

Programs that renew certificates replace their files every few weeks. The files are looked at again
and again, and new connections get the new certificate; those that are open keep the old one.
"""

from __future__ import annotations

import logging
import ssl
from pathlib import Path

log = logging.getLogger("murmurs.collect")


class Certificate:
    """The files of a certificate and its key, and when they were read."""

    def __init__(self, chain: Path, key: Path) -> None:
        self._chain, self._key = chain, key
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(chain, key, _no_password)
        except (OSError, ValueError) as error:
            raise ValueError(
                f"the certificate in {chain} cannot be used with the key in {key}: {error}; give a "
                "certificate and its own key, in PEM form"
            ) from None
        self._seen = self._written()

    def _written(self) -> tuple[tuple[int, int], ...]:
        """Return what changes whenever one of the files is replaced."""
        found = (path.stat() for path in (self._chain, self._key))
        return tuple((stat.st_mtime_ns, stat.st_ino) for stat in found)

    def renew(self, context: ssl.SSLContext) -> bool:
        """Read the files again if they have changed; if they do not fit, keep what there was."""
        try:
            written = self._written()
            if written == self._seen:
                return False
            self._seen = written
            for each in (ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), context):
                each.load_cert_chain(self._chain, self._key, _no_password)
        except (OSError, ValueError) as error:
            if isinstance(error, ssl.SSLError) or not isinstance(error, FileNotFoundError):
                log.error("the certificate in %s cannot be used: %s", self._chain, error)
            return False
        log.warning("the certificate in %s was renewed", self._chain)
        return True


def _no_password() -> str:
    """Refuse a key with a password: OpenSSL would ask the terminal, and everything would wait."""
    raise ValueError("its key has a password: write a key without one")
