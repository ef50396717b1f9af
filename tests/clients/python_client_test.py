"""lanista.client against a real head, and against one that misbehaves on command.

The first argument is the program. PYTHONPATH: where the package `lanista` lies, with its stubs. Needs grpcio.
"""

import ast
import concurrent.futures
import datetime
import hashlib
import itertools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock

import grpc

import lanista
from lanista import client as lanista_client
from lanista import files as lanista_files
from lanista.client import Client, ExperimentConfig, load_config
from lanista.config import map_paths
from lanista.protos import messages_pb2, service_pb2, service_pb2_grpc

# Where Bazel, or the user, started the test: the root of the sources.
ROOT = pathlib.Path.cwd()
LANISTA = os.path.abspath(sys.argv.pop(1))


class Folder(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)


def table_search(folder, models=40, step_seconds=0.0, **more):
    """A search over a table of `models` models, as a dict. The n-th has the value n."""
    table = folder / "models.csv"
    table.write_text("x,default\n" + "".join(f"{x},{x}\n" for x in range(1, models + 1)))
    return {
        "name": "table",
        "space": {"choices": {"choice": [{"label": "x", "candidate": [{"i": x} for x in range(1, models + 1)]}]}},
        "strategy": {"grid_search": {}},
        "evaluator": {"table": {"path": table, "step_seconds": step_seconds}},
        "seed": 1,
        **more,
    }


def models_with_outcomes(events):
    return [event.outcome.model for event in events if event.HasField("outcome")]


class Head:
    """`lanista serve` on a state folder of its own; comes back on the same port."""

    def __init__(self, folder):
        self.folder = folder
        self.address = "127.0.0.1:0"
        self.start()

    def start(self):
        command = [LANISTA, "serve", "--listen", self.address, "--cpu-slots", "2", "--state-dir", self.folder / "state"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line.startswith("listening on "):
            raise AssertionError(f"the head did not start: {line!r}")
        self.address = line.split()[-1]

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.communicate()


class RealHead(Folder):
    def setUp(self):
        super().setUp()
        self.head = Head(self.folder)
        self.addCleanup(self.head.end, signal.SIGKILL)
        self.client = Client(self.head.address)
        self.addCleanup(self.client.close)

    def test_a_search_from_submission_to_its_best(self):
        experiment = self.client.submit(table_search(self.folder))
        self.assertRegex(experiment.id, "^table-")
        events = list(experiment.watch())
        self.assertEqual(sorted(models_with_outcomes(events)), list(range(1, 41)))
        self.assertEqual([event.number for event in events], sorted({event.number for event in events}))
        self.assertEqual(events[-1].state.state, messages_pb2.ExperimentState.DONE)
        # From any number on.
        middle = events[20].number
        self.assertEqual(list(experiment.watch(after=middle)), events[21:])

        document = experiment.wait()
        self.assertEqual(document["status"], "DONE")
        self.assertEqual(document, experiment.show())
        self.assertEqual(experiment.status, "DONE")
        self.assertEqual(document["models"]["succeeded"], 40)
        self.assertEqual([model["metrics"]["final"]["default"] for model in experiment.best(3)], [40, 39, 38])
        self.assertEqual(experiment.best()[0]["sample"], {"x": 40})
        with self.assertRaisesRegex(ValueError, "k: must be at least 1"):
            experiment.best(0)

        self.assertEqual([model["id"] for model in experiment.trials()], list(range(1, 41)))
        self.assertEqual(len(experiment.trials(sort="duration", status="succeeded", limit=7)), 7)
        self.assertEqual(experiment.trials(status="FAILED"), [])
        with self.assertRaisesRegex(lanista_client.InvalidArgumentError, "sort: 'size' is unknown"):
            experiment.trials(sort="size")
        self.assertEqual(experiment.config.evaluator.table.path, str(self.folder / "models.csv"))

    def test_experiments_are_found(self):
        with self.assertRaises(lanista_client.NotFoundError) as caught:
            self.client.experiment("nobody")
        self.assertEqual(caught.exception.code, "NOT_FOUND")
        self.assertIn("nobody", str(caught.exception))
        first = self.client.submit(table_search(self.folder, name="first"))
        first.wait()
        second = self.client.submit(table_search(self.folder, name="second"))
        self.assertEqual([experiment.id for experiment in self.client.experiments()], [first.id, second.id])
        self.assertEqual([experiment.id for experiment in self.client.experiments("STOPPED", "FAILED")], [])
        self.assertEqual(self.client.experiment("latest").id, second.id)
        self.assertEqual(self.client.experiment("fir").id, first.id)
        second.wait()
        self.assertEqual(len(self.client.experiments("DONE")), 2)

    def test_one_request_makes_one_experiment(self):
        search = table_search(self.folder)
        first = self.client.submit(search, request_id="tuesday")
        self.assertEqual(self.client.submit(search, request_id="tuesday").id, first.id)
        self.assertNotEqual(self.client.submit(search).id, self.client.submit(search).id)
        self.assertEqual(len(self.client.experiments()), 3)

    def test_what_the_head_does_not_see_is_uploaded(self):
        search = table_search(self.folder, models=3)
        stamp = lanista_files._stamp

        def of_another_machine(field, path):
            other = stamp(field, path)
            other.inode += 1
            return other

        with unittest.mock.patch.object(lanista_files, "_stamp", of_another_machine):
            experiment = self.client.submit(search)
            again = self.client.submit(search)
        (self.folder / "models.csv").unlink()
        experiment.wait()
        self.assertEqual([model["metrics"]["final"]["default"] for model in experiment.best(3)], [3, 2, 1])
        path = experiment.config.evaluator.table.path
        self.assertIn("/uploads/sets/", path)
        self.assertEqual(path, again.config.evaluator.table.path)
        again.wait()
        again.delete()
        self.assertTrue(os.path.exists(path))
        experiment.delete()
        self.assertFalse(os.path.exists(path))

        with self.assertRaisesRegex(lanista_client.InvalidArgumentError, "evaluator.table.path: .*data://NAME/sub"):
            self.client.submit(search)
        waiting = self.client.submit({**search, "evaluator": {"table": {"path": "data://tables/models.csv"}}})
        self.assertEqual(waiting.config.evaluator.table.path, "data://tables/models.csv")
        waiting.stop()
        waiting.wait()

    def test_a_bare_path_is_refused_and_both_ways_are_named(self):
        request = service_pb2.CreateExperimentRequest(config=load_config(table_search(self.folder)))
        stub = service_pb2_grpc.ExperimentServiceStub(grpc.insecure_channel(self.head.address))
        with self.assertRaises(grpc.RpcError) as caught:
            stub.Create(request)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.INVALID_ARGUMENT)
        for part in ("evaluator.table.path", "lanista submit", "data://NAME/sub"):
            self.assertIn(part, caught.exception.details())

    def test_what_is_wrong_names_its_field(self):
        search = table_search(self.folder)
        for change, expected in (
            # Found here, and by the head.
            ({"max_trials": 3}, "max_trials"),
            ({"evaluator": {"table": {"path": 3}}}, r"evaluator"),
            ({"max_trial_number": -1}, "max_trial_number"),
            ({"evaluator": {"table": {}}}, r"evaluator\.table\.path|evaluator\.table: .*path"),
        ):
            with self.subTest(change=change):
                with self.assertRaisesRegex(lanista_client.InvalidArgumentError, expected) as caught:
                    self.client.submit({**search, **change})
                self.assertEqual(caught.exception.code, "INVALID_ARGUMENT")
        self.assertEqual(self.client.experiments(), [])
        # Its space is looked at later.
        search["space"] = {"registered": "nothing"}
        experiment = self.client.submit({**search, "evaluator": {"constant": {"value": 1}}})
        with self.assertRaisesRegex(lanista_client.ExperimentFailedError, "'nothing'") as caught:
            experiment.wait()
        self.assertEqual(caught.exception.code, "FAILED")
        self.assertEqual(caught.exception.document["id"], experiment.id)

    def test_a_search_without_a_result_is_an_error(self):
        search = table_search(self.folder, models=3, constraint=[{"metric": "default", "min": 7}])
        for limit, status, message in (
            ({}, "FAILED", "none of the 3 models .* default 3"),
            ({"max_trial_number": 2}, "DONE", "no model is within the limits"),
        ):
            with self.assertRaisesRegex(lanista_client.ExperimentFailedError, message) as caught:
                self.client.submit({**search, **limit}).wait()
            self.assertEqual(caught.exception.code, status)
            self.assertEqual(caught.exception.document["best"], [])

    def test_stop_resume_and_delete(self):
        experiment = self.client.submit(table_search(self.folder, models=400, step_seconds=0.02))
        next(event for event in experiment.watch() if event.HasField("outcome"))
        with self.assertRaises(TimeoutError):
            experiment.wait(timeout=0.2)
        for refused in (experiment.delete, experiment.resume):
            with self.assertRaises(lanista_client.FailedPreconditionError) as caught:
                refused()
            self.assertEqual(caught.exception.code, "FAILED_PRECONDITION")
        experiment.stop("enough")
        document = experiment.wait()
        self.assertEqual((document["status"], document["reason"]), ("STOPPED", "enough"))

        done = document["models"]["succeeded"]
        with self.assertRaisesRegex(lanista_client.InvalidArgumentError, "seed"):
            experiment.resume(seed=3)
        experiment.resume(max_trial_number=done + 20, max_duration=datetime.timedelta(hours=1))
        # The watch goes on behind the first end.
        document = experiment.wait()
        self.assertEqual(document["status"], "DONE")
        self.assertEqual(document["models"]["succeeded"], done + 20)
        self.assertEqual(experiment.config.max_duration.seconds, 3600)
        models = models_with_outcomes(experiment.watch())
        self.assertEqual(set(models), set(range(1, done + 21)))

        experiment.delete()
        self.assertEqual(self.client.experiments(), [])
        for gone in (experiment.delete, experiment.show, lambda: next(experiment.watch())):
            with self.assertRaises(lanista_client.NotFoundError):
                gone()

    def test_a_watch_survives_restarts(self):
        experiment = self.client.submit(table_search(self.folder, models=150, step_seconds=0.02))
        waiting = concurrent.futures.ThreadPoolExecutor().submit(self.client.experiment(experiment.id).wait)
        events = []
        ends = {10: signal.SIGTERM, 50: signal.SIGKILL}
        for event in experiment.watch():
            events.append(event)
            number = ends.pop(len(models_with_outcomes(events)), None)
            if number is not None:
                self.head.end(number)
                # Meanwhile the client finds nobody there.
                threading.Timer(0.5, self.head.start).start()
        self.assertEqual(ends, {})
        self.assertEqual([event.number for event in events], sorted({event.number for event in events}))
        self.assertEqual(events, list(experiment.watch()))
        self.assertEqual(sorted(models_with_outcomes(events)), list(range(1, 151)))
        self.assertEqual(waiting.result()["status"], "DONE")

    def test_logs_are_read_whole(self):
        # The evaluator `table` prints nothing: what a trial prints lies in this file.
        experiment = self.client.submit(table_search(self.folder, models=2))
        experiment.wait()
        self.assertEqual(experiment.log(1), "")
        trial = experiment.trials()[1]["attempts"][0]["trial"]
        text = "ä line\n" * 400_000
        logs = self.folder / "state" / "experiments" / experiment.id / "logs"
        logs.mkdir(exist_ok=True)
        (logs / f"trial-{trial}.log").write_text(text)
        self.assertEqual(experiment.log(2), text)
        self.assertEqual(experiment.log(2, attempt=1), text)
        with self.assertRaisesRegex(lanista_client.NotFoundError, "attempt: model 2 .* has no attempt 3"):
            experiment.log(2, attempt=3)
        with self.assertRaisesRegex(lanista_client.NotFoundError, "model: .* has no model 9"):
            experiment.log(9)

    def test_an_export_is_what_the_command_line_exports(self):
        experiment = self.client.submit(table_search(self.folder))
        with self.assertRaisesRegex(lanista_client.LanistaError, "top: must be from 1 to 1000"):
            experiment.export(self.folder / "none", top=0)
        experiment.wait()
        out = self.folder / "out"
        paths = experiment.export(out, top=3)
        self.assertEqual([os.path.basename(path) for path in paths], [f"{n}-model-{41 - n}.json" for n in (1, 2, 3)])
        command = [LANISTA, "export", experiment.id, "--top", "3", "--out", self.folder / "offline"]
        subprocess.run([*command, "--state-dir", self.folder / "state"], stdout=subprocess.DEVNULL, check=True)
        for path in paths:
            offline = self.folder / "offline" / os.path.basename(path)
            self.assertEqual(pathlib.Path(path).read_bytes(), offline.read_bytes())
        self.assertEqual(len(os.listdir(out)), 3)
        with self.assertRaises(FileExistsError):
            experiment.export(out, top=3)
        self.assertEqual(experiment.export(out, top=3, overwrite=True), paths)
        with self.assertRaisesRegex(lanista_client.FailedPreconditionError, "need"):
            experiment.export(out, format="python")

    def test_the_example_runs(self):
        try:
            import torch
        except ModuleNotFoundError:
            self.skipTest("torch is not installed")
        example = ROOT / "examples" / "python" / "search.py"
        self.assertLessEqual(len(example.read_text().splitlines()), 40)
        command = [sys.executable, example, self.head.address]
        environment = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(lanista.__file__))}
        done = subprocess.run(
            command, cwd=self.folder, env=environment, stdout=subprocess.PIPE, text=True, check=True
        )
        best = self.client.experiment("latest").best()[0]
        self.assertIn(f"model {best['id']}", done.stdout)
        self.assertIn("it predicts", done.stdout)


class Unreachable(unittest.TestCase):
    def test_no_head(self):
        begin = time.monotonic()
        # A port that is taken by no program: of the discard service.
        with self.assertRaisesRegex(lanista_client.UnavailableError, "no head can be reached at 127.0.0.1:9 .*refused"):
            Client("127.0.0.1:9")
        self.assertLess(time.monotonic() - begin, 30, "nobody waits for a head that never was there")

    def test_addresses(self):
        for address in ("somewhere", "::1:7421", "http://head:7421", "head:", ""):
            with self.assertRaisesRegex(lanista_client.InvalidArgumentError, "is no address; write HOST:PORT"):
                Client(address)


class Script(service_pb2_grpc.ExperimentServiceServicer):
    """A head that does what the test says."""

    def __init__(self):
        self.creations = []
        self.watches = []
        self.metadata = []
        # What List answers: by page token, what it lists and the next token.
        self.pages = {"": ([], "")}
        self.watch_ended = threading.Event()
        # What Create and Watch do, one call after the other.
        self.create = itertools.repeat(lambda context: None)
        self.watch = iter(())
        # What Download answers, and before that so many calls fail.
        self.download = []
        self.lost_downloads = 0
        # What Upload does, one call after the other.
        self.uploads = iter(())
        # What FindPaths knows.
        self.sees_all = True

    def List(self, request, context):
        self.metadata.append(dict(context.invocation_metadata()))
        entries, next_token = self.pages[request.page_token]
        return service_pb2.ListExperimentsReply(json=json.dumps({"experiments": entries}), next_page_token=next_token)

    def ListTrials(self, request, context):
        for page in ('{"id": "made-1", "models": [{"id": 1}]}', '[{"id": 2}, {"id": 3}]', '[{"id": 4}]'):
            yield service_pb2.ListTrialsReply(json=page)

    def Create(self, request, context):
        self.creations.append(request)
        next(self.create)(context)
        return service_pb2.CreateExperimentReply(experiment="made-1")

    def FindPaths(self, request, context):
        return service_pb2.FindPathsReply(found=[self.sees_all] * len(request.paths))

    def Upload(self, requests, context):
        return next(self.uploads)(requests, context)

    def Download(self, request, context):
        if self.lost_downloads > 0:
            self.lost_downloads -= 1
            context.abort(grpc.StatusCode.UNAVAILABLE, "lost")
        return iter(self.download)

    def Watch(self, request, context):
        self.watches.append(request.after)
        context.add_callback(self.watch_ended.set)
        for number in next(self.watch):
            if isinstance(number, grpc.StatusCode):
                context.abort(number, "said so")
            event = messages_pb2.ExperimentEvent(number=number)
            yield service_pb2.WatchReply(events=[event])


class ScriptedHead(Folder):
    def setUp(self):
        super().setUp()
        self.script = Script()
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
        service_pb2_grpc.add_ExperimentServiceServicer_to_server(self.script, self.server)
        self.addCleanup(lambda: self.server.stop(None).wait())

    def serve(self, credentials=None):
        """Begins to listen; returns the port."""
        add = self.server.add_insecure_port if credentials is None else self.server.add_secure_port
        port = add("127.0.0.1:0", *([] if credentials is None else [credentials]))
        self.server.start()
        return port

    def connect(self, port, **options):
        client = Client(f"127.0.0.1:{port}", **options)
        self.addCleanup(client.close)
        return client

    def submit(self, client):
        return client.submit(table_search(self.folder))

    def test_a_lost_answer_is_asked_for_again_with_the_same_id(self):
        def lost(code):
            return lambda context: context.abort(code, "lost")

        codes = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED, grpc.StatusCode.DEADLINE_EXCEEDED)
        self.script.create = iter([lost(code) for code in codes] + [lambda context: None])
        self.assertEqual(self.submit(self.connect(self.serve())).id, "made-1")
        self.assertEqual(len(self.script.creations), 4)
        ids = {request.request_id for request in self.script.creations}
        self.assertEqual(len(ids), 1)
        self.assertRegex(ids.pop(), "^[0-9a-f-]{36}$")

    def test_other_errors_and_requests_without_an_id_are_not_sent_again(self):
        client = self.connect(self.serve())

        def fail(code):
            self.script.create = iter([lambda context: context.abort(code, "no room")])

        fail(grpc.StatusCode.RESOURCE_EXHAUSTED)
        with self.assertRaisesRegex(lanista_client.LanistaError, "no room") as caught:
            self.submit(client)
        self.assertEqual(caught.exception.code, "RESOURCE_EXHAUSTED")
        fail(grpc.StatusCode.UNAVAILABLE)
        with self.assertRaises(lanista_client.UnavailableError):
            client.submit(table_search(self.folder), request_id="")
        self.assertEqual(len(self.script.creations), 2)

    def test_a_watch_goes_on_behind_its_last_number(self):
        gone, ended = grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED
        self.script.watch = iter([[3, 4, gone], [gone], [7, ended], [8]])
        experiment = self.submit(self.connect(self.serve()))
        self.assertEqual([event.number for event in experiment.watch(after=2)], [3, 4, 7, 8])
        self.assertEqual(self.script.watches, [2, 4, 4, 7])

    def test_a_head_that_stays_away_is_given_up(self):
        experiment = self.submit(self.connect(self.serve(), away_limit=1))
        self.script.watch = itertools.chain([[1]], itertools.repeat([grpc.StatusCode.UNAVAILABLE]))
        self.assertEqual([event.number for event in experiment.watch()], [1])
        with self.assertRaisesRegex(lanista_client.UnavailableError, "said so"):
            list(experiment.watch())
        # It asks less and less often.
        self.assertLess(len(self.script.watches), 15)
        self.script.watch = iter([[1, grpc.StatusCode.ABORTED]])
        with self.assertRaises(lanista_client.ExperimentInterruptedError):
            experiment.wait()

    def test_a_watch_that_takes_too_long_is_told_from_a_head_that_is_away(self):
        def silent():
            self.script.watch_ended.wait(30)
            yield from ()

        self.script.watch = iter([silent()])
        experiment = self.submit(self.connect(self.serve(), away_limit=0))
        with self.assertRaisesRegex(TimeoutError, "made-1 did not end within 0.2 seconds"):
            list(experiment.watch(timeout=0.2))

    def test_all_pages_are_read(self):
        created = "2026-01-01T00:00:00.000Z"
        old, young, unreadable = (
            {"id": id, "created": time} for id, time in (("b", created), ("a", created[:-2] + "1Z"), ("c", None))
        )
        self.script.pages = {"": ([young], "b"), "b": ([old], "c"), "c": ([unreadable], "")}
        client = self.connect(self.serve())
        self.assertEqual([experiment.id for experiment in client.experiments()], ["c", "b", "a"])
        self.assertEqual([model["id"] for model in self.submit(client).trials()], [1, 2, 3, 4])

    def test_only_what_was_announced_is_written(self):
        experiment = self.submit(self.connect(self.serve()))
        out = self.folder / "out"
        Reply = service_pb2.DownloadReply

        def listed(*names, content=b"content"):
            digest = hashlib.sha256(content).digest()
            files = [service_pb2.DownloadFile(name=name, sha256=digest, size=len(content)) for name in names]
            return Reply(list=service_pb2.DownloadList(files=files))

        self.script.download = [
            Reply(warning="no names"), listed(b"1-model-3.py", b"1-model-3.pt"), Reply(content=b"contentcon"),
            Reply(content=b"tent"),
        ]
        self.script.lost_downloads = 2  # The head restarts.
        with self.assertWarnsRegex(UserWarning, "no names") as caught:
            paths = experiment.export(out, format="python")
        self.assertEqual(caught.filename, __file__)
        self.assertEqual([os.path.basename(path) for path in paths], ["1-model-3.py", "1-model-3.pt"])
        self.assertEqual([pathlib.Path(path).read_bytes() for path in paths], [b"content"] * 2)

        fine = listed(b"2-model-4.py")
        for replies in (
            [],
            [Reply(content=b"content")],
            [listed()],
            [listed(b"2-model-4.py", b"2-model-4.py")],
            [listed(b"../2-model-4.py")],
            [listed(b"/tmp/2-model-4.py")],
            [listed(b".bashrc")],
            [fine],
            [fine, Reply(content=b"conten")],
            [fine, Reply(content=b"Content")],
        ):
            self.script.download = replies
            with self.assertRaises(lanista_client.LanistaError) as caught:
                experiment.export(out, format="python")
            self.assertEqual(caught.exception.code, "DATA_LOSS")
            self.assertEqual(sorted(os.listdir(out)), ["1-model-3.pt", "1-model-3.py"])
        self.script.download = [fine, Reply(content=b"content"), Reply(content=b"more")]
        with self.assertRaises(lanista_client.LanistaError):
            experiment.export(out, format="python")
        self.script.download = [listed(b"1-model-3.py")]
        with self.assertRaises(FileExistsError):
            experiment.export(out, format="python")

    def test_an_upload_goes_on_when_the_head_is_back(self):
        sent = []

        def lost(requests, context):
            next(requests)
            yield service_pb2.UploadReply(wanted=service_pb2.UploadWanted(files=[0]))
            context.abort(grpc.StatusCode.UNAVAILABLE, "lost")

        def kept(requests, context):
            sent.append(next(requests).list)
            yield service_pb2.UploadReply(wanted=service_pb2.UploadWanted(complete=True))
            yield service_pb2.UploadReply(folder="/kept")

        self.script.sees_all = False
        self.script.uploads = iter([lost, lost, kept])
        port = self.serve()
        self.submit(self.connect(port))
        self.assertEqual(len(sent), 1)
        self.assertIn("/kept/", str(self.script.creations[0].config))
        # Not for ever, though each time the head has answered before it went.
        self.script.uploads = itertools.repeat(lost)
        with self.assertRaisesRegex(lanista_client.UnavailableError, "lost"):
            self.submit(self.connect(port, away_limit=1))

    def test_whoever_leaves_a_watch_ends_it(self):
        self.script.watch = iter([itertools.count(1)])
        for event in self.submit(self.connect(self.serve())).watch():
            if event.number == 3:
                break
        self.assertTrue(self.script.watch_ended.wait(30))

    def test_tokens(self):
        port = self.serve()
        first, second = "1" * 16, "2" * 16
        tokens = self.folder / "tokens"
        tokens.write_text(f"# of the team\n\n  {first} \n{second}\n")
        with self.assertRaisesRegex(lanista_client.InvalidArgumentError, "token_file: .*chmod o= "):
            self.connect(port, token_file=str(tokens))
        tokens.chmod(0o600)
        client = self.connect(port, token_file=str(tokens))
        tokens.write_text(f"{second}\n")
        client.experiments()
        with unittest.mock.patch.dict(os.environ, LANISTA_TOKEN_FILE=str(tokens)):
            self.connect(port)
        with unittest.mock.patch.dict(os.environ, LANISTA_TOKEN_FILE=""):
            self.connect(port)
        self.connect(port)
        sent = [metadata.get("authorization") for metadata in self.script.metadata]
        self.assertEqual(sent, [f"Bearer {first}", f"Bearer {second}", f"Bearer {second}", None, None])

        with self.assertRaisesRegex(lanista_client.InvalidArgumentError, "head.example.org:7421 unencrypted"):
            Client("head.example.org:7421", token_file=str(tokens))
        for content in ("# none\n", "short\n", "ä" * 16, "1234567\t90123456\n", "1" * 1001):
            tokens.write_text(content)
            with self.assertRaisesRegex(lanista_client.InvalidArgumentError, "does not begin with a token"):
                self.connect(port, token_file=str(tokens))

    def test_tls(self):
        def openssl(*arguments):
            subprocess.run(["openssl", *arguments], cwd=self.folder, check=True, stderr=subprocess.DEVNULL)

        for name in ("head", "client"):
            openssl(
                *"req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test -addext subjectAltName=IP:127.0.0.1".split(),
                *f"-keyout {name}.key -out {name}.crt".split(),
            )
        pem = {path.name: path.read_bytes() for path in self.folder.iterdir()}
        credentials = grpc.ssl_server_credentials(
            [(pem["head.key"], pem["head.crt"])], root_certificates=pem["client.crt"], require_client_auth=True
        )
        port = self.serve(credentials)
        tokens = self.folder / "tokens"
        tokens.write_text("secret-0123456789\n")
        tokens.chmod(0o600)
        own = {"certificate_file": str(self.folder / "client.crt"), "key_file": str(self.folder / "client.key")}
        ca_file = str(self.folder / "head.crt")
        self.connect(port, token_file=str(tokens), ca_file=ca_file, **own).experiments()
        self.assertEqual(self.script.metadata[-1]["authorization"], "Bearer secret-0123456789")
        for wrong in ({}, {"tls": True}, {"ca_file": ca_file}, {"ca_file": own["certificate_file"], **own}):
            with self.subTest(wrong=wrong), self.assertRaises(lanista_client.UnavailableError):
                self.connect(port, **wrong)
        with self.assertRaisesRegex(lanista_client.InvalidArgumentError, "name both"):
            self.connect(port, ca_file=ca_file, key_file=own["key_file"])


class Configurations(Folder):
    def test_files_dicts_and_messages(self):
        (self.folder / "search.textproto").write_text(
            'name: "a" max_duration { seconds: 90 } evaluator { table { path: "t.csv" } }'
        )
        (self.folder / "search.json").write_text(
            '{"name": "a", "max_duration": {"seconds": 90}, "evaluator": {"table": {"path": "t.csv"}}}'
        )
        table = self.folder / "t.csv"
        expected = ExperimentConfig(name="a")
        expected.max_duration.seconds = 90
        expected.evaluator.table.path = str(table)
        for config in (
            self.folder / "search.textproto",
            str(self.folder / "search.json"),
            os.path.relpath(self.folder / "search.json"),
            {"name": "a", "maxDuration": "90s", "evaluator": {"table": {"path": table}}},
            {
                "name": "a",
                "max_duration": datetime.timedelta(seconds=90),
                "evaluator": {"table": {"path": os.path.relpath(table)}},
            },
            expected,
        ):
            with self.subTest(config=config):
                self.assertEqual(load_config(config), expected)
        with self.assertRaisesRegex(TypeError, "not 3"):
            load_config(3)
        with self.assertRaises(FileNotFoundError):
            load_config(self.folder / "nothing.textproto")

    def test_parameters_are_a_map(self):
        config = load_config({"space": {"registered": "mlp", "params": {"path": {"s": "a"}, "inputs": {"i": 4}}}})
        self.assertEqual(config.space.params["path"].s, "a")
        self.assertEqual(config.space.params["inputs"].i, 4)

    def test_paths_in_lists_and_homes(self):
        mutator = {"layer_choice": {"target": "a", "candidate": [{"keep": {}}, {"module": {"path": "b.pt"}}]}}
        config = load_config({"space": {"torchscript": {"path": "~/net.pt"}, "mutator": [mutator]}})
        self.assertEqual(config.space.torchscript.path, os.path.expanduser("~/net.pt"))
        self.assertEqual(config.space.mutator[0].layer_choice.candidate[1].module.path, os.path.abspath("b.pt"))

    def test_mistakes_have_a_place(self):
        for name, text, expected in (
            ("a.textproto", 'name: "a"\nmax_trials: 3\n', "a.textproto:2:1 : .*max_trials"),
            ("a.json", '{"name":\n}', "a.json:2:1: "),
            ("b.json", '{"space": {"registred": "a"}}', "b.json: .*registred"),
            ("c.json", "[]", "c.json: must be an object"),
        ):
            (self.folder / name).write_text(text)
            with self.assertRaisesRegex(lanista_client.InvalidArgumentError, expected):
                load_config(self.folder / name)
        (self.folder / "latin.textproto").write_bytes('name: "ä"'.encode("latin-1"))
        with self.assertRaisesRegex(lanista_client.InvalidArgumentError, "latin.textproto: is no text in UTF-8"):
            load_config(self.folder / "latin.textproto")

    def test_paths_are_found_by_the_options_of_their_fields(self):
        config = load_config(
            {
                "space": {
                    "torchscript": {"path": "net.pt"},
                    "mutator": [{"layer_choice": {"candidate": [{"module": {"path": "block.pt"}}]}}],
                },
                "evaluator": {"table": {"path": "data://tables/a.csv"}},
                "training_service": [{"local": {}}, {"slurm": {"folder": "~/jobs"}}],
            }
        )
        found = {}

        def note(field, path):
            found[field] = path
            return path

        map_paths(config, note)
        self.assertEqual(
            found,
            {
                "space.torchscript.path": os.path.abspath("net.pt"),
                "space.mutator[0].layer_choice.candidate[0].module.path": os.path.abspath("block.pt"),
                "evaluator.table.path": "data://tables/a.csv",
                "training_service[1].slurm.folder": os.path.expanduser("~/jobs"),
            },
        )


class Installation(Folder):
    def test_the_package_works_wherever_it_lies(self):
        elsewhere = self.folder / "site-packages"
        package = os.path.dirname(lanista.__file__)
        shutil.copytree(package, elsewhere / "lanista", ignore=shutil.ignore_patterns("protos"))
        command = [sys.executable, "-c", "from lanista.client import Client"]
        options = {"cwd": "/", "env": {**os.environ, "PYTHONPATH": str(elsewhere)}, "text": True}
        without = subprocess.run(command, stderr=subprocess.PIPE, **options)
        self.assertIn("run scripts/python_stubs.sh", without.stderr)
        protos = list((ROOT / "protos").glob("*.proto"))
        subprocess.run([ROOT / "scripts" / "python_stubs.sh", elsewhere, *protos], check=True)
        subprocess.run(command, check=True, **options)


class Sources(unittest.TestCase):
    """What type checkers and help() are told."""

    def test_everything_public_has_types_and_a_text(self):
        modules = sorted(pathlib.Path(lanista.__file__).parent.glob("*.py"))
        self.assertIn("client.py", [module.name for module in modules])
        missing = []
        for module in modules:
            tree = ast.parse(module.read_text(encoding="utf-8"))
            if not ast.get_docstring(tree):
                missing.append(module.name)
            classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
            for node in tree.body + [member for one in classes for member in one.body]:
                # torch.nn.Module says what `forward` is.
                if getattr(node, "name", "_").startswith("_") or node.name == "forward":
                    continue
                typed = True
                if isinstance(node, ast.FunctionDef):
                    arguments = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
                    typed = node.returns is not None and all(
                        argument.annotation is not None or argument.arg in ("self", "cls") for argument in arguments
                    )
                if not typed or not ast.get_docstring(node):
                    missing.append(f"{module.name}:{node.lineno} {node.name}")
        self.assertEqual(missing, [])


if __name__ == "__main__":
    unittest.main()
