"""Checks the files of deploy/ and the commands of the documents, without a cluster.

All their commands go through Lanista's own parser: the program that is the first argument (parse_command_line).
"""

import copy
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

import yaml

PARSER = os.path.abspath(sys.argv.pop(1))

# The longest that a head or a node takes to end: its trial processes have 5 s, the head's answer 5 s, and what does not
# end 10 s.
SECONDS_TO_END = 20


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def parse(words):
    """The words after `lanista` as its parser has them; fails with the parser's message."""
    done = subprocess.run([PARSER, *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"lanista {shlex.join(words)}: {done.stderr}")
    return done.stdout.splitlines()


def shell_lines(text):
    """The lines of a shell's text, with those that a backslash continues in one."""
    return text.replace("\\\n", " ").splitlines()


class Parser(unittest.TestCase):
    def test_refuses_what_lanista_refuses(self):
        self.assertEqual(parse(["serve", "--listen=0.0.0.0:1"]), ["serve", "--listen=0.0.0.0:1"])
        with self.assertRaises(AssertionError):
            parse(["serve", "--no-such-option"])


class Systemd(unittest.TestCase):
    UNITS = sorted(glob.glob("deploy/systemd/*.service"))

    def settings(self, unit):
        """Section -> setting -> values; fails where a line is none of a unit's."""
        sections = {}
        for line in shell_lines(read(unit)):
            if not line.strip() or line.startswith("#"):
                continue
            header = re.fullmatch(r"\[(Unit|Service|Install)\]", line)
            if header:
                section = sections.setdefault(header[1], {})
                continue
            setting = re.fullmatch(r"([A-Z][A-Za-z]+)=(.*)", line)
            self.assertIsNotNone(setting, f"{unit}: {line}")
            section.setdefault(setting[1], []).append(setting[2])
        return sections

    def environment(self, service):
        """The variables of the unit's EnvironmentFile, as it comes with us, and of systemd."""
        (path,) = service["EnvironmentFile"]
        lines = read("deploy/systemd/" + os.path.basename(path)).splitlines()
        variables = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
        return {**variables, "STATE_DIRECTORY": "/state", "CREDENTIALS_DIRECTORY": "/credentials"}

    def words(self, service):
        """ExecStart as systemd splits it: ${X} is part of a word, $X as a word is as many as it has."""
        variables = self.environment(service)
        (command,) = service["ExecStart"]
        words = []
        for word in command.split():
            if word.startswith("$") and not word.startswith("${"):
                words += variables[word[1:]].split()
            else:
                words.append(re.sub(r"\$\{(\w+)\}", lambda name: variables[name[1]], word))
        return words

    def test_there_are_a_head_and_a_node(self):
        self.assertEqual([os.path.basename(unit) for unit in self.UNITS], ["lanista-head.service", "lanista-node.service"])

    def test_commands_are_lanistas(self):
        for unit in self.UNITS:
            service = self.settings(unit)["Service"]
            program, *words = self.words(service)
            self.assertEqual(program, "/usr/local/bin/lanista")
            parse(words)

    def test_credentials_are_those_that_the_command_names(self):
        for unit in self.UNITS:
            service = self.settings(unit)["Service"]
            loaded = {credential.split(":")[0] for credential in service["LoadCredential"]}
            named = {word.rsplit("/", 1)[1] for word in self.words(service) if word.startswith("/credentials/")}
            self.assertEqual(loaded, named, unit)

    def test_services_may_end_in_their_own_way(self):
        for unit in self.UNITS:
            service = self.settings(unit)["Service"]
            self.assertEqual(service["KillMode"], ["mixed"])
            self.assertEqual(service["OOMPolicy"], ["continue"])
            self.assertGreater(int(service["TimeoutStopSec"][0]), SECONDS_TO_END)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "no systemd-analyze here")
    def test_systemd_takes_them(self):
        with tempfile.TemporaryDirectory() as folder:
            for unit in self.UNITS:
                copied = os.path.join(folder, os.path.basename(unit))
                with open(copied, "w", encoding="utf-8") as file:
                    # It wants a program that is there.
                    file.write(read(unit).replace("/usr/local/bin/lanista", "/bin/true"))
                done = subprocess.run(["systemd-analyze", "verify", copied], capture_output=True, text=True, check=False)
                # Of a line that it does not know it only warns.
                self.assertNotIn(os.path.basename(unit), done.stderr)
                self.assertEqual(done.returncode, 0, done.stderr)


class Kubernetes(unittest.TestCase):
    FOLDER = "deploy/kubernetes/"

    @staticmethod
    def patched(document, patch):
        """The document with the operations of a JSON patch."""
        document = copy.deepcopy(document)
        for operation in patch:
            *way, last = operation["path"].strip("/").split("/")
            place = document
            for step in way:
                place = place[int(step) if isinstance(place, list) else step]
            if operation["op"] == "add" and last == "-":
                place.append(operation["value"])
            elif operation["op"] == "replace" and last in place:
                place[last] = operation["value"]
            else:
                raise AssertionError(operation)
        return document

    def documents(self):
        kustomization = yaml.safe_load(read(self.FOLDER + "base/kustomization.yaml"))
        return [
            document for name in kustomization["resources"] for document in yaml.safe_load_all(read(self.FOLDER + "base/" + name))
        ]

    def variants(self):
        """The documents as they are, and with TLS."""
        plain = self.documents()
        encrypted = copy.deepcopy(plain)
        for patch in yaml.safe_load(read(self.FOLDER + "tls/kustomization.yaml"))["patches"]:
            (index,) = [
                index
                for index, document in enumerate(plain)
                if (document["kind"], document["metadata"]["name"]) == (patch["target"]["kind"], patch["target"]["name"])
            ]
            operations = yaml.safe_load(read(self.FOLDER + "tls/" + patch["path"]))
            encrypted[index] = self.patched(encrypted[index], operations)
        return {"plain": plain, "tls": encrypted}

    def pods(self):
        """(variant, component) -> the pod's specification."""
        return {
            (variant, document["spec"]["template"]["metadata"]["labels"]["app.kubernetes.io/component"]): (
                document["spec"]["template"]["spec"]
            )
            for variant, documents in self.variants().items()
            for document in documents
            if document["kind"] in ("StatefulSet", "Deployment")
        }

    def test_there_are_a_head_and_nodes(self):
        self.assertEqual(
            sorted(self.pods()), [("plain", "head"), ("plain", "node"), ("tls", "head"), ("tls", "node")]
        )
        self.assertEqual(
            sorted((document["kind"], document["metadata"]["name"]) for document in self.documents()),
            [
                ("Deployment", "lanista-nodes"),
                ("Namespace", "lanista"),
                ("NetworkPolicy", "lanista-head"),
                ("NetworkPolicy", "lanista-nodes"),
                ("Service", "lanista-head"),
                ("StatefulSet", "lanista-head"),
            ],
        )

    def test_commands_are_lanistas(self):
        entry = Docker.entry_point()
        for (_, component), pod in self.pods().items():
            (container,) = pod["containers"]
            words = parse([*entry, *container["args"]])
            self.assertIn({"head": "serve", "node": "node"}[component], words)
            for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
                command = container.get(probe, {}).get("exec", {}).get("command")
                if command is not None:
                    self.assertEqual(command[0], "lanista")
                    parse(command[1:])

    def test_only_tls_does_without_insecure(self):
        for (variant, _), pod in self.pods().items():
            words = pod["containers"][0]["args"]
            self.assertEqual("--insecure" in words, variant == "plain")
            self.assertEqual(any(word.startswith("--tls") for word in words), variant == "tls")

    def test_pods_have_time_to_end(self):
        for key, pod in self.pods().items():
            self.assertGreater(pod["terminationGracePeriodSeconds"], SECONDS_TO_END, key)

    def test_pods_have_no_rights(self):
        for key, pod in self.pods().items():
            self.assertTrue(pod["securityContext"]["runAsNonRoot"], key)
            self.assertEqual(pod["securityContext"]["runAsUser"], Docker.user(), key)
            self.assertFalse(pod["automountServiceAccountToken"], key)
            for container in pod["containers"]:
                self.assertEqual(container["securityContext"]["capabilities"], {"drop": ["ALL"]}, key)
                self.assertFalse(container["securityContext"]["allowPrivilegeEscalation"], key)

    def test_files_that_commands_name_are_mounted(self):
        generated = yaml.safe_load(read(self.FOLDER + "base/kustomization.yaml"))["secretGenerator"]
        secrets = {secret["name"]: set(secret["files"]) for secret in generated}
        secrets["lanista-tls"] = {"tls.crt", "tls.key", "ca.crt"}
        for key, pod in self.pods().items():
            (container,) = pod["containers"]
            claims = {"state"} if key[1] == "head" else set()
            volumes = {volume["name"]: volume for volume in pod["volumes"]}
            files = set()
            for mount in container["volumeMounts"]:
                if mount["name"] in claims:
                    continue
                secret = volumes[mount["name"]].get("secret")
                if secret is None:
                    continue
                # The head refuses files that others may open.
                self.assertEqual(secret["defaultMode"] & 0o007, 0)
                items = {item["path"] for item in secret.get("items", [])} or secrets[secret["secretName"]]
                files |= {mount["mountPath"] + "/" + item for item in items}
            probe = container.get("readinessProbe", {}).get("exec", {}).get("command", [])
            named = {word.split("=", 1)[1] for word in container["args"] + probe if "=/run/" in word}
            self.assertEqual(named, files, key)

    def test_nodes_get_no_token_of_clients(self):
        for (_, component), pod in self.pods().items():
            names = {volume.get("secret", {}).get("secretName") for volume in pod["volumes"]}
            self.assertEqual("lanista-client-token" in names, component == "head")

    def test_probes_and_services_use_the_port_on_which_the_head_listens(self):
        head = self.pods()["plain", "head"]["containers"][0]
        (listen,) = [word for word in head["args"] if word.startswith("--listen=")]
        port = int(listen.rsplit(":", 1)[1])
        self.assertEqual(head["ports"], [{"name": "grpc", "containerPort": port}])
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            self.assertEqual(head[probe]["grpc"]["port"], port)
        by_name = {(document["kind"], document["metadata"]["name"]): document for document in self.documents()}
        service = by_name["Service", "lanista-head"]
        self.assertEqual(service["spec"]["ports"][0]["port"], port)
        self.assertEqual(service["spec"]["ports"][0]["targetPort"], "grpc")
        for variant in ("plain", "tls"):
            args = self.pods()[variant, "node"]["containers"][0]["args"]
            self.assertIn(f"--head={service['metadata']['name']}:{port}", args)
        for policy in ("lanista-head", "lanista-nodes"):
            spec = by_name["NetworkPolicy", policy]["spec"]
            rule = spec["ingress"][0] if policy == "lanista-head" else spec["egress"][0]
            self.assertEqual(rule["ports"], [{"protocol": "TCP", "port": port}])

    def test_selectors_select_the_pods(self):
        by_name = {
            (document["kind"], document["metadata"]["name"]): document.get("spec") for document in self.documents()
        }
        labels = {
            name: by_name[kind, name]["template"]["metadata"]["labels"]
            for kind, name in (("StatefulSet", "lanista-head"), ("Deployment", "lanista-nodes"))
        }
        for kind, name in (("StatefulSet", "lanista-head"), ("Deployment", "lanista-nodes")):
            self.assertEqual(by_name[kind, name]["selector"]["matchLabels"], labels[name])
            self.assertEqual(by_name["NetworkPolicy", name]["podSelector"]["matchLabels"], labels[name])
        self.assertEqual(by_name["Service", "lanista-head"]["selector"], labels["lanista-head"])
        self.assertEqual(by_name["StatefulSet", "lanista-head"]["serviceName"], "lanista-head")
        ingress = by_name["NetworkPolicy", "lanista-head"]["ingress"][0]["from"][0]
        self.assertEqual(ingress["podSelector"]["matchLabels"], labels["lanista-nodes"])
        egress = by_name["NetworkPolicy", "lanista-nodes"]["egress"][0]["to"][0]
        self.assertEqual(egress["podSelector"]["matchLabels"], labels["lanista-head"])


class Docker(unittest.TestCase):
    FILE = "deploy/docker/Dockerfile"

    @classmethod
    def instructions(cls):
        text = "\n".join(line for line in read(cls.FILE).splitlines() if not line.startswith("#"))
        return [line.split(None, 1) for line in shell_lines(text) if line.strip()]

    @classmethod
    def last(cls, name):
        return [rest for instruction, rest in cls.instructions() if instruction == name][-1]

    @classmethod
    def entry_point(cls):
        """What stands between `lanista` and the arguments of a container."""
        words = yaml.safe_load(cls.last("ENTRYPOINT"))
        return words[words.index("lanista") + 1 :]

    @classmethod
    def user(cls):
        return int(cls.last("USER"))

    def test_its_commands_are_lanistas(self):
        text = "\n".join(parse([*self.entry_point(), *yaml.safe_load(self.last("CMD"))]))
        self.assertIn("serve", text)
        for command in (["serve", "--cpu-slots=0"], ["node", "--head=h:1"]):
            parse([*self.entry_point(), *command])

    def test_its_shell_is_one(self):
        for instruction, rest in self.instructions():
            self.assertRegex(instruction, "^(ARG|CMD|COPY|ENTRYPOINT|ENV|EXPOSE|FROM|RUN|USER|VOLUME|WORKDIR)$")
            if instruction == "RUN":
                subprocess.run(["sh", "-n", "-c", rest], check=True)

    def test_the_image_has_both_programs(self):
        commands = " ".join(rest for instruction, rest in self.instructions() if instruction == "RUN")
        self.assertEqual(set(re.findall(r"//:([\w-]+)", commands)), {"lanista", "lanista-trial"})
        self.assertEqual(set(re.findall(r"bazel-bin/([\w-]+)", commands)), {"lanista", "lanista-trial"})
        self.assertIn(["COPY", "--from=build /out/bin /usr/local/bin"], self.instructions())

    def test_an_image_has_the_python_client(self):
        instructions = self.instructions()
        copied = [rest.split()[0] for instruction, rest in instructions if instruction == "COPY"]
        for needed in ("clients/python", "protos", "scripts/python_stubs.sh", "src/base/version.h"):
            self.assertIn(needed, copied)
        (pip,) = [rest for instruction, rest in instructions if instruction == "RUN" and " pip install " in rest]
        target = re.search(r"--target (\S+) \./clients/python$", pip)[1]
        start = instructions.index(["FROM", "debian:${DEBIAN}-slim AS python"])
        (copy,) = [rest.split() for instruction, rest in instructions[start:] if "--from=python-build" in rest]
        self.assertEqual(copy[1], target)
        self.assertIn(["ENV", f"PYTHONPATH={copy[2]}"], instructions[start:])

    def test_the_user_is_the_one_that_it_makes(self):
        self.assertIn(f"--uid {self.user()} ", self.last("RUN"))


class Slurm(unittest.TestCase):
    SCRIPTS = sorted(glob.glob("deploy/slurm/*"))

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        # `lanista` is the parser; `srun` runs a task as if it had started it elsewhere.
        os.mkdir(self.path("bin"))
        os.symlink(PARSER, self.path("bin/lanista"))
        with open(self.path("bin/srun"), "w", encoding="utf-8") as srun:
            srun.write('#!/bin/sh\nwhile [ "${1#-}" != "$1" ]; do shift; done\nexec "$@"\n')
        os.chmod(self.path("bin/srun"), 0o700)

    def path(self, name):
        return os.path.join(self.folder, name)

    def run_script(self, name, **variables):
        done = subprocess.run(
            ["sh", f"deploy/slurm/{name}"],
            env={"PATH": self.path("bin") + ":/usr/bin:/bin", "HOME": self.folder, **variables},
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.splitlines()

    def test_shells_take_them(self):
        self.assertEqual([os.path.basename(script) for script in self.SCRIPTS], ["head.sbatch", "nodes.sbatch"])
        for script in self.SCRIPTS:
            subprocess.run(["sh", "-n", script], check=True)
            if shutil.which("shellcheck"):
                subprocess.run(["shellcheck", script], check=True)

    def test_the_head_writes_what_nodes_and_clients_read(self):
        words = self.run_script("head.sbatch")
        self.assertEqual(words[0], "serve")
        self.assertIn(self.path("lanista/head"), words)
        tokens = {}
        for name in ("token", "node-token", "head.key"):
            tokens[name] = read(self.path("lanista/" + name))
            self.assertEqual(os.stat(self.path("lanista/" + name)).st_mode & 0o077, 0)
        self.assertNotEqual(tokens["token"], tokens["node-token"])
        certificate = subprocess.run(
            ["openssl", "x509", "-noout", "-ext", "subjectAltName", "-in", self.path("lanista/head.pem")],
            capture_output=True,
            text=True,
            check=True,
        )
        self.assertIn("DNS:" + os.uname().nodename, certificate.stdout)
        # The next one keeps the tokens, which nodes and clients have, and may be on another machine.
        before = read(self.path("lanista/head.pem"))
        self.run_script("head.sbatch")
        self.assertEqual(read(self.path("lanista/token")), tokens["token"])
        self.assertNotEqual(read(self.path("lanista/head.pem")), before)

    def test_nodes_find_the_head_and_take_what_the_job_has(self):
        job = {"SLURM_JOB_ID": "7", "SLURM_CPUS_PER_TASK": "8"}
        # As the head leaves them.
        for folder in ("lanista", "other"):
            os.mkdir(self.path(folder))
            with open(self.path(folder + "/head"), "w", encoding="utf-8") as head:
                head.write("machine:1\n")
        words = self.run_script("nodes.sbatch", **job)
        self.assertEqual(words[0], "node")
        for name in ("head", "head.pem", "node-token"):
            self.assertIn(self.path("lanista/" + name), words)
        self.assertIn(os.uname().nodename + "-7", words)
        self.assertEqual(words[-2:], ["--cpu-slots", "8"])
        words = self.run_script("nodes.sbatch", **job, SLURM_GPUS_ON_NODE="2", LANISTA_FOLDER=self.path("other"))
        self.assertEqual(words[-4:], ["--cpu-slots", "0", "--gpus", "0,1"])
        self.assertIn(self.path("other/head"), words)


class Documents(unittest.TestCase):
    PAGES = ["README.md", "examples/README.md"] + sorted(glob.glob("docs/**/*.md", recursive=True))
    # Where a shell's command ends.
    ENDS = {"|", "||", "&&", "&", ";", ">", ">>", "<", "2>"}

    def commands(self, page):
        """The words after `lanista` of each command in the page's blocks of shell."""
        for block in re.findall(r"^```sh\n(.*?)^```", read(page), re.MULTILINE | re.DOTALL):
            for line in shell_lines(block):
                # Without a prompt, which says on which machine.
                words = shlex.split(re.sub(r"^[a-z]*\$ ", "", line.strip()), comments=True)
                ends = [index for index, word in enumerate(words) if word in self.ENDS]
                words = words[: min(ends, default=None)]
                if words[:2] == ["bazel", "run"] and "//:lanista" in words:
                    yield words[words.index("--") + 1 :]
                elif words[:2] == ["docker", "run"] and "lanista-python" not in words:
                    # What comes after the image.
                    yield words[len(words) - words[::-1].index("lanista") :]
                elif words and os.path.basename(words[0]) in ("lanista", "my_program", "my_search"):
                    yield words[1:]

    @staticmethod
    def without_code(page):
        return re.sub(r"^```.*?^```", "", read(page), flags=re.M | re.S)

    def anchors(self, page):
        """What # may name in the page: its headings, as the usual viewers call them."""
        headings = re.findall(r"^#+ (.*)$", self.without_code(page), re.M)
        return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}

    def test_links_between_them_lead_somewhere(self):
        found = 0
        for page in self.PAGES:
            for path, anchor in re.findall(r"\]\(([^)#\s:]*)(?:#([^)\s]*))?\)", self.without_code(page)):
                target = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
                if target in self.PAGES:
                    found += 1
                    self.assertTrue(not anchor or anchor in self.anchors(target), f"{page}: {path}#{anchor}")
                elif target.startswith("deploy") or target.startswith("docs"):
                    self.assertTrue(os.path.exists(target), f"{page}: {path}")
        self.assertGreater(found, 50)

    def test_their_commands_are_lanistas(self):
        with_commands = set()
        for page in self.PAGES:
            for words in self.commands(page):
                with_commands.add(page)
                with self.subTest(page):
                    parse(words)
        tutorial = {page for page in self.PAGES if page.startswith("docs/tutorial/")}
        self.assertEqual(len(tutorial), 6)
        self.assertLessEqual({"README.md", "examples/README.md", "docs/cluster.md", "docs/web.md"} | tutorial, with_commands)

    def test_the_commands_of_the_quick_start_are_lanistas(self):
        # Those that it runs, and those that it proposes, each with its meaning behind some spaces.
        commands = re.findall(r"^ *bazel-bin/lanista (.*?)(?: {3,}.*)?$", read("scripts/quickstart.sh"), re.M)
        self.assertGreaterEqual(len(commands), 5)
        for command in commands:
            with self.subTest(command):
                parse(shlex.split(command))
        self.assertTrue(any(command.startswith("run ") and "--web" in command for command in commands), commands)


if __name__ == "__main__":
    unittest.main()
