"""What a client raises."""


class LanistaError(Exception):
    """An error that a head reported, in its words.

    `code` is gRPC's name for it: "INVALID_ARGUMENT", "RESOURCE_EXHAUSTED", ...
    """

    def __init__(self, message: str, code: str):
        super().__init__(message)
        self.code = code


class InvalidArgumentError(LanistaError, ValueError):
    """A configuration or an argument is wrong; the message names the field."""


class NotFoundError(LanistaError, LookupError):
    """There is no such experiment, model or attempt."""


class FailedPreconditionError(LanistaError):
    """The experiment's state forbids it: one that runs cannot be deleted, one that has ended cannot be stopped."""


class AccessDeniedError(LanistaError):
    """The head does not allow it: it wants a token, or another one, or the configuration asks for too much."""


class UnavailableError(LanistaError):
    """No head can be reached, or it does not answer."""


class ExperimentInterruptedError(LanistaError):
    """The process that ran the experiment ended before the experiment did; `Experiment.resume` goes on with it."""


class ExperimentFailedError(LanistaError):
    """An experiment has no result. `code` is its status ("FAILED", or "DONE" where no model is within the limits), and
    `document` what `Experiment.show` returned."""

    def __init__(self, message: str, document: dict):
        super().__init__(message, document["status"])
        self.document = document


# gRPC's codes that have a class of their own. A head that ends cancels the calls that are left.
BY_CODE = {
    "INVALID_ARGUMENT": InvalidArgumentError,
    "NOT_FOUND": NotFoundError,
    "FAILED_PRECONDITION": FailedPreconditionError,
    "UNAUTHENTICATED": AccessDeniedError,
    "PERMISSION_DENIED": AccessDeniedError,
    "UNAVAILABLE": UnavailableError,
    "DEADLINE_EXCEEDED": UnavailableError,
    "CANCELLED": UnavailableError,
    "ABORTED": ExperimentInterruptedError,
}
