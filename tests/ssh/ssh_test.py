"""Searches on nodes that a head starts over ssh, through a real sshd on this machine, and with what happens to them.

The sshd has a port, host keys and a configuration of its own in a folder of the test's, and lets one key in. `ssh` is a
script on PATH that adds the known hosts of that folder to what the head calls it with.

LANISTA: the program.
"""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

LANISTA = pathlib.Path(os.environ["LANISTA"]).resolve()
PATIENCE = 300

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


def run(*command, **options):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300,
                          **options)
    if done.returncode != 0:
        raise AssertionError(f"{command}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def wait_until(what, condition, patience=PATIENCE):
    """Polls, because other machines tell nobody."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.2)
    raise AssertionError(f"waited {patience} s for: {what}")


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class Sshd:
    """A machine that is reached by ssh: this one, with a cache folder of its own."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="lanista-sshd", dir="/tmp"))
        self.port = free_port()
        self.process = None
        for key in ("host_key", "user_key", "other_key"):
            run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / key)
        shutil.copy(self.folder / "user_key.pub", self.folder / "authorized_keys")
        public = (self.folder / "host_key.pub").read_text().split()
        self.known_hosts = self.folder / "known_hosts"
        self.known_hosts.write_text(f"[127.0.0.1]:{self.port} {public[0]} {public[1]}\n")
        (self.folder / "sshd_config").write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {self.folder}/host_key\n"
            f"AuthorizedKeysFile {self.folder}/authorized_keys\nPidFile none\nUsePAM no\nStrictModes no\n"
            f"PasswordAuthentication no\nKbdInteractiveAuthentication no\nSetEnv XDG_CACHE_HOME={self.folder}/cache\n")
        (self.folder / "ssh_config").write_text(
            f"UserKnownHostsFile {self.known_hosts}\nGlobalKnownHostsFile /dev/null\nIdentityAgent none\n")
        (self.folder / "bin").mkdir()
        script = self.folder / "bin" / "ssh"
        script.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {self.folder}/ssh_config "$@"\n')
        script.chmod(0o755)

    def start(self):
        if os.geteuid() == 0:
            pathlib.Path("/run/sshd").mkdir(exist_ok=True)
        log = open(self.folder / "sshd.log", "a", encoding="utf-8")
        # A group of its own: so that the sessions of its connections are ended with it.
        self.process = subprocess.Popen([shutil.which("sshd", path="/usr/sbin:/sbin:" + os.environ["PATH"]), "-D", "-e",
                                         "-f", self.folder / "sshd_config"], stderr=log, start_new_session=True)
        log.close()

        def listens():
            with socket.socket() as client:
                return client.connect_ex(("127.0.0.1", self.port)) == 0

        wait_until("sshd listens", listens, 30)

    def sessions(self):
        """Processes of sshd that serve connections. They have sessions of their own, and begin as children of sshd."""
        children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(self.process.pid)], stdout=subprocess.PIPE, text=True,
                                  check=False)
        return [int(pid) for pid in children.stdout.split()]

    def stop(self):
        for pid in [*self.sessions(), self.process.pid]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()

    def nodes(self):
        """Process ids of nodes there."""
        return [int(file.read_text()) for file in self.folder.glob("cache/lanista/nodes/*/pid")]

    def programs(self):
        return sorted(file.name for file in self.folder.glob("cache/lanista/programs/*/*"))

    def running(self):
        """Command lines of processes that have to do with it."""
        found = []
        for process in pathlib.Path("/proc").iterdir():
            try:
                line = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if f"{self.folder}/cache" in line:
                found.append(line)
        return found


class SshTest(unittest.TestCase):
    def setUp(self):
        self.sshd = Sshd()
        self.sshd.start()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="lanista-ssh", dir="/tmp"))
        self.head_file = self.folder / "head"
        self.head = None
        self.addCleanup(self.clean_up)

    def clean_up(self):
        if self.head is not None and self.head.poll() is None:
            self.head.kill()
            self.head.wait()
        if self.sshd.process.poll() is None:
            self.sshd.stop()
        if sys.exc_info()[0] is None:
            shutil.rmtree(self.folder, ignore_errors=True)
            shutil.rmtree(self.sshd.folder, ignore_errors=True)

    # ---- The head ----

    def environment(self):
        return {**os.environ, "PATH": f"{self.sshd.folder}/bin:{os.environ['PATH']}"}

    def machine(self, key="user_key", more="cpu_slots: 1"):
        return (f'remote {{ machine_list {{ host: "127.0.0.1" port: {self.sshd.port} '
                f'ssh_key_file: "{self.sshd.folder}/{key}" {more} }} }}')

    def serve(self, *services, options=()):
        config = self.folder / "head.textproto"
        config.write_text("".join(f"training_service {{ {service} }}\n" for service in services))
        self.head_file.unlink(missing_ok=True)
        log = open(self.folder / "head.log", "a", encoding="utf-8")
        self.head = subprocess.Popen(
            [LANISTA, "serve", "--listen", "127.0.0.1:0", "--head-file", self.head_file, "--config", config, "--state-dir",
             self.folder / "state", "--lost-after", "20", "--log-level", "info", *options],
            stdout=log, stderr=log, env=self.environment())
        log.close()
        wait_until("the head listens", lambda: self.head_file.exists() or self.head.poll() is not None)
        self.assertIsNone(self.head.poll(), (self.folder / "head.log").read_text())

    def ask(self, *command):
        return json.loads(run(LANISTA, *command, "--head", self.head_file.read_text().strip(), "--json"))

    def submit(self, models=4, epochs=1):
        search = self.folder / "search.textproto"
        search.write_text(SEARCH.format(models=models, epochs=epochs))
        return self.ask("submit", search)["id"]

    def nodes(self):
        return {node["name"]: node for node in self.ask("nodes")["nodes"]}

    def wait_for_node(self, name="127.0.0.1"):
        return wait_until(f"{name} has joined", lambda: self.nodes().get(name, {}).get("state") == "JOINED")

    def wait_for_joins(self, times):
        """Nodes say so themselves; the list of nodes may still have one that was killed."""
        log = self.folder / "head.log"
        wait_until(f"a node has joined for time {times}", lambda: log.read_text().count(": joined 127.0.0.1:") >= times)

    def wait_for_reason(self, words, name="127.0.0.1"):
        def said():
            node = self.nodes().get(name, {})
            return node.get("state") == "COMING" and words in node["because"]

        wait_until(f"{name} is not there because of '{words}'", said)

    def wait_for_end(self, experiment):
        wait_until("the search is done", lambda: self.ask("show", experiment)["status"] == "DONE")

    def end_head(self):
        self.head.send_signal(signal.SIGTERM)
        self.assertEqual(self.head.wait(timeout=120), 0)

    def expect_nothing_left(self):
        wait_until("nothing runs any more", lambda: not self.sshd.running(), 60)
        self.assertEqual(list(self.sshd.folder.glob("cache/lanista/nodes")), [])
        self.assertEqual(list(self.sshd.folder.glob("cache/lanista/programs/*/.*")), [])

    # ---- The tests ----

    def test_a_search_on_a_machine_that_has_nothing(self):
        self.serve("local { cpu_slots: 1 }", self.machine(more="cpu_slots: 2"))
        self.wait_for_node()
        self.assertEqual(self.sshd.programs(), ["lanista", "lanista-trial"])
        experiment = self.submit(models=12)
        self.wait_for_end(experiment)
        trials = self.ask("trials", experiment)["models"]
        self.assertEqual(len(trials), 12)
        self.assertEqual({trial["status"] for trial in trials}, {"SUCCEEDED"})
        where = {attempt["node"] for trial in trials for attempt in trial["attempts"]}
        self.assertIn("127.0.0.1", where)
        self.end_head()
        self.expect_nothing_left()
        # The second head copies nothing.
        before = {file: file.stat().st_mtime_ns for file in self.sshd.folder.glob("cache/lanista/programs/*/*")}
        self.serve(self.machine())
        self.wait_for_node()
        self.assertEqual({file: file.stat().st_mtime_ns for file in before}, before)
        self.end_head()
        self.expect_nothing_left()

    def test_run_takes_the_block_in_its_own_configuration(self):
        search = self.folder / "search.textproto"
        search.write_text(SEARCH.format(models=3, epochs=1) + f"training_service {{ {self.machine()} }}\n")
        shown = json.loads(run(LANISTA, "run", search, "--state-dir", self.folder / "state", "--json", env=self.environment()))
        self.assertEqual((shown["status"], shown["models"]["succeeded"]), ("DONE", 3))
        self.expect_nothing_left()

    def test_a_head_with_tls_and_tokens_hands_out_neither(self):
        certificate, key, token = (self.folder / name for name in ("head.pem", "head.key", "token"))
        run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1",
            "-subj", "/CN=head", "-addext", "subjectAltName=DNS:head.example.org", "-keyout", key, "-out", certificate)
        token.write_text("0123456789abcdef0123456789abcdef\n")
        token.chmod(0o600)
        key.chmod(0o600)
        self.serve("local { cpu_slots: 1 }", self.machine(),
                   options=("--tls-cert", certificate, "--tls-key", key, "--token-file", token))
        self.wait_for_joins(1)
        for line in self.sshd.running():
            self.assertNotIn("0123456789abcdef", line)
        self.end_head()
        self.expect_nothing_left()

    def test_why_a_machine_is_not_there_is_told_in_the_words_of_ssh(self):
        self.serve("local { cpu_slots: 1 }", self.machine(key="other_key"))
        self.wait_for_reason("Permission denied")
        self.end_head()
        self.sshd.known_hosts.write_text("")
        self.serve("local { cpu_slots: 1 }", self.machine())
        self.wait_for_reason("Host key verification failed")
        self.end_head()
        self.sshd.stop()
        self.serve("local { cpu_slots: 1 }", self.machine())
        self.wait_for_reason("Connection refused")
        self.end_head()
        self.assertEqual(self.sshd.programs(), [])

    def test_a_connection_that_breaks_is_made_again_and_the_search_goes_on(self):
        self.serve(self.machine())
        self.wait_for_node()
        experiment = self.submit(models=6, epochs=6)
        wait_until("a model has ended", lambda: self.ask("show", experiment)["status"] == "RUNNING" and any(
            trial["status"] == "SUCCEEDED" for trial in self.ask("trials", experiment)["models"]))
        first = self.sshd.nodes()
        for pid in self.sshd.sessions():
            os.kill(pid, signal.SIGKILL)
        wait_until("another node runs", lambda: self.sshd.nodes() and self.sshd.nodes() != first)
        self.wait_for_end(experiment)
        self.assertEqual({trial["status"] for trial in self.ask("trials", experiment)["models"]}, {"SUCCEEDED"})
        self.end_head()
        self.expect_nothing_left()

    def test_a_node_that_is_killed_is_started_again_and_one_that_is_drained_is_not(self):
        self.serve("local { cpu_slots: 1 }", self.machine())
        self.wait_for_joins(1)
        os.kill(self.sshd.nodes()[0], signal.SIGKILL)
        self.wait_for_joins(2)
        self.ask("drain", "127.0.0.1")
        self.wait_for_reason("left")
        self.assertEqual(self.sshd.nodes(), [])
        self.end_head()
        self.expect_nothing_left()

    def test_a_head_that_is_killed_leaves_nothing_there(self):
        self.serve(self.machine())
        self.wait_for_node()
        self.head.kill()
        self.head.wait()
        self.expect_nothing_left()


if __name__ == "__main__":
    if shutil.which("sshd", path="/usr/sbin:/sbin:" + os.environ["PATH"]) is None:
        print("ssh_test.py: SKIPPED: there is no sshd (scripts/install_deps.sh --ssh)")
        sys.exit(0)
    unittest.main(verbosity=2)
