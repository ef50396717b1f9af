"""Exports from a head: `export --head` of the command line does the same."""

import hashlib
import os
import re
import uuid
import warnings
from typing import List

import grpc

from lanista.connection import Connection, reported_error
from lanista.errors import LanistaError
from lanista.stubs import export_formats_pb2, service_pb2


def _is_name(name: bytes, format: str) -> bool:
    """Whether an export in the format writes a file of this name, which is in no folder."""
    value = export_formats_pb2.ExportFormat.Name.DESCRIPTOR.values_by_name.get(format.upper())
    # The rank and the id of the model.
    stem = re.match(rb"[1-9][0-9]*-model-[1-9][0-9]*", name)
    if value is None or stem is None:
        return False
    suffix = name[stem.end() :]
    rules = value.GetOptions().Extensions[export_formats_pb2.export_format]
    return any(suffix == file.suffix.encode() for file in rules.file)


def receive_export(
    connection: Connection, request: service_pb2.DownloadRequest, out: str, overwrite: bool
) -> List[str]:
    """Lets the head export, writes the files into the folder `out`, and returns their paths.

    Raises what the head reports, LanistaError (DATA_LOSS) where something else comes than it has announced, and OSError.
    """
    # Nothing is written yet, so it may begin again.
    download = connection.persist(lambda: _Download(connection, request))
    try:
        for warning in download.warnings:
            # Of whoever called Experiment.export.
            warnings.warn(warning, stacklevel=3)
        paths = [os.path.join(out, os.fsdecode(file.name)) for file in download.files]
        if not overwrite:
            for path in paths:
                if os.path.lexists(path):
                    raise FileExistsError(f"{path} is not replaced: name another folder, or remove it")
        os.makedirs(out, exist_ok=True)
        for path, file in zip(paths, download.files):
            _write(path, file, download)
        download.end()
        return paths
    except grpc.RpcError as error:
        raise reported_error(error) from None
    finally:
        download.cancel()


def _damaged(what: str) -> LanistaError:
    return LanistaError(f"{what}: is the head another version?", "DATA_LOSS")


class _Download:
    """An export that comes: the head has told what, and next are the bytes of all files."""

    def __init__(self, connection: Connection, request: service_pb2.DownloadRequest):
        self._call = connection.stub.Download(request, metadata=connection.metadata())
        self._piece = b""
        self.warnings: List[str] = []
        try:
            self.files = self._listed(request.format)
        except grpc.RpcError as error:
            raise reported_error(error) from None
        except BaseException:
            self.cancel()
            raise

    def _listed(self, format: str) -> List[service_pb2.DownloadFile]:
        for reply in self._call:
            if reply.HasField("warning"):
                self.warnings.append(reply.warning)
                continue
            files = list(reply.list.files)
            names = {file.name for file in files}
            if not files or len(names) < len(files) or not all(_is_name(name, format) for name in names):
                raise _damaged("the head lists files that no export writes")
            return files
        raise _damaged("the head has exported nothing")

    def read(self, most: int) -> bytes:
        """At most so many of the next bytes, and at least one."""
        if not self._piece:
            self._piece = next((reply.content for reply in self._call), b"")
            if not self._piece:
                raise _damaged("the head has ended the export before all of it had come")
        piece, self._piece = self._piece[:most], self._piece[most:]
        return piece

    def end(self) -> None:
        """Nothing may follow."""
        if self._piece or next(self._call, None) is not None:
            raise _damaged("the head sends more than it has announced")

    def cancel(self) -> None:
        """Ends it, whatever has come."""
        self._call.cancel()


def _write(path: str, file: service_pb2.DownloadFile, content: _Download) -> None:
    """Writes a file beside its place, and puts it there when it is complete and on the disk."""
    unfinished = os.path.join(os.path.dirname(path), f".lanista.{uuid.uuid4()}")
    with open(unfinished, "xb") as output:
        try:
            digest = hashlib.sha256()
            left = file.size
            while left > 0:
                piece = content.read(left)
                digest.update(piece)
                output.write(piece)
                left -= len(piece)
            if digest.digest() != file.sha256:
                raise _damaged(f"{path} came with another content than its SHA-256 says")
            output.flush()
            os.fsync(output.fileno())
            os.replace(unfinished, path)
        except BaseException:
            os.unlink(unfinished)
            raise
