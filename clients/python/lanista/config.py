"""Configurations of experiments, from files and dicts to messages."""

import datetime
import json
import os
from typing import Any, Callable, Dict, Mapping, Union

from google.protobuf import descriptor, json_format, text_format
from google.protobuf.message import Message

from lanista.connection import invalid
from lanista.stubs import ExperimentConfig as ExperimentConfig, options_pb2

Config = Union[ExperimentConfig, Mapping[str, Any], str, "os.PathLike[str]"]


def load_config(config: Config) -> ExperimentConfig:
    """The configuration with absolute paths, ready for a head.

    `config`: a file of protobuf text (or of JSON, where its name ends in .json), a dict with the same names, or a
    message. A dict may also hold pathlib's paths, and timedeltas where a duration is wanted. Relative paths start at
    the file's folder, those of dicts and messages at the working directory; `~` is the home folder. What is missing or
    out of range is found by the head.

    Raises InvalidArgumentError, which names the field or the place in the file, and OSError for a file.
    """
    message = ExperimentConfig()
    folder = os.getcwd()
    if isinstance(config, ExperimentConfig):
        message.CopyFrom(config)
    elif isinstance(config, Mapping):
        _parse_document(config, message, "")
    elif isinstance(config, (str, os.PathLike)):
        path = os.path.abspath(os.path.expanduser(config))
        folder = os.path.dirname(path)
        _parse_file(path, message)
    else:
        raise TypeError(f"a configuration is a path, a dict or an ExperimentConfig, not {config!r}")
    map_paths(message, lambda _, path: _resolved(path, folder))
    return message


def _parse_file(path: str, message: ExperimentConfig) -> None:
    with open(path, encoding="utf-8") as file:
        try:
            text = file.read()
        except UnicodeDecodeError as error:
            raise invalid(f"{path}: is no text in UTF-8: {error.reason} at byte {error.start}") from None
    if path.endswith(".json"):
        try:
            document = json.loads(text)
        except json.JSONDecodeError as error:
            raise invalid(f"{path}:{error.lineno}:{error.colno}: {error.msg}") from None
        if not isinstance(document, dict):
            raise invalid(f"{path}: must be an object {{ ... }}")
        _parse_document(document, message, f"{path}: ")
        return
    try:
        text_format.Parse(text, message)
    except text_format.ParseError as error:
        # It begins with line and column.
        raise invalid(f"{path}:{error}") from None


def _parse_document(document: Mapping[str, Any], message: ExperimentConfig, place: str) -> None:
    try:
        json_format.ParseDict(_plain(document, message.DESCRIPTOR), message)
    except json_format.ParseError as error:
        raise invalid(f"{place}{error}") from None


def _plain(document: Mapping[str, Any], message: descriptor.Descriptor) -> Dict[str, Any]:
    """The document as protobuf wants it: durations and paths as strings. What is wrong is left to protobuf."""
    plain = {}
    for name, value in document.items():
        field = message.fields_by_name.get(name) or message.fields_by_camelcase_name.get(name)
        if field is None:
            plain[name] = value
        elif isinstance(value, (list, tuple)):
            plain[name] = [_plain_value(element, field) for element in value]
        else:
            plain[name] = _plain_value(value, field)
    return plain


def _plain_value(value: Any, field: descriptor.FieldDescriptor) -> Any:
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if field.message_type is None:
        return value
    if field.message_type.full_name != "google.protobuf.Duration":
        return _plain(value, field.message_type) if isinstance(value, Mapping) else value
    if isinstance(value, datetime.timedelta):
        return f"{value.total_seconds():.6f}s"
    # As in protobuf text.
    if isinstance(value, Mapping) and value.keys() <= {"seconds", "nanos"}:
        seconds, nanos = value.get("seconds", 0), value.get("nanos", 0)
        return f"{seconds}.{nanos:09d}s" if isinstance(nanos, int) else value
    return value


def map_paths(message: Message, change: Callable[[str, str], str], place: str = "") -> None:
    """Puts `change(field, path)` in the place of each path in the message, whose fields begin with `place`.

    Which fields hold paths is said by their options (protos/options.proto).
    """
    for field, value in message.ListFields():
        at = place + field.name
        repeated = field.label == field.LABEL_REPEATED
        if field.GetOptions().Extensions[options_pb2.rules].path:
            if repeated:
                value[:] = [change(f"{at}[{index}]", path) for index, path in enumerate(value)]
            elif value:
                setattr(message, field.name, change(at, value))
        elif field.message_type is not None and not _is_map(field):
            for index, part in enumerate(value if repeated else [value]):
                map_paths(part, change, f"{at}[{index}]." if repeated else f"{at}.")


def is_data(path: str) -> bool:
    """Whether the path stands for data of which each machine that has it knows where it is."""
    return path.startswith("data://")


def _resolved(path: str, folder: str) -> str:
    if is_data(path):
        return path
    return os.path.normpath(os.path.join(folder, os.path.expanduser(path)))


def _is_map(field: descriptor.FieldDescriptor) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry
