"""An experiment of a head. Documents are those of the command line's --json: docs/cli.md."""

import datetime
import json
import time
from typing import Any, Dict, Iterator, List, Optional

import grpc

from lanista.connection import Connection, invalid, reported_error
from lanista.errors import ExperimentFailedError, UnavailableError
from lanista.exports import receive_export
from lanista.stubs import experiment_pb2, messages_pb2, service_pb2

# An object of JSON.
Document = Dict[str, Any]

# A watch that lasted longer than connecting may take was connected, even where nothing happened. Seconds.
_CONNECTED_AFTER = 10
_LOG_BYTES = 1 << 20


class Experiment:
    """An experiment of a head; made by Client."""

    def __init__(self, connection: Connection, id: str):
        #: The whole id.
        self.id = id
        self._connection = connection
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
    def config(self) -> experiment_pb2.ExperimentConfig:
        """Its configuration, completed by the head; in force now."""
        return self._get().config

    def watch(self, after: int = 0, timeout: Optional[float] = None) -> Iterator[messages_pb2.ExperimentEvent]:
        """What happened and what happens, in its order, until the experiment ends.

        Events are changes of state, the space, attempts that start, report and end, and each model's outcome. When the
        head restarts or the network is cut, the watch waits for it (see Client: away_limit), and then misses and
        repeats nothing. Leaving the loop ends the watch, not the experiment.

        Args:
            after: `number` of the last event that is known; 0: from the beginning.
            timeout: seconds, for the whole watch.

        Raises UnavailableError where the head stays away, ExperimentInterruptedError where nobody runs the experiment
        any more, and TimeoutError.
        """
        absence = self._connection.absence()
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            begin = time.monotonic()
            left = None if end is None else end - begin
            if left is not None and left <= 0:
                raise self._timed_out(timeout)
            request = service_pb2.WatchRequest(experiment=self.id, after=after)
            stream = self._connection.stub.Watch(request, timeout=left, metadata=self._connection.metadata())
            try:
                for reply in stream:
                    absence.end()
                    for event in reply.events:
                        after = max(after, event.number)
                        self._watched = max(self._watched, event.number)
                        yield event
                return
            except grpc.RpcError as error:
                reported = reported_error(error)
            finally:
                stream.cancel()
            if not isinstance(reported, UnavailableError):
                raise reported
            # The time that the watch may take is that of its call, which tells so first.
            if end is not None and (reported.code == "DEADLINE_EXCEEDED" or time.monotonic() >= end):
                raise self._timed_out(timeout)
            if time.monotonic() - begin > _CONNECTED_AFTER:
                absence.end()
            absence.wait(reported, end)

    def wait(self, timeout: Optional[float] = None) -> Document:
        """Waits for its end, as `watch` does, and returns what `show` returns: the status is DONE or STOPPED.

        Raises ExperimentFailedError where it has failed, no model succeeded or none is within the limits, and what
        `watch` raises.
        """
        for _ in self.watch(self._watched, timeout):
            pass
        document = self.show()
        if document["status"] == "FAILED":
            raise ExperimentFailedError(f"{self.id} failed: {document['reason']}", document)
        # As the command line's exit code has it: that models were stopped early is a result.
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
        first, *more = self._connection.read_stream(self._connection.stub.ListTrials, request)
        models = json.loads(first.json)["models"]
        for page in more:
            models.extend(json.loads(page.json))
        return models

    def best(self, k: int = 1) -> List[Document]:
        """At most `k` models that succeeded and keep all limits, the best first, as `trials` has them.

        With several objectives those that no other model beats come first, then those that only these beat, and so on.
        """
        if k < 1:
            raise invalid(f"k: must be at least 1, got {k}")
        return [model for model in self.trials(sort="best", limit=k) if model["front"] is not None]

    def log(self, model: int, attempt: int = 0) -> str:
        """What one of a model's trials printed. `attempt`: from 1; 0: the last one."""
        request = service_pb2.GetTrialRequest(
            experiment=self.id, model=model, attempt=attempt, log_limit=_LOG_BYTES
        )
        log = b""
        while True:
            reply = self._connection.call(self._connection.stub.GetTrial, request, again=True)
            log += reply.log
            if not reply.log or len(log) >= reply.log_size:
                return log.decode(errors="replace")
            request.log_offset = len(log)
            # Another attempt may begin meanwhile.
            request.attempt = request.attempt or json.loads(reply.json)["attempts"][-1]["attempt"]

    def export(
        self, out: str = ".", top: int = 1, format: str = "json", untrained: bool = False, overwrite: bool = False
    ) -> List[str]:
        """Writes the best models as files, as `lanista export` does, and returns their paths, the best model's first.

        They are named after rank and model: "1-model-17.py". Each appears when it is complete, and its content is what
        the head says. What the files cannot express is a warning (module warnings).

        Args:
            out: the folder for them; it is made if there is none.
            top: how many models; there are fewer where fewer have succeeded.
            format: "json", "weights", "cpp", "python", "torchscript" or "onnx".
            untrained: also models whose trained weights were not kept, with their initial ones.
            overwrite: replaces files of these names, whatever they are.

        Raises FailedPreconditionError where there is nothing to export, and why; FileExistsError, before anything is
        written; and OSError.
        """
        request = service_pb2.DownloadRequest(experiment=self.id, top=top, format=format, untrained=untrained)
        return receive_export(self._connection, request, out, overwrite)

    def stop(self, reason: str = "") -> None:
        """Asks it to stop: its running trials are canceled. `wait` tells when it has. `reason`: for people.

        Raises FailedPreconditionError where this head does not run it.
        """
        request = service_pb2.StopExperimentRequest(experiment=self.id, reason=reason)
        self._connection.call(self._connection.stub.Stop, request)

    def resume(self, **limits: Any) -> None:
        """Goes on where it was stopped, was interrupted, has failed, or has come to a limit that is higher now.

        Returns when it runs: `experiment.resume(max_trial_number=200)`.

        Args:
            limits: fields of the configuration: max_trial_number, max_duration (a timedelta or "90s"),
                trial_concurrency, trial_timeout, training_service, priority, requirements. Others would change what its
                models are.

        Raises FailedPreconditionError where somebody runs it, or where it cannot go on (a file has changed, say).
        """
        settings = [f"{field}={_setting(value)}" for field, value in limits.items()]
        request = service_pb2.ResumeExperimentRequest(experiment=self.id, set=settings)
        self._connection.call(self._connection.stub.Resume, request, limit=None)

    def delete(self) -> None:
        """Deletes it with all its files. Raises FailedPreconditionError where it runs."""
        self._connection.call(self._connection.stub.Delete, service_pb2.DeleteExperimentRequest(experiment=self.id))

    def __repr__(self) -> str:
        return f"<Experiment {self.id}>"

    def _timed_out(self, timeout: Optional[float]) -> TimeoutError:
        return TimeoutError(f"{self.id} did not end within {timeout} seconds")

    def _get(self) -> service_pb2.GetExperimentReply:
        request = service_pb2.GetExperimentRequest(experiment=self.id)
        return self._connection.call(self._connection.stub.Get, request, again=True)


def _setting(value: Any) -> str:
    """A value as `--set` takes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime.timedelta):
        return f"{value.total_seconds():.6f}s"
    return str(value)
