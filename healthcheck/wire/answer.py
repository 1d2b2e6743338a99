"""One HTTP/1.1 response without any I/O: bytes in, a reply out, whatever the split. httptools' one user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import httptools

from healthcheck.wire.chat import Completion, Reader
from healthcheck.wire.inflate import InflateError, Inflater

MAX_STREAM_BYTES = 64 * 2**20
MAX_BODY_BYTES = 2**20
"""What is kept of a body that is not a stream."""
_MAX_BARREN_BYTES = 2**16
"""In the head, between chunks, after the last: a parser goes over what is still open with each arrival."""
_BATCH_BYTES = 2**16
_DONE = b"[DONE]"
_OK = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a server answered.

    Attributes:
        headers: names in lower case; of those sent twice, the last.
        body: the first megabyte of it, b"" of a stream.
        completion: the folded stream; None if none was asked for or the status is not 200.
    """

    status: int
    reason: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    completion: Completion | None = None


class TooLargeError(Exception):
    """An answer beyond what is read of one."""


class Answer:
    """The answer to one request as far as it has come.

    Attributes:
        begun: the first byte of the body came.
        done: `[DONE]` came, after which the evaluation client reads no further, or as much of a short body as is
            kept: the response may go on.
        ended: the response is whole.
        reusable: the connection may carry another request.
    """

    def __init__(self, reader: Reader | None = None) -> None:
        """`reader` folds the body of a response of status 200; without one the body is kept as it is."""
        self.begun = self.done = self.ended = self.reusable = False
        self._reader = reader
        self._parser = httptools.HttpResponseParser(self)
        # What aiohttp, under the evaluation client, lets pass in a response.
        self._parser.set_dangerous_leniencies(
            lenient_headers=True, lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True
        )
        self._status = 0
        self._reason = b""
        self._headers: dict[str, str] = {}
        self._in_body = False
        self._inflater: Inflater | None = None
        self._barren = self._taken = 0
        self._tail = b""
        self._batch: list[bytes] = []
        self._batched = 0
        self._body = bytearray()

    @property
    def received_bytes(self) -> int:
        """Of the body, as it was sent."""
        return self._taken + self._batched

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the connection. Bytes after a complete response are ignored.

        Raises:
            ConnectionError: they are no HTTP response, or not compressed as it says.
            TooLargeError: 64 KiB without a byte of the body, or a stream of more than 64 MiB.
        """
        try:
            self._parse(data)
        except (ConnectionError, TooLargeError):
            self.reusable = False
            if not (self.ended or self.settle()):
                raise
            self.ended = True
        said_done, self._tail = _DONE in self._tail + data, data[1 - len(_DONE) :]
        if self.ended or said_done or self._batched >= _BATCH_BYTES or "content-encoding" in self._headers:
            self.settle()

    def settle(self) -> bool:
        """Fold what came so far; whether the text is whole.

        Raises:
            ConnectionError: it is not compressed as it says.
            TooLargeError: it has more than 64 MiB.
        """
        data, self._batch, self._batched = b"".join(self._batch), [], 0
        try:
            self._inflater = self._inflater or Inflater(self._headers.get("content-encoding", ""))
            for piece in self._inflater.feed(data):
                self._take(piece)
        except InflateError as error:
            raise ConnectionError(str(error)) from error
        return self.done

    def close(self) -> None:
        """The server closed the connection.

        Raises:
            ConnectionError: before the answer or in the middle of it.
            TooLargeError: the stream has more than 64 MiB.
        """
        if not self._in_body:
            raise ConnectionError("the server closed the connection before it answered")
        announced = (
            "content-length" in self._headers or "chunked" in self._headers.get("transfer-encoding", "").lower()
        )
        if not self.settle() and announced:
            raise ConnectionError("the server closed the connection in the middle of its answer")
        self.ended = True

    def reply(self) -> Reply:
        """What came of it."""
        return Reply(
            status=self._status,
            reason=self._reason.decode("latin-1"),
            headers=self._headers,
            body=bytes(self._body),
            completion=self._reader.close() if self._reader and self._status == _OK else None,
        )

    def _parse(self, data: bytes) -> None:
        self._barren += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as error:
            raise ConnectionError("the server switched to another protocol") from error
        except httptools.HttpParserError as error:
            raise ConnectionError(f"no HTTP/1.1 response: {error}") from error
        if self._barren > _MAX_BARREN_BYTES:
            raise TooLargeError(f"more than {_MAX_BARREN_BYTES} bytes without one of the body")

    def _take(self, piece: bytes) -> None:
        if self._reader is None or self._status != _OK:
            self._body += piece[: MAX_BODY_BYTES - len(self._body)]
            self.done = len(self._body) == MAX_BODY_BYTES
            return
        self._taken += len(piece)
        if self._taken > MAX_STREAM_BYTES:
            raise TooLargeError(f"more than {MAX_STREAM_BYTES} bytes in one answer")
        self._reader.feed(piece)
        self.done = self._reader.done

    # What httptools calls, in the order of a response. A second response nobody asked for is dropped.

    def on_message_begin(self) -> None:
        self.reusable = False

    def on_status(self, status: bytes) -> None:
        if not self.ended:
            self._reason += status

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._in_body:
            self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        if not self.ended:
            self._status = self._parser.get_status_code()
            self._in_body = self._status >= _OK

    def on_body(self, data: bytes) -> None:
        if not self.ended:
            self.begun = True
            self._barren = 0
            self._batch.append(data)
            self._batched += len(data)

    def on_message_complete(self) -> None:
        if self._in_body and not self.ended:
            self.ended = True
            self.reusable = self._parser.should_keep_alive()
        elif not self._in_body:  # 100 Continue and the like: the response comes after it
            self._reason, self._headers = b"", {}
