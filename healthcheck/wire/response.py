"""One HTTP/1.1 response without I/O: bytes in, head and body out, however they arrive. The only user of httptools.

Both clients use this parser: it refuses what aiohttp, under the evaluation client, refuses.
"""

from __future__ import annotations

import httptools

from healthcheck.text.messages import msg

_MAX_BARREN_BYTES = 2**16
"""Bytes without progress (in the head, between or after chunks): each arrival makes the parser rescan them."""
_MAX_HEADERS, _MAX_FIELD_BYTES = 128, 8190
"""aiohttp, under the evaluation client, refuses more headers and longer ones (3.14)."""
_OK = 200


class TooLargeError(Exception):
    """An answer exceeds the limit on its size."""


class Response:
    """A response so far.

    Attributes:
        status: 0 until the head is complete.
        headers: names in lower case; the last value of a repeated header.
        begun: the first byte of the body arrived.
        ended: the response is complete.
        reusable: the connection may carry another request.
        untaken_bytes: bytes of the body, as sent, that `take` has not returned yet.
    """

    def __init__(self) -> None:
        self.status = self.untaken_bytes = 0
        self.headers: dict[str, str] = {}
        self.begun = self.ended = self.reusable = False
        self._parser = httptools.HttpResponseParser(self)
        # What aiohttp, under the evaluation client, lets pass in a response.
        self._parser.set_dangerous_leniencies(
            lenient_headers=True,
            lenient_optional_cr_before_lf=True,
            lenient_spaces_after_chunk_size=True,
        )
        self._reason = b""
        self._in_body = False
        self._barren = self._fields = 0
        self._excess = ""
        self._untaken: list[bytes] = []

    @property
    def reason(self) -> str:
        """The reason phrase after the status."""
        return self._reason.decode("latin-1")

    def feed(self, data: bytes) -> None:
        """Process the next bytes of the connection. Bytes after a complete response are ignored.

        Raises:
            ConnectionError: the bytes are not an HTTP response.
            TooLargeError: 64 KiB without a byte of the body, or more headers than the evaluation client accepts.
        """
        self._barren += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as error:
            raise ConnectionError(msg("the server switched to another protocol")) from error
        except httptools.HttpParserError as error:
            raise ConnectionError(msg("no HTTP/1.1 response: {error}", error=error)) from error
        if self._excess:
            raise TooLargeError(msg("{excess} in one answer", excess=self._excess))
        if self._barren > _MAX_BARREN_BYTES:
            raise TooLargeError(
                msg(
                    "more than {max_barren_bytes} bytes without one of the body",
                    max_barren_bytes=_MAX_BARREN_BYTES,
                )
            )

    def take(self) -> bytes:
        """The bytes of the body since the last call, as sent."""
        data, self._untaken, self.untaken_bytes = b"".join(self._untaken), [], 0
        return data

    def close(self) -> None:
        """Process the end of the connection.

        Raises:
            ConnectionError: the answer had not begun or is incomplete.
        """
        if not self._in_body:
            raise ConnectionError(msg("the server closed the connection before it answered"))
        chunked = "chunked" in self.headers.get("transfer-encoding", "").lower()
        if not self.ended and (chunked or "content-length" in self.headers):
            raise ConnectionError(
                msg("the server closed the connection in the middle of its answer")
            )
        self.ended = True

    # Callbacks of httptools, in the order of a response. An unrequested second response is dropped.

    def on_message_begin(self) -> None:
        self.reusable = False
        self._fields = 0

    def on_status(self, status: bytes) -> None:
        if not self.ended:
            self._reason += status

    def on_header(self, name: bytes, value: bytes) -> None:
        self._fields += 1
        if self._fields > _MAX_HEADERS:
            self._excess = msg("more than {max_headers} headers", max_headers=_MAX_HEADERS)
        if len(value) > _MAX_FIELD_BYTES:
            self._excess = msg(
                "a header of more than {max_field_bytes} bytes", max_field_bytes=_MAX_FIELD_BYTES
            )
        if not self._in_body:
            self.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        if not self.ended and not self._excess:
            status = self._parser.get_status_code()
            self._in_body = status >= _OK
            self.status = status if self._in_body else 0

    def on_body(self, data: bytes) -> None:
        if self._in_body and not self.ended:
            self.begun = True
            self._barren = 0
            self._untaken.append(data)
            self.untaken_bytes += len(data)

    def on_message_complete(self) -> None:
        if self._in_body and not self.ended:
            self.ended = True
            self.reusable = self._parser.should_keep_alive()
        elif not self._in_body:  # 100 Continue or similar: the response follows
            self._reason, self.headers = b"", {}
