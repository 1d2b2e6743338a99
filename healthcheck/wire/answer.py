"""The answer to one request, without I/O: bytes of a response in, a reply out, however the bytes are split."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from healthcheck.text.messages import msg
from healthcheck.wire.chat import Completion, Reader
from healthcheck.wire.inflate import Inflater
from healthcheck.wire.response import Response, TooLargeError

MAX_STREAM_BYTES = 64 * 2**20
MAX_BODY_BYTES = 2**20
"""How much of a body that is not a stream is kept."""
_BATCH_BYTES = 2**16
_DONE = b"[DONE]"
_OK = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A server's reply.

    Attributes:
        headers: names in lower case; the last value of a repeated header.
        body: its first megabyte, b"" for a stream.
        completion: the folded stream; None without a reader or if the status is not 200.
    """

    status: int
    reason: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    completion: Completion | None = None


class Answer(Response):
    """The answer to one request so far.

    Attributes:
        done: `[DONE]` arrived, after which the evaluation client stops reading, or as much of a short body as is
            kept. The response may continue.
    """

    def __init__(self, reader: Reader | None = None) -> None:
        """`reader` folds the body of a response of status 200; without one the body is kept unchanged."""
        super().__init__()
        self.done = False
        self._reader = reader
        self._inflater: Inflater | None = None
        self._taken_bytes = 0
        self._tail = b""
        self._body = bytearray()

    @property
    def received_bytes(self) -> int:
        """The size of the body so far, as sent."""
        return self._taken_bytes + self.untaken_bytes

    def feed(self, data: bytes) -> None:
        """Process the next bytes of the connection. Bytes after a complete response are ignored.

        Raises:
            ConnectionError: the bytes are not an HTTP response, or not compressed as the header says.
            TooLargeError: 64 KiB without a byte of the body, or a stream of more than 64 MiB.
        """
        try:
            super().feed(data)
        except (ConnectionError, TooLargeError):
            self.reusable = False
            if not (self.ended or self.settle()):
                raise
            self.ended = True
        said_done, self._tail = _DONE in self._tail + data, data[1 - len(_DONE) :]
        if (
            self.ended
            or said_done
            or self.untaken_bytes >= _BATCH_BYTES
            or "content-encoding" in self.headers
        ):
            self.settle()

    def settle(self) -> bool:
        """Fold the bytes so far; returns whether the text is complete.

        Raises:
            ConnectionError: the body is not compressed as the header says.
            TooLargeError: the stream has more than 64 MiB.
        """
        self._inflater = self._inflater or Inflater(self.headers.get("content-encoding", ""))
        for piece in self._inflater.feed(self.take()):
            self._fold(piece)
        return self.done

    def close(self) -> None:
        """Process the end of the connection.

        Raises:
            ConnectionError: the answer had not begun or is incomplete.
            TooLargeError: the stream has more than 64 MiB.
        """
        self.ended = self.ended or (self.begun and self.settle())
        super().close()

    def reply(self) -> Reply:
        return Reply(
            status=self.status,
            reason=self.reason,
            headers=self.headers,
            body=bytes(self._body),
            completion=self._reader.close() if self._reader and self.status == _OK else None,
        )

    def _fold(self, piece: bytes) -> None:
        if self._reader is None or self.status != _OK:
            self._body += piece[: MAX_BODY_BYTES - len(self._body)]
            self.done = len(self._body) == MAX_BODY_BYTES
            return
        self._taken_bytes += len(piece)
        if self._taken_bytes > MAX_STREAM_BYTES:
            raise TooLargeError(
                msg(
                    "more than {max_stream_bytes} bytes in one answer",
                    max_stream_bytes=MAX_STREAM_BYTES,
                )
            )
        self._reader.feed(piece)
        self.done = self._reader.done
