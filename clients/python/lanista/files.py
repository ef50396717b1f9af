"""The files that a configuration names, for a head: `submit` of the command line does the same."""

import hashlib
import os
import queue
import stat
from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, TypeVar

import grpc

from lanista.config import ExperimentConfig, is_data, map_paths
from lanista.connection import Connection, invalid, reported_error
from lanista.errors import LanistaError
from lanista.stubs import service_pb2

# Bytes of a message, and files of a list.
_PIECE = 256 << 10
_FILES_OF_MESSAGE = 10000


class _File(NamedTuple):
    path: str
    # Where it is at the head, below the folder of the upload.
    place: bytes
    size: int
    sha256: bytes


def send_files(connection: Connection, config: ExperimentConfig) -> List[service_pb2.PathStamp]:
    """Brings what the head does not see to it, and puts the head's paths into `config`.

    Returns the paths that the head sees, too, for CreateExperimentRequest.shared_paths. Raises InvalidArgumentError,
    which names the field of a path that is not here or of a graph that has to be uploaded, LanistaError where the head
    refuses it (RESOURCE_EXHAUSTED: it is too much), and OSError for a file.
    """
    stamps: Dict[str, service_pb2.PathStamp] = {}

    def note(field: str, path: str) -> str:
        if not is_data(path):
            stamps[path] = _stamp(field, path)
        return path

    map_paths(config, note)
    if not stamps:
        return []
    request = service_pb2.FindPathsRequest(paths=list(stamps.values()))
    reply = connection.call(connection.stub.FindPaths, request, again=True)
    found = {stamp.path for stamp, seen in zip(request.paths, reply.found) if seen}
    sent = [path for path in stamps if path not in found]
    if sent:
        if config.space.graph.path in sent:
            # It may name archives by their paths here.
            raise invalid(
                f"space.graph.path: the head does not see {config.space.graph.path}; submit it with `lanista submit`, "
                "which uploads graphs with their archives"
            )
        places = {path: f"{number}/{os.path.basename(path)}" for number, path in enumerate(sent)}
        folder = _upload(connection, places)
        uploaded = {path: f"{folder}/{place}" for path, place in places.items()}
        map_paths(config, lambda _, path: uploaded.get(path, path))
    return [stamps[path] for path in stamps if path in found]


def _stamp(field: str, path: str) -> service_pb2.PathStamp:
    try:
        info = os.stat(path)
    except OSError as error:
        raise invalid(
            f"{field}: {path}: {error.strerror}; what only the head or its nodes have is data://NAME/sub, with "
            "`--data NAME=DIR` of `serve` or `node`"
        ) from None
    return service_pb2.PathStamp(path=path, inode=info.st_ino, size=info.st_size, modified=info.st_mtime_ns)


def _upload(connection: Connection, places: Dict[str, str]) -> str:
    """Uploads files, and folders with all that is in them, and returns the head's folder with them."""
    files: List[_File] = []
    folders: List[bytes] = []
    for path, place in places.items():
        _list(path, place, files, folders)
    return connection.persist(lambda: _try_upload(connection, files, folders))


def _try_upload(connection: Connection, files: List[_File], folders: List[bytes]) -> str:
    wanted: "queue.Queue[Optional[service_pb2.UploadWanted]]" = queue.Queue()
    errors: List[BaseException] = []
    call = connection.stub.Upload(_say(files, folders, wanted.get, errors), metadata=connection.metadata())
    try:
        for reply in call:
            if reply.HasField("folder"):
                return reply.folder
            wanted.put(reply.wanted)
    except grpc.RpcError as error:
        # gRPC says nothing of an exception in what it was given to send.
        raise errors[0] if errors else reported_error(error) from None
    finally:
        # Whoever waits for it ends.
        wanted.put(None)
        call.cancel()
    raise LanistaError("the head has ended the upload without an answer", "INTERNAL")


def _list(path: str, place: str, files: List[_File], folders: List[bytes]) -> None:
    if not os.path.isdir(path):
        files.append(_read(path, place))
        return
    for folder, names, leaves in os.walk(path, followlinks=True):
        names.sort()
        below = os.path.normpath(os.path.join(place, os.path.relpath(folder, path)))
        folders.append(os.fsencode(below))
        for leaf in sorted(leaves):
            leaf_path = os.path.join(folder, leaf)
            # Devices and pipes are no data.
            if stat.S_ISREG(os.stat(leaf_path).st_mode):
                files.append(_read(leaf_path, os.path.join(below, leaf)))


def _read(path: str, place: str) -> _File:
    digest = hashlib.sha256()
    size = 0
    with open(path, "rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
            size += len(piece)
    return _File(path, os.fsencode(place), size, digest.digest())


def _say(
    files: List[_File], folders: List[bytes], answer: Callable, errors: List[BaseException]
) -> Iterator[service_pb2.UploadRequest]:
    """What the client says: the list, then what of it is wanted. `answer` waits for the head's next message, and
    returns None where none will come. What is raised goes into `errors`, too."""
    try:
        yield from _say_list(files, folders)
        wanted: List[int] = []
        part = answer()
        while part is not None and not part.complete:
            wanted.extend(part.files)
            part = answer()
        if part is not None:
            yield from _say_content([files[number] for number in [*wanted, *part.files]])
    except Exception as error:
        errors.append(error)
        raise


_T = TypeVar("_T")


def _pieces(whole: List[_T]) -> Iterator[List[_T]]:
    return (whole[begin : begin + _FILES_OF_MESSAGE] for begin in range(0, len(whole), _FILES_OF_MESSAGE))


def _say_list(files: List[_File], folders: List[bytes]) -> Iterator[service_pb2.UploadRequest]:
    listed = [service_pb2.UploadFile(path=file.place, sha256=file.sha256, size=file.size) for file in files]
    for files_of_message in _pieces(listed):
        yield service_pb2.UploadRequest(list=service_pb2.UploadList(files=files_of_message))
    for folders_of_message in _pieces(folders):
        yield service_pb2.UploadRequest(list=service_pb2.UploadList(folders=folders_of_message))
    yield service_pb2.UploadRequest(list=service_pb2.UploadList(complete=True))


def _say_content(files: List[_File]) -> Iterator[service_pb2.UploadRequest]:
    for file in files:
        left = file.size
        with open(file.path, "rb") as content:
            while left > 0 and (piece := content.read(min(_PIECE, left))):
                left -= len(piece)
                yield service_pb2.UploadRequest(content=piece)
        if left > 0:
            raise OSError(f"{file.path} became shorter while it was sent")
