"""The connection to a head: TLS, token, repeated calls, errors."""

import ipaddress
import os
import random
import re
import stat
import time
from typing import Any, Callable, List, Optional, Tuple, TypeVar

import grpc
from google.protobuf.message import Message

from lanista.errors import BY_CODE, InvalidArgumentError, LanistaError, UnavailableError
from lanista.stubs import service_pb2_grpc

_T = TypeVar("_T")

# Seconds. Of calls that wait for nobody: a head that takes longer does not answer.
_ANSWER_LIMIT = 120
# Between two tries to reach a head that has gone: doubled each time.
_FIRST_DELAY = 0.1
_LONGEST_DELAY = 2.0

_CHANNEL_OPTIONS = [
    # A proxy for web pages is none for heads.
    ("grpc.enable_http_proxy", 0),
    # A head that has gone without a word is noticed.
    ("grpc.keepalive_time_ms", 20000),
    ("grpc.keepalive_timeout_ms", 10000),
    ("grpc.http2.max_pings_without_data", 0),
    # How long connecting may take, in spite of its name.
    ("grpc.min_reconnect_backoff_ms", 5000),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.max_receive_message_length", 64 << 20),
]


class Connection:
    """Connects with the first call. The arguments are those of Client. Thread-safe."""

    def __init__(
        self,
        address: str,
        token_file: Optional[str],
        ca_file: Optional[str],
        tls: bool,
        certificate_file: Optional[str],
        key_file: Optional[str],
        insecure: bool,
        away_limit: float,
    ):
        self.address = address
        self.encrypted = tls or ca_file is not None or certificate_file is not None
        self._away_limit = away_limit
        if token_file is None:
            # Empty is how scripts unset it; the command line takes it so, too.
            token_file = os.environ.get("LANISTA_TOKEN_FILE") or None
        self._token_file = token_file
        is_loopback = _is_loopback(_host(address))
        if token_file is not None and not self.encrypted and not insecure and not is_loopback:
            raise invalid(
                f"token_file: the token would travel to {address} unencrypted; name a ca_file (or tls=True, where "
                "the system knows the authority of the head's certificate), or insecure=True if you trust the network"
            )
        if (certificate_file is None) != (key_file is None):
            raise invalid("certificate_file and key_file: name both, or none")
        self.metadata()  # A token file that is wrong is told here, and not by the first call.
        if self.encrypted:
            files = [None if file is None else _read(file) for file in (ca_file, key_file, certificate_file)]
            self._channel = grpc.secure_channel(address, grpc.ssl_channel_credentials(*files), _CHANNEL_OPTIONS)
        else:
            self._channel = grpc.insecure_channel(address, _CHANNEL_OPTIONS)
        self.stub = service_pb2_grpc.ExperimentServiceStub(self._channel)

    def close(self) -> None:
        """Ends the connection; calls that are under way fail."""
        self._channel.close()

    def call(self, method: Callable, request: Message, *, limit: Optional[float] = _ANSWER_LIMIT, again: bool = False) -> Any:
        """Calls a method of the stub that has one answer. `again`: also more than once, while the head is away."""
        return self._answer(lambda **options: method(request, **options), limit, again)

    def read_stream(self, method: Callable, request: Message) -> List:
        """All answers of a method of the stub that changes nothing."""
        return self._answer(lambda **options: list(method(request, **options)), _ANSWER_LIMIT, again=True)

    def metadata(self) -> List[Tuple[str, str]]:
        """What goes with each call."""
        if self._token_file is None:
            return []
        return [("authorization", f"Bearer {_read_token(self._token_file)}")]

    def absence(self) -> "Absence":
        """A new count of how long the head may be away."""
        return Absence(self._away_limit)

    def persist(self, attempt: Callable[[], _T], own_deadline: bool = False) -> _T:
        """Calls `attempt` again where it raises that the head has gone, until it has been away for too long.

        `own_deadline`: also where a deadline has passed. One that the head names would come again.
        """
        absence = self.absence()
        while True:
            try:
                return attempt()
            except UnavailableError as error:
                if error.code == "DEADLINE_EXCEEDED" and not own_deadline:
                    raise
                absence.wait(error)

    def _answer(self, call: Callable, limit: Optional[float], again: bool) -> Any:
        def attempt() -> Any:
            try:
                return call(timeout=limit, metadata=self.metadata())
            except grpc.RpcError as error:
                raise reported_error(error) from None

        return self.persist(attempt, own_deadline=True) if again else attempt()


class Absence:
    """How long a head has been away, up to `limit` seconds."""

    def __init__(self, limit: float):
        self._limit = limit
        self.end()

    def end(self) -> None:
        """The head was there."""
        self._since: Optional[float] = None
        self._delay = _FIRST_DELAY

    def wait(self, error: UnavailableError, end: Optional[float] = None) -> None:
        """Waits before the next try, and not beyond `end` of time.monotonic().

        Raises `error` where the head has been away for too long.
        """
        now = time.monotonic()
        if self._since is None:
            self._since = now
        if now - self._since >= self._limit:
            raise error
        # Many clients do not come back in the same moment.
        delay = self._delay * random.uniform(0.5, 1)
        time.sleep(delay if end is None else max(0, min(delay, end - now)))
        self._delay = min(2 * self._delay, _LONGEST_DELAY)


def reported_error(error: grpc.RpcError) -> LanistaError:
    """What the head, or gRPC, says."""
    code = error.code().name
    return BY_CODE.get(code, LanistaError)(error.details() or code, code)


def invalid(message: str) -> InvalidArgumentError:
    """As if the head had found it."""
    return InvalidArgumentError(message, "INVALID_ARGUMENT")


def _host(address: str) -> str:
    """The host of HOST:PORT, without brackets."""
    host, colon, port = address.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if not colon or not host or not port.isdecimal() or (not bracketed and (":" in host or "/" in host)):
        raise invalid(f"'{address}' is no address; write HOST:PORT, for example 127.0.0.1:7421 or [::1]:7421")
    return host[1:-1] if bracketed else host


def _is_loopback(host: str) -> bool:
    """Whether only programs of this machine listen there."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _read_token(path: str) -> str:
    """The first token of a file, by the rules of `serve` (src/rpc/token_file.h)."""
    if os.stat(os.path.expanduser(path)).st_mode & stat.S_IRWXO:
        raise invalid(
            f"token_file: {path} holds a secret, and every user of this machine may open it: `chmod o= {path}`"
        )
    lines = [line.strip() for line in _read(path).decode("ascii", "replace").splitlines()]
    token = next((line for line in lines if line and not line.startswith("#")), "")
    if not re.fullmatch("[!-~]{16,1000}", token):
        raise invalid(f"token_file: {path} does not begin with a token: 16 to 1000 ASCII characters without spaces")
    return token


def _read(path: str) -> bytes:
    with open(os.path.expanduser(path), "rb") as file:
        return file.read()
