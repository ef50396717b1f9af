"""A client of a head (`lanista serve`).

    from lanista.client import Client

    client = Client("127.0.0.1:7421")
    experiment = client.submit("search.textproto")
    for event in experiment.watch():
        if event.HasField("outcome"):
            print(event.outcome.model, event.outcome.metrics.values["default"])
    print(experiment.best(3))

Documents (of `show`, `trials`, `best`) are those of the command line's --json (docs/cli.md), messages those of protos/.

Thread-safe. Needs Debian's python3-grpcio and python3-protobuf, and the modules that scripts/python_stubs.sh makes.
"""

import json
import uuid
from typing import List, Optional

from lanista.config import Config, ExperimentConfig, load_config
from lanista.connection import Connection
from lanista.errors import (
    AccessDeniedError,
    ExperimentFailedError,
    ExperimentInterruptedError,
    FailedPreconditionError,
    InvalidArgumentError,
    LanistaError,
    NotFoundError,
    UnavailableError,
)
from lanista.experiment import Experiment
from lanista.files import send_files
from lanista.stubs import service_pb2

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
            token_file: its first line that is neither empty nor a comment (#) is the token. It is read for each call,
                so that it may be replaced. Default: the file that the variable LANISTA_TOKEN_FILE names.
            ca_file: PEM, the authorities that are trusted to say who the head is. Turns TLS on.
            tls: TLS with the system's authorities.
            certificate_file, key_file: PEM, both or none: this client's own certificate, where the head wants one.
            insecure: lets a token travel unencrypted to another machine.
            away_limit: seconds for which a head that was there may be away (it restarts, the network is cut) before
                calls raise UnavailableError. `watch`, `wait`, `submit` and calls that only read wait for its return;
                `stop`, `resume` and `delete` do not.

        Raises UnavailableError where no head is there, AccessDeniedError, InvalidArgumentError, and OSError for a file.
        """
        self._connection = Connection(
            address, token_file, ca_file, tls, certificate_file, key_file, insecure, away_limit
        )
        self._stub = self._connection.stub
        try:
            self._connection.call(self._stub.List, service_pb2.ListExperimentsRequest(page_size=1))
        except BaseException as error:
            self.close()
            if not isinstance(error, UnavailableError):
                raise
            hint = "" if self._connection.encrypted else "; one that has TLS wants a ca_file here"
            raise UnavailableError(
                f"no head can be reached at {address} ({error}); `lanista serve` starts one{hint}", error.code
            ) from None

    def submit(self, config: Config, request_id: Optional[str] = None) -> Experiment:
        """Sends an experiment, and returns as soon as the head has recorded it.

        Its space is discovered later: what is wrong with it becomes the experiment's end, FAILED.

        Args:
            config: see load_config.
            request_id: a request that comes twice with the same one, and with the same experiment's name, makes one
                experiment. Default: a new one, so that a request whose answer was lost is sent again safely.

        What it names on this machine, and the head does not see under the same path, is uploaded first
        (docs/cluster.md). Data that is too large for that is data://NAME/sub.

        Raises InvalidArgumentError, which names the field, and OSError for a file.
        """
        request = service_pb2.CreateExperimentRequest(
            config=load_config(config), request_id=str(uuid.uuid4()) if request_id is None else request_id
        )
        request.shared_paths.extend(send_files(self._connection, request.config))
        # Without an id each request makes an experiment.
        reply = self._connection.call(self._stub.Create, request, again=bool(request.request_id))
        return Experiment(self._connection, reply.experiment)

    def experiments(self, *status: str) -> List[Experiment]:
        """The experiments of the head, the oldest first. `status`: only those that are "RUNNING", "DONE", ..."""
        entries = []
        request = service_pb2.ListExperimentsRequest(status=status)
        while True:
            reply = self._connection.call(self._stub.List, request, again=True)
            entries.extend(json.loads(reply.json)["experiments"])
            request.page_token = reply.next_page_token
            if not request.page_token:
                break
        entries.sort(key=lambda entry: (entry["created"] or "", entry["id"]))
        return [Experiment(self._connection, entry["id"]) for entry in entries]

    def experiment(self, id: str) -> Experiment:
        """An experiment by its id, by a beginning that no other id has, or "latest". Raises NotFoundError."""
        reply = self._connection.call(self._stub.Get, service_pb2.GetExperimentRequest(experiment=id), again=True)
        return Experiment(self._connection, json.loads(reply.json)["id"])

    def close(self) -> None:
        """Ends the connection; calls that run end with an error."""
        self._connection.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Client of {self._connection.address}>"
