"""Searches through `training_service { slurm {} }` with real Slurm daemons (cluster.sh), and with what happens to jobs.

Each test starts a head of its own with `serve --config`, lets it search, disturbs it, and then counts: each model has
one outcome and it succeeded, no more jobs were submitted than were wanted, and when the head has ended nothing is left.
Of a test that fails the logs of the head and its nodes are shown.

LANISTA: the program. FAKE_NVML_SOURCE: tests/devices/fake_nvml.cc.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
LANISTA = os.environ["LANISTA"]
PATIENCE = 600
# A search in which no model ends for so long hangs, however slow the machine is.
HANGS = 300

SEARCH = """
name: "tiny"
space {{ registered: "mnist_cnn" }}
strategy {{ random {{ dedup: false }} }}
evaluator {{
  classification {{
    dataset {{ synthetic_digits {{ train_samples: 600 validation_samples: 100 }} }}
    batch_size: 20
    max_epochs: {epochs}
  }}
}}
max_trial_number: {models}
seed: 42
"""

HEAD = """
training_service {{
  slurm {{
    partition: "low" cpus: 2 max_nodes: {nodes}
    idle_timeout {{ seconds: 5 }} poll_interval {{ seconds: 1 }}
    {more}
  }}
}}
"""


def run(*command):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
    if done.returncode != 0:
        raise AssertionError(f"{command}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def wait_until(what, condition, patience=PATIENCE):
    """Polls, because Slurm tells nobody."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.5)
    raise AssertionError(f"waited {patience} s for: {what}")


class Cluster:
    def __init__(self):
        # Short: a socket's path has 108 bytes.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="lsl", dir="/tmp"))
        os.environ["SLURM_CONF"] = str(self.folder / "slurm.conf")
        self.script("up")

    def script(self, *arguments):
        run(HERE / "cluster.sh", arguments[0], self.folder, *arguments[1:])

    def kill(self, daemon):
        os.kill(int((self.folder / f"{daemon}.pid").read_text()), signal.SIGKILL)

    def start(self, daemon):
        self.script("start", daemon)

    def down(self):
        self.script("down")
        shutil.rmtree(self.folder, ignore_errors=True)

    @staticmethod
    def jobs(state=None):
        """(id, state, name, machine) of each job."""
        rows = [line.split("|") for line in run("squeue", "--noheader", "--format=%i|%T|%j|%N").splitlines()]
        return [tuple(row) for row in rows if state is None or row[1] == state]


class SlurmTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster()
        cls.addClassCleanup(cls.cluster.down)

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="lanista-slurm", dir="/tmp"))
        self.state = self.folder / "state"
        self.head_file = self.folder / "head"
        self.head = None
        self.most_jobs = 0
        self.addCleanup(self.clean_up)

    def run(self, result=None):
        self.folder = self.state = None
        failed = len(result.failures) + len(result.errors)
        super().run(result)
        if self.folder is None:
            return
        if len(result.failures) + len(result.errors) > failed:
            for log in [self.folder / "head.log", *self.state.glob("slurm/*.log"), self.cluster.folder / "slurmctld.log"]:
                if log.exists():
                    print(f"---- {log}, its last lines", *log.read_text(errors="replace").splitlines()[-100:], sep="\n")
        shutil.rmtree(self.folder, ignore_errors=True)

    def clean_up(self):
        if self.head is not None and self.head.poll() is None:
            self.head.kill()
            self.head.wait()
        subprocess.run(["scancel", "--me"], check=False, timeout=60)
        wait_until("the queue is empty", lambda: not self.cluster.jobs(), 60)
        # A daemon that was killed may leave a machine drained ("Duplicate jobid"). Where none is, this is refused.
        for machine in ("n1", "n2"):
            subprocess.run(["scontrol", "update", "nodename=" + machine, "state=resume"], check=False, timeout=60,
                           stderr=subprocess.DEVNULL)

    # ---- The head ----

    def serve(self, nodes=2, more=""):
        config = self.folder / "head.textproto"
        config.write_text(HEAD.format(nodes=nodes, more=more))
        self.head_file.unlink(missing_ok=True)
        log = open(self.folder / "head.log", "a", encoding="utf-8")
        self.head = subprocess.Popen(
            [LANISTA, "serve", "--listen", "127.0.0.1:0", "--head-file", self.head_file, "--config", config,
             "--state-dir", self.state, "--lost-after", "20", "--log-level", "info"],
            stdout=log, stderr=log)
        log.close()
        wait_until("the head listens", self.head_file.exists)

    def ask(self, *command):
        return json.loads(run(LANISTA, *command, "--head", self.head_file.read_text().strip(), "--json"))

    def submit(self, models=24, epochs=3):
        return self.submit_text(SEARCH.format(models=models, epochs=epochs))

    def submit_text(self, text):
        search = self.folder / "search.textproto"
        search.write_text(text)
        return self.ask("submit", search)["id"]

    def nodes(self, state="JOINED"):
        return [node for node in self.ask("nodes")["nodes"] if node["state"] == state]

    def busy(self):
        return [node for node in self.nodes() if node["busy"] > 0]

    def wait_for_busy_nodes(self, count=1):
        return wait_until(f"{count} nodes have work", lambda: len(self.busy()) >= count and self.busy())

    def submitted(self):
        """Jobs that sbatch took. A number of the ledger may be one that it refused."""
        return len(re.findall(r"Slurm job \S+ was submitted: \d+", (self.folder / "head.log").read_text()))

    def count_jobs(self):
        """How many jobs this head has, at most. While no controller answers nobody knows."""
        queue = subprocess.run(["squeue", "--noheader", "--format=%j"], check=False, timeout=60, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.most_jobs = max(self.most_jobs, len(re.findall(r"^lanista-", queue.stdout, re.MULTILINE)))

    def finish(self, experiment, models=24):
        """Waits for the end, and sees that each model has one outcome."""
        succeeded, since = -1, 0
        while True:
            self.count_jobs()
            document = self.ask("show", experiment)
            self.assertNotIn(document["status"], ("FAILED", "STOPPED"), document)
            if document["status"] == "DONE":
                break
            if document["models"]["succeeded"] != succeeded:
                succeeded, since = document["models"]["succeeded"], time.monotonic()
            if time.monotonic() - since > HANGS:
                self.fail(f"no model ends any more: {document}, {self.ask('nodes')}")
            time.sleep(0.5)
        trials = self.ask("trials", experiment)["models"]
        self.assertEqual(len(trials), models)
        for model in trials:
            self.assertEqual(model["status"], "SUCCEEDED", model)
            self.assertEqual([a["outcome"] for a in model["attempts"]].count("SUCCEEDED"), 1, model)
        return trials

    def expect_only_handed_back(self, trials):
        """What was lost was handed back by its node: neither its trial process nor its node was missed."""
        causes = {attempt["lost_cause"] for model in trials for attempt in model["attempts"] if attempt["outcome"] == "LOST"}
        self.assertLessEqual(causes, {"NODE_LEFT"})

    def end(self):
        """The head ends; nothing that it started is left."""
        self.head.send_signal(signal.SIGTERM)
        self.assertEqual(self.head.wait(timeout=60), 0)
        wait_until("no job is left", lambda: not self.cluster.jobs(), 60)

        def left():
            mine = []
            for process in pathlib.Path("/proc").glob("[0-9]*"):
                try:
                    if str(self.folder).encode() in (process / "cmdline").read_bytes():
                        mine.append(process.name)
                except OSError:
                    pass
            return mine
        wait_until("no process is left", lambda: not left(), 60)

    # ---- What happens ----

    def test_nodes_come_with_the_work_and_leave_without_it(self):
        self.serve()
        experiment = self.submit()
        self.finish(experiment)
        self.assertEqual(self.submitted(), 2)
        wait_until("the nodes leave by themselves", lambda: not self.cluster.jobs(), 60)
        self.assertEqual(self.submitted(), 2)
        self.end()

    def test_what_it_waits_for_is_shown(self):
        # All processors are somebody else's.
        other = run("sbatch", "--parsable", "--partition=high", "--nodes=2", "--ntasks-per-node=2", "--wrap", "sleep 1000")
        self.serve(nodes=1)
        experiment = self.submit()
        wait_until("Slurm's reason is shown",
                   lambda: re.search(r"Resources|Priority", self.ask("show", experiment).get("waiting_for") or ""))
        coming = self.nodes("COMING")
        self.assertEqual(len(coming), 1)
        self.assertRegex(coming[0]["because"], r"Slurm job \d+ PENDING \((Resources|Priority)\)")
        run("scancel", other.strip())
        self.end()

    def test_a_refusal_is_told_in_slurms_words(self):
        self.serve(more='option: "--partition=nowhere"')
        experiment = self.submit()
        wait_until("sbatch's words", lambda: "invalid partition" in (self.ask("show", experiment).get("waiting_for") or ""))
        self.end()

    def test_a_canceled_job_costs_no_model(self):
        self.serve()
        experiment = self.submit()
        self.wait_for_busy_nodes()
        run("scancel", self.cluster.jobs("RUNNING")[0][0])
        self.expect_only_handed_back(self.finish(experiment))
        self.assertLessEqual(self.submitted(), 3)
        self.end()

    def test_a_requeued_job_is_another_node(self):
        self.serve(nodes=1)
        experiment = self.submit()
        first = self.wait_for_busy_nodes()[0]["name"]
        run("scontrol", "requeue", self.cluster.jobs("RUNNING")[0][0])
        wait_until("the job's second node", lambda: any(n["name"] == first + ".1" for n in self.nodes()))
        self.expect_only_handed_back(self.finish(experiment))
        self.assertEqual(self.submitted(), 1)
        self.end()

    def test_a_higher_partition_takes_the_machine_for_a_while(self):
        self.serve(nodes=1)
        experiment = self.submit()
        self.wait_for_busy_nodes()
        run("sbatch", "--partition=high", "--nodes=2", "--ntasks-per-node=2", "--wrap", "sleep 5")
        wait_until("the job was preempted", lambda: not self.nodes())
        self.expect_only_handed_back(self.finish(experiment))
        # A node that ends within the grace time ends its job. Slurm 22.05 then counts the job as COMPLETED, and the search
        # wants another one; later versions, and where the grace time was too short, requeue it.
        self.assertIn(self.submitted(), (1, 2))
        self.assertEqual(self.most_jobs, 1)
        self.end()

    def test_a_time_limit_that_is_shorter_than_the_search(self):
        self.serve(nodes=1, more="time_limit { seconds: 60 }")
        experiment = self.submit(models=100000)
        wait_until("the next job", lambda: self.submitted() >= 2 and self.busy())
        run(LANISTA, "stop", experiment, "--head", self.head_file.read_text().strip())
        wait_until("the stop", lambda: self.ask("show", experiment)["status"] == "STOPPED")
        for model in self.ask("trials", experiment)["models"]:
            self.assertIn(model["status"], ("SUCCEEDED", "CANCELED"), model)
        self.end()

    def test_a_controller_that_is_killed(self):
        self.serve()
        experiment = self.submit()
        self.wait_for_busy_nodes()
        self.cluster.kill("slurmctld")
        time.sleep(3)
        self.cluster.start("slurmctld")
        self.finish(experiment)
        # What the controller had not saved is lost to it, and wanted once more: each of the two, at most.
        self.assertIn(self.submitted(), (2, 3, 4))
        self.assertLessEqual(self.most_jobs, 2)
        self.end()

    def test_a_slurmd_that_is_killed(self):
        self.serve(nodes=1)
        experiment = self.submit(models=200)
        self.wait_for_busy_nodes()
        machine = self.cluster.jobs("RUNNING")[0][3]
        self.cluster.kill("slurmd-" + machine)
        # The job's processes go on, and Slurm starts the job once more.
        wait_until("the job's second node", lambda: any(n["name"].endswith(".1") for n in self.nodes()))
        self.cluster.start("slurmd-" + machine)
        self.finish(experiment, models=200)
        # Where Slurm has tried too often to start the job beside its first copy, it holds the job, which is replaced.
        self.assertIn(self.submitted(), (1, 2))
        self.assertEqual(self.most_jobs, 1)
        self.end()

    def test_a_head_that_is_killed_submits_nothing_twice(self):
        self.serve()
        experiment = self.submit()
        self.wait_for_busy_nodes(2)
        before = self.submitted()
        self.head.kill()
        self.head.wait()
        self.serve()
        self.finish(experiment)
        self.assertEqual(self.submitted(), before)
        self.end()

    def test_the_head_may_be_a_job(self):
        run("sbatch", "--nodelist=n1", "--wrap",
            f"exec {LANISTA} serve --listen 127.0.0.1:0 --head-file {self.head_file} --cpu-slots 1 --state-dir {self.state}")
        wait_until("the head listens", self.head_file.exists)
        run("sbatch", "--nodelist=n2", "--wrap",
            f"exec {LANISTA} node --head-file {self.head_file} --cpu-slots 1 --name other")
        wait_until("the node has joined", self.nodes)
        trials = self.finish(self.submit())
        self.assertIn("other", {attempt["node"] for model in trials for attempt in model["attempts"]})
        run("scancel", "--me")
        wait_until("no job is left", lambda: not self.cluster.jobs(), 60)

    def make_gpus(self):
        """GPUs that are none, for programs that look for libraries in the test's folder."""
        run("c++", "-shared", "-fPIC", "-o", self.folder / "libnvidia-ml.so.1", os.environ["FAKE_NVML_SOURCE"])

    def test_models_go_to_the_gpus_of_jobs(self):
        self.make_gpus()
        # Jobs take the head's surroundings with them.
        os.environ["LD_LIBRARY_PATH"] = str(self.folder)
        self.addCleanup(os.environ.pop, "LD_LIBRARY_PATH")
        self.serve(more="gpus: 1")
        experiment = self.submit_text("""
            space { choices { choice { label: "a" candidate: [ { i: 1 }, { i: 2 } ] } } }
            strategy { random { dedup: false } } evaluator { constant { value: 0.5 } } max_trial_number: 12""")
        # Trial processes cannot use it, and say so: a model was sent there.
        down = re.compile(r"\[node lanista-\S+\] cuda:0: the worker went down: cuda:0 cannot be used")
        wait_until("the GPU of a job had work", lambda: down.search((self.folder / "head.log").read_text()))
        self.ask("stop", experiment)
        self.assertIn(self.submitted(), (1, 2))
        self.end()

    def test_a_job_has_the_gpus_that_slurm_gave_it(self):
        self.make_gpus()
        seen = []
        for number in range(2):
            output = self.folder / f"devices{number}.json"
            run("sbatch", "--gres=gpu:1", "--nodelist=n1", f"--output={output}", "--wrap",
                f"LD_LIBRARY_PATH={self.folder} {LANISTA} devices --json; sleep 8")
            wait_until("the job's devices", lambda path=output: path.exists() and path.read_text().rstrip().endswith("}"))
            seen.append(set(re.findall(r"Fake \d+", output.read_text())))
        self.assertEqual(seen, [{"Fake 40"}, {"Fake 80"}])


if __name__ == "__main__":
    unittest.main(verbosity=2)
