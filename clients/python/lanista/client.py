"""A client of a head (`lanista serve`).

    from lanista.client import Client

    client = Client("127.0.0.1:7421")
    experiment = client.submit("search.textproto")
    for event in experiment.watch():
        if event.HasField("outcome"):
            print(event.outcome.model, event.outcome.metrics.values["default"])
    print(experiment.best(3))

Documents (of `show`, `trials`, `best`) are those of the command line's --json: docs/cli.md. Messages are those of protos/:
lanista.protos.experiment_pb2.ExperimentConfig, lanista.protos.messages_pb2.ExperimentEvent.

Thread-safe. Needs Debian's python3-grpcio and python3-protobuf, and the modules that scripts/python_stubs.sh makes.
"""

import datetime
import ipaddress
import json
import os
import random
import time
import uuid
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import grpc

try:
    from lanista.protos import messages_pb2, service_pb2, service_pb2_grpc
except ModuleNotFoundError as missing:
    if missing.name is None or not missing.name.startswith("lanista.protos"):
        raise
    raise ModuleNotFoundError(
        "lanista.protos has not been made: run scripts/python_stubs.sh in Lanista's checkout", name=missing.name
    ) from None

from lanista.config import Config, ExperimentConfig, load_config
from lanista.errors import (
    BY_CODE,
    AccessDeniedError,
    ExperimentFailedError,
    ExperimentInterruptedError,
    FailedPreconditionError,
    InvalidArgumentError,
    LanistaError,
    NotFoundError,
    UnavailableError,
)

__all__ = [
    "AccessDeniedError",
    "Client",
    "Config",
    "Experiment",
    "ExperimentConfig",
    "ExperimentFailedError",
    "ExperimentInterruptedError",
    "FailedPreconditionError",
    "InvalidArgumentError",
    "LanistaError",
    "NotFoundError",
    "UnavailableError",
    "load_config",
]

# An object of JSON, as docs/cli.md describes it.
Document = Dict[str, Any]

# Seconds. Of calls that wait for nobody: a head that takes longer does not answer.
_ANSWER_LIMIT = 120
# A watch that lasted longer than connecting may take was connected, even where nothing happened.
_CONNECTED_AFTER = 10
# Between two tries to reach a head that has gone: doubled each time.
_FIRST_DELAY = 0.1
_LONGEST_DELAY = 2.0
_LOG_BYTES = 1 << 20

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


class Client:
    """A connection to a head. Close it, or use it in a `with` statement, where programs go on for long after it."""

    def __init__(
        self,
        address: str,
        token_file: Optional[str] = None,
        ca_file: Optional[str] = None,
        *,
        tls: bool = False,
        certificate_file: Optional[str] = None,
        key_file: Optional[str] = None,
        insecure: bool = False,
        away_limit: float = 60,
    ):
        """Connects, and makes sure that the head is there and lets this client in.

        Args:
            address: HOST:PORT, as `serve` prints it: "127.0.0.1:7421", "[::1]:7421".
            token_file: the first line that is neither empty nor a comment (#) is the token. It is read for each call, so
                that it may be replaced.
            ca_file: PEM, the authorities that are trusted to say who the head is. Turns TLS on.
            tls: TLS with the system's authorities.
            certificate_file, key_file: PEM, both or none: this client's own certificate, where the head wants one.
            insecure: lets a token travel unencrypted to another machine.
            away_limit: seconds for which a head that was there may be away (it restarts, the network is cut) before calls
                raise UnavailableError. Only `watch`, `wait`, `submit` and calls that change nothing wait for its return.

        Raises UnavailableError where no head is there, AccessDeniedError, InvalidArgumentError, and OSError for a file.
        """
        self._address = address
        self._away_limit = away_limit
        self._token_file = token_file
        host = _host(address)
        encrypted = tls or ca_file is not None or certificate_file is not None
        if token_file is not None and not encrypted and not insecure and not _is_loopback(host):
            raise _invalid(
                f"token_file: the token would travel to {address} unencrypted; name a ca_file (or tls=True, where the "
                "system knows the authority of the head's certificate), or insecure=True where you trust the whole network"
            )
        if (certificate_file is None) != (key_file is None):
            raise _invalid("certificate_file and key_file: name both, or none")
        self._metadata()  # A file that is wrong is told here, and not by the first call.
        if encrypted:
            files = [None if file is None else _read(file) for file in (ca_file, key_file, certificate_file)]
            credentials = grpc.ssl_channel_credentials(*files)
            self._channel = grpc.secure_channel(address, credentials, _CHANNEL_OPTIONS)
        else:
            self._channel = grpc.insecure_channel(address, _CHANNEL_OPTIONS)
        self._stub = service_pb2_grpc.ExperimentServiceStub(self._channel)
        try:
            self._call(self._stub.List, service_pb2.ListExperimentsRequest(page_size=1))
        except UnavailableError as error:
            self.close()
            raise UnavailableError(
                f"no head can be reached at {address} ({error}); `lanista serve` starts one", error.code
            ) from None
        except BaseException:
            self.close()
            raise

    def submit(self, config: Config, request_id: Optional[str] = None) -> "Experiment":
        """Sends an experiment and returns as soon as the head has recorded it. What turns out to be wrong with its space
        later is its end: FAILED.

        Args:
            config: see load_config.
            request_id: a request that comes twice with the same one, and with the same experiment's name, makes one
                experiment. Default: a new one, so that a request whose answer was lost is sent again safely.

        Raises InvalidArgumentError, which names the field.
        """
        request = service_pb2.CreateExperimentRequest(
            config=load_config(config), request_id=str(uuid.uuid4()) if request_id is None else request_id
        )
        # Without an id each request makes an experiment.
        reply = self._call(self._stub.Create, request, again=bool(request.request_id))
        return Experiment(self, reply.experiment)

    def experiments(self, *status: str) -> List["Experiment"]:
        """The experiments of the head, the oldest first. `status`: only those of one of these: "RUNNING", "DONE", ..."""
        entries = []
        request = service_pb2.ListExperimentsRequest(status=status)
        while True:
            reply = self._call(self._stub.List, request, again=True)
            entries.extend(json.loads(reply.json)["experiments"])
            request.page_token = reply.next_page_token
            if not request.page_token:
                break
        entries.sort(key=lambda entry: (entry["created"] or "", entry["id"]))
        return [Experiment(self, entry["id"]) for entry in entries]

    def experiment(self, id: str) -> "Experiment":
        """An experiment by its id, by a beginning that no other id has, or "latest". Raises NotFoundError."""
        reply = self._call(self._stub.Get, service_pb2.GetExperimentRequest(experiment=id), again=True)
        return Experiment(self, json.loads(reply.json)["id"])

    def close(self) -> None:
        """Ends the connection; calls that run end with an error."""
        self._channel.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Client of {self._address}>"

    def _metadata(self) -> List[Tuple[str, str]]:
        """What goes with each call."""
        if self._token_file is None:
            return []
        lines = [line.strip() for line in _read(self._token_file).decode("ascii", "replace").splitlines()]
        token = next((line for line in lines if line and not line.startswith("#")), "")
        if not token or not token.isascii() or not token.isprintable():
            raise _invalid(f"token_file: {self._token_file} has no token in printable ASCII characters")
        return [("authorization", f"Bearer {token}")]

    def _call(self, method: Callable, request, *, limit: Optional[float] = _ANSWER_LIMIT, again: bool = False):
        """Calls a method of the stub that has one answer. `again`: also more than once, while the head is away."""
        return self._answer(lambda **options: method(request, **options), limit, again)

    def _read_stream(self, method: Callable, request) -> List:
        """All answers of a method of the stub that changes nothing."""
        return self._answer(lambda **options: list(method(request, **options)), _ANSWER_LIMIT, again=True)

    def _answer(self, call: Callable, limit: Optional[float], again: bool):
        absence = _Absence(self._away_limit)
        while True:
            try:
                return call(timeout=limit, metadata=self._metadata())
            except grpc.RpcError as error:
                reported = _reported(error)
            if not again or not isinstance(reported, UnavailableError):
                raise reported
            absence.wait(reported)


class Experiment:
    """An experiment of a head; made by Client."""

    def __init__(self, client: Client, id: str):
        #: The whole id.
        self.id = id
        self._client = client
        # The number of the last event that `watch` has given: `wait` goes on from it.
        self._watched = 0

    def show(self) -> Document:
        """Where it stands: status, counts of models, the best ones, failures; the document of `show --json`."""
        return json.loads(self._get().json)

    @property
    def status(self) -> str:
        """CREATED, RUNNING, STOPPING, DONE, STOPPED, FAILED or INTERRUPTED, now."""
        return self.show()["status"]

    @property
    def config(self) -> ExperimentConfig:
        """Its configuration, completed by the head; in force now."""
        return self._get().config

    def watch(self, after: int = 0, timeout: Optional[float] = None) -> Iterator[messages_pb2.ExperimentEvent]:
        """What happened and what happens, in its order, until the experiment ends: changes of state, the space, attempts
        that start, report and end, and each model's outcome.

        It goes on over a head that restarts or a network that is cut, for `away_limit` seconds each time, and then
        misses and repeats nothing. Leaving the loop ends the watch, not the experiment.

        Args:
            after: `number` of the last event that is known; 0: from the beginning.
            timeout: seconds, for the whole watch.

        Raises UnavailableError where the head stays away, ExperimentInterruptedError where nobody runs the experiment
        any more, and TimeoutError.
        """
        absence = _Absence(self._client._away_limit)
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            begin = time.monotonic()
            left = None if end is None else end - begin
            if left is not None and left <= 0:
                raise TimeoutError(f"{self.id} did not end within {timeout} seconds")
            request = service_pb2.WatchRequest(experiment=self.id, after=after)
            stream = self._client._stub.Watch(request, timeout=left, metadata=self._client._metadata())
            try:
                for reply in stream:
                    absence.end()
                    for event in reply.events:
                        after = max(after, event.number)
                        self._watched = max(self._watched, after)
                        yield event
                return
            except grpc.RpcError as error:
                reported = _reported(error)
            finally:
                stream.cancel()
            if not isinstance(reported, UnavailableError):
                raise reported
            if time.monotonic() - begin > _CONNECTED_AFTER:
                absence.end()
            absence.wait(reported)

    def wait(self, timeout: Optional[float] = None) -> Document:
        """Waits for its end, as `watch` does, and returns what `show` returns: the status is DONE or STOPPED.

        Raises ExperimentFailedError where it has failed, no model succeeded or none is within the limits, and what `watch`
        raises.
        """
        for _ in self.watch(self._watched, timeout):
            pass
        document = self.show()
        if document["status"] == "FAILED":
            raise ExperimentFailedError(f"{self.id} failed: {document['reason']}", document)
        # As the command line's exit code has it: where models were stopped early, that they were is a result.
        if document["status"] == "DONE" and not document["best"]:
            if document["nearest"] is not None:
                raise ExperimentFailedError(f"{self.id}: no model is within the limits", document)
            if document["models"]["stopped_early"] == 0:
                raise ExperimentFailedError(f"{self.id}: no model succeeded", document)
        return document

    def trials(self, sort: str = "model", status: str = "", limit: int = 0) -> List[Document]:
        """Its models, with their samples, metrics and attempts: `models` of `trials --json`.

        Args:
            sort: "model" (by number), "best" or "duration" (the longest first).
            status: only models of this one: "SUCCEEDED", "FAILED", ...
            limit: at most so many; 0: all.
        """
        request = service_pb2.ListTrialsRequest(experiment=self.id, sort=sort, status=status, limit=limit)
        first, *more = self._client._read_stream(self._client._stub.ListTrials, request)
        models = json.loads(first.json)["models"]
        for page in more:
            models.extend(json.loads(page.json))
        return models

    def best(self, k: int = 1) -> List[Document]:
        """At most `k` models that succeeded and keep all limits, the best first (with several objectives those that no
        other model beats, then the next ones), as `trials` has them; also while it runs."""
        if k < 1:
            raise _invalid(f"k: must be at least 1, got {k}")
        return [model for model in self.trials(sort="best", limit=k) if model["front"] is not None]

    def log(self, model: int, attempt: int = 0) -> str:
        """What one of a model's trials printed. `attempt`: from 1; 0: the last one."""
        request = service_pb2.GetTrialRequest(
            experiment=self.id, model=model, attempt=attempt, log_limit=_LOG_BYTES
        )
        log = b""
        while True:
            reply = self._client._call(self._client._stub.GetTrial, request, again=True)
            log += reply.log
            if not reply.log or len(log) >= reply.log_size:
                return log.decode(errors="replace")
            request.log_offset = len(log)
            # Another attempt may begin meanwhile.
            request.attempt = request.attempt or json.loads(reply.json)["attempts"][-1]["attempt"]

    def stop(self, reason: str = "") -> None:
        """Asks it to stop: its running trials are canceled. `wait` tells when it has. `reason`: for people.

        Raises FailedPreconditionError where this head does not run it.
        """
        self._client._call(self._client._stub.Stop, service_pb2.StopExperimentRequest(experiment=self.id, reason=reason))

    def resume(self, **limits: Any) -> None:
        """Goes on with it where it was stopped, interrupted, has failed, or has come to a limit that is higher now:
        `resume(max_trial_number=200)`. Returns when it runs.

        Args:
            limits: fields of the configuration: max_trial_number, max_duration (a timedelta or "90s"),
                trial_concurrency, trial_timeout, training_service. Others would change what its models are.

        Raises FailedPreconditionError where somebody runs it, or where it cannot go on (a file has changed, say).
        """
        settings = [f"{field}={_setting(value)}" for field, value in limits.items()]
        ended = self.show()["ended"]
        self._client._call(
            self._client._stub.Resume,
            service_pb2.ResumeExperimentRequest(experiment=self.id, set=settings),
            limit=None,
        )
        # The head answers a moment before it has recorded the new beginning: until then a watch would see the old end.
        give_up = time.monotonic() + _ANSWER_LIMIT
        while ended is not None and self.show()["ended"] == ended and time.monotonic() < give_up:
            time.sleep(_FIRST_DELAY)

    def delete(self) -> None:
        """Deletes it with all its files. Raises FailedPreconditionError where it runs."""
        self._client._call(self._client._stub.Delete, service_pb2.DeleteExperimentRequest(experiment=self.id))

    def __repr__(self) -> str:
        return f"<Experiment {self.id}>"

    def _get(self) -> service_pb2.GetExperimentReply:
        request = service_pb2.GetExperimentRequest(experiment=self.id)
        return self._client._call(self._client._stub.Get, request, again=True)


class _Absence:
    """How long a head has been away."""

    def __init__(self, limit: float):
        self._limit = limit
        self.end()

    def end(self) -> None:
        """It was there."""
        self._since: Optional[float] = None
        self._delay = _FIRST_DELAY

    def wait(self, error: UnavailableError) -> None:
        """Waits before the next try; raises `error` where the head has been away for too long."""
        now = time.monotonic()
        if self._since is None:
            self._since = now
        if now - self._since >= self._limit:
            raise error
        # Many clients do not come back in the same moment.
        time.sleep(self._delay * random.uniform(0.5, 1))
        self._delay = min(2 * self._delay, _LONGEST_DELAY)


def _reported(error: grpc.RpcError) -> LanistaError:
    code = error.code().name
    return BY_CODE.get(code, LanistaError)(error.details() or code, code)


def _invalid(message: str) -> InvalidArgumentError:
    return InvalidArgumentError(message, "INVALID_ARGUMENT")


def _host(address: str) -> str:
    """The host of HOST:PORT, without brackets."""
    host, colon, port = address.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if not colon or not host or not port.isdecimal() or (not bracketed and (":" in host or "/" in host)):
        raise _invalid(f"'{address}' is no address; write HOST:PORT, for example 127.0.0.1:7421 or [::1]:7421")
    return host[1:-1] if bracketed else host


def _is_loopback(host: str) -> bool:
    """Whether only programs of this machine listen there."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _read(path: str) -> bytes:
    with open(os.path.expanduser(path), "rb") as file:
        return file.read()


def _setting(value: Any) -> str:
    """A value as `--set` takes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime.timedelta):
        return f"{value.total_seconds():.6f}s"
    return str(value)
