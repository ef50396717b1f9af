"""The modules that scripts/python_stubs.sh makes of protos/, and where there are none, what to do."""

try:
    from lanista.protos import (
        experiment_pb2,
        export_formats_pb2,
        messages_pb2,
        options_pb2,
        service_pb2,
        service_pb2_grpc,
    )
    from lanista.protos.experiment_pb2 import ExperimentConfig
except ModuleNotFoundError as missing:
    if missing.name is None or not missing.name.startswith("lanista."):
        raise
    raise ModuleNotFoundError(
        f"{missing.name} has not been made: run scripts/python_stubs.sh in Lanista's checkout", name=missing.name
    ) from None

__all__ = [
    "ExperimentConfig",
    "experiment_pb2",
    "export_formats_pb2",
    "messages_pb2",
    "options_pb2",
    "service_pb2",
    "service_pb2_grpc",
]
