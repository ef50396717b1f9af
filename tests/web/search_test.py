"""Searches that run while the page shows them: one is followed to its end; others are stopped, resumed and exported on the
page, and lose their head under it.

After every step: nothing on the console, no report of the content security policy, no request to another origin.
Environment: LANISTA_TEST_DATA: a folder with real data; with mnist/ in it the first search is that of examples/mnist, else
that of the quick start. See page_testing.py and browser.py for the rest.
"""

import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import urllib.parse

from browser import Browser
from expected import moment
from page_testing import PageTest, main
from proxy import PrefixProxy

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# What the browser itself says of a space that is not known yet, and of requests to a head that was killed or has not begun.
NO_SPACE = r"/space - Failed to load resource: the server responded with a status of 404 "
LOST = NO_SPACE + r"| - Failed to load resource: (net::ERR_|the server responded with a status of 503 )"

# A hundred models, each of which reports three times: nothing is trained.
PACED = """
name: "paced"
space { choices {
  choice { label: "a" candidate: [ %(tens)s ] }
  choice { label: "b" candidate: [ %(tens)s ] }
} }
strategy { grid_search {} }
evaluator { table { path: "table.csv" step_seconds: %(pace)g } }
max_trial_number: %(models)d
"""


class Program:
    """A command that runs until it is interrupted, and prints the page's link first."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen([os.environ["LANISTA"], *arguments], stdout=subprocess.PIPE, text=True)
        self.lines = {}
        for line in self.process.stdout:
            start, _, value = line.strip().rpartition(" ")
            self.lines[start] = value
            if start == "page:":
                break
        if "page:" not in self.lines:
            raise RuntimeError("%s printed no link" % (arguments,))
        self.link = self.lines["page:"]
        self.origin = self.link.split("/#")[0]
        # What it prints later must not fill the pipe.
        self.drain = threading.Thread(target=self.process.stdout.read, daemon=True)
        self.drain.start()

    def end(self, number=signal.SIGINT):
        """Its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        self.process.wait()
        self.drain.join()
        self.process.stdout.close()
        return self.process.returncode


class SearchTest(PageTest):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="lanista-search-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.program = None
        self.addCleanup(lambda: self.program and self.program.end())

    def open_page(self):
        self.browser = Browser()
        self.addCleanup(self.browser.close)
        self.browser.go(self.program.link)

    def check_quiet(self, expected=NO_SPACE):
        self.assertEqual(self.browser.complaints(self.program.origin, re.compile(expected)), [])

    def serve(self, web="127.0.0.1:0", listen="127.0.0.1:0"):
        self.program = Program("serve", "--web", web, "--listen", listen, "--cpu-slots", "2", "--state-dir", self.folder)
        self.head = self.program.lines["listening on"]

    def submit_paced(self, models, pace=0.3):
        with open(os.path.join(self.folder, "table.csv"), "w", encoding="utf-8") as table:
            table.write("a,b,default,default@1,default@2,default@3\n")
            for a, b in itertools.product(range(10), repeat=2):
                value = (a * b + a) / 100
                table.write("%d,%d,%g,%g,%g,%g\n" % (a, b, value, value / 4, value / 2, value))
        config = os.path.join(self.folder, "paced.textproto")
        with open(config, "w", encoding="utf-8") as file:
            file.write(PACED % {"tens": ", ".join("{ i: %d }" % i for i in range(10)), "models": models, "pace": pace})
        done = subprocess.run([os.environ["LANISTA"], "submit", config, "--head", self.head, "--json"],
                              capture_output=True, text=True, check=True)
        self.name = json.loads(done.stdout)["id"]

    def follow(self):
        """To the experiment, as a user gets there."""
        self.browser.wait("const link = [...document.querySelectorAll('main table a')].find((a) => "
                          "a.getAttribute('href').includes(arguments[0])); link?.click(); return !!link", self.name)
        # A page that was loaded anew would have forgotten it.
        self.browser.run("window.stayed = true")
        self.browser.wait("return document.querySelectorAll('.tile').length > 1")

    def tile(self, label):
        """A count of the overview; 0: there is none."""
        return self.browser.run(
            "const tile = [...document.querySelectorAll('.tile')].find((t) => t.lastChild.textContent.trim().endsWith("
            "arguments[0])); return tile ? Number(tile.firstChild.textContent.replace(/,/g, '')) : 0", label)

    def wait_for_tile(self, label, least):
        self.browser.wait(
            "const tile = [...document.querySelectorAll('.tile')].find((t) => t.lastChild.textContent.trim().endsWith("
            "arguments[0])); return tile && Number(tile.firstChild.textContent.replace(/,/g, '')) >= arguments[1]",
            label, least)

    def wait_for_status(self, word):
        self.browser.wait("return document.querySelector('header .status')?.textContent.endsWith(' ' + arguments[0])", word)

    def check_against_commands(self, status):
        """The page, which came here by events, shows what the commands print."""
        self.show = self.lanista("show", self.name)
        self.trials = self.lanista("trials", self.name)
        self.assertEqual(self.show["status"], status)
        self.wait_for_end()
        self.check_overview()
        self.assertTrue(self.browser.run("return window.stayed"))

    def check_curves(self):
        self.open("curves", m="default")
        reports = [[str(model["id"]), str(step["step"])] for model in self.trials["models"]
                   for step in model["metrics"]["intermediate"]]
        self.assertEqual([row[:2] for row in self.chart("Curves")[1:]], reports)
        self.open("overview")

    def test_a_search_is_followed_to_its_end(self):
        arguments = ["run", os.path.join(ROOT, "examples/quickstart/experiment.textproto"), "--set", "max_trial_number=6"]
        mnist = os.path.join(os.environ.get("LANISTA_TEST_DATA", ""), "mnist")
        images, labels = (os.path.join(mnist, "t10k-%s-ubyte.gz" % name) for name in ("images-idx3", "labels-idx1"))
        if not os.path.exists(images):
            print("SKIPPED: the search on MNIST; there is no %s: that of the quick start is followed" % images)
        else:
            arguments[1] = os.path.join(ROOT, "examples/mnist/experiment.textproto")
            # One pair of files in the place of the data set's four.
            arguments += ["--set", "evaluator.classification.dataset={ idx { images: '%s' labels: '%s' split { train: 0.8 "
                          "seed: 1 } } }" % (images, labels)]
        self.program = Program(*arguments, "--web", "127.0.0.1:0", "--web-stay", "--state-dir", self.folder)
        self.open_page()
        self.browser.wait("return document.querySelector('main table a') !== null")
        self.name = self.lanista("list")["experiments"][0]["id"]
        self.follow()
        self.check_quiet()
        # Counts grow under the reader's eyes.
        for count in (1, 3, 5):
            self.wait_for_tile(" succeeded", count)
        self.wait_for_status("done")
        self.check_against_commands("DONE")
        self.assertEqual(self.show["models"]["succeeded"], 6)
        self.check_curves()
        self.check_quiet()
        self.open("model/%d" % self.show["best"][0]["model"])
        self.browser.wait("return document.querySelector('main dl') !== null")
        self.check_quiet()
        self.assertEqual(self.program.end(), 0)

    def check_nodes(self):
        """The view of devices shows who joins the head, and who has left it."""
        self.open("devices")
        nodes = "return document.querySelector('section[aria-label=Nodes]')?.textContent"
        self.browser.wait(nodes + ".includes('No node has joined')")
        node = subprocess.Popen([os.environ["LANISTA"], "node", "--head", self.head, "--cpu-slots", "1", "--name", "n-1"],
                                stdout=subprocess.DEVNULL)
        try:
            self.browser.wait(nodes + ".includes('n-1✓ joined')")
            self.assertEqual([row[:4] for row in self.table("Nodes")[1:]], [["n-1", "✓ joined", "0 of 1", "–"]])
            known = self.lanista("nodes", "--head", self.head)["nodes"]
            self.assertEqual([(one["name"], one["state"], one["busy"], one["devices"], one["trials"]) for one in known],
                             [("n-1", "JOINED", 0, 1, [])])
            since = self.browser.run("return document.querySelector('section[aria-label=Nodes] time').dateTime")
            self.assertEqual(moment(since), moment(known[0]["since"]))
            self.check_quiet()
        finally:
            node.send_signal(signal.SIGINT)
            node.wait()
        self.browser.wait(nodes + ".includes('No node has joined')")
        self.open("overview")

    def choose(self, action, dialog, **fields):
        """An action of the menu, with its form: numbers and texts by the beginning of their labels."""
        self.browser.click("button", "Actions")
        self.browser.click("button", action)
        self.browser.wait("return document.querySelector('dialog[open]')?.getAttribute('aria-label') === arguments[0]", dialog)
        for label, value in fields.items():
            self.browser.run("""
                const [label, value] = arguments;
                const field = [...document.querySelectorAll('dialog[open] label')].find(
                    (l) => l.textContent.startsWith(label)).querySelector('input');
                field.value = value;""", label, str(value))

    def wait_for_no_dialog(self):
        self.browser.wait("return document.querySelector('dialog[open]') === null")

    def test_a_search_is_stopped_resumed_and_exported_on_the_page(self):
        self.serve()
        self.submit_paced(models=100)
        self.open_page()
        self.follow()
        self.wait_for_tile(" succeeded", 3)
        self.choose("Stop …", "Stop this experiment?", Reason="seen <b>enough</b>")
        self.browser.click("dialog[open] button", "Stop")
        self.wait_for_no_dialog()
        self.wait_for_status("stopped")
        self.check_against_commands("STOPPED")
        self.assertEqual(self.show["reason"], "seen <b>enough</b>")
        self.assertIn("seen <b>enough</b>", self.browser.run("return document.querySelector('main').innerText"))
        self.check_quiet()
        self.check_nodes()

        before = self.show["models"]
        most = before["total"] + 3
        self.choose("Resume …", "Resume this experiment", Most=most)
        self.browser.click("dialog[open] button", "Resume")
        self.wait_for_no_dialog()
        self.wait_for_status("done")
        self.check_against_commands("DONE")
        self.assertEqual((self.show["models"]["total"], self.show["models"]["succeeded"]), (most, most))
        self.assertLess(before["succeeded"], most)
        self.check_curves()
        self.check_quiet()

        self.choose("Export the best …", "Export the best models", How=2)
        archive = self.browser.saved_by("dialog[open] button", "Export")
        for rank, best in enumerate(self.show["best"][:2], 1):
            self.assertIn("%d-model-%d.json" % (rank, best["model"]), archive)
        self.wait_for_no_dialog()
        self.check_quiet()

    def actions(self):
        """The menu of actions: each one's name, and why it cannot be done; '': it can."""
        self.browser.click("header button", "Actions")
        shown = self.browser.wait(
            "const all = [...document.querySelectorAll('.menu-list button')].filter((b) => b.offsetParent !== null); "
            "return all.length > 0 && all.map((b) => [b.firstChild.textContent, "
            "b.getAttribute('aria-disabled') === 'true' ? b.getAttribute('aria-description') : '']);")
        self.browser.click("header button", "Actions")
        return dict(shown)

    def test_models_are_noted_and_an_experiment_is_copied_and_deleted_on_the_page(self):
        self.serve()
        self.submit_paced(models=8)
        self.open_page()
        self.follow()
        self.wait_for_tile(" succeeded", 1)
        running = self.actions()
        self.assertEqual(running["Stop …"], "")
        self.assertEqual(running["Resume …"], "it runs")
        self.assertEqual(running["Delete …"], "it runs: stop it first")
        self.wait_for_status("done")
        ended = self.actions()
        self.assertEqual(ended["Stop …"], "it does not run")
        self.assertEqual(ended["Delete …"], "")

        # A star and a note are there for whoever comes later, and in filters.
        self.open("model/2")
        self.browser.click("[aria-label=Note] button", "☆ star")
        self.browser.wait("return document.querySelector('[aria-label=Note] button').textContent === '★ starred'")
        self.browser.run("const f = document.querySelector('textarea[aria-label=Note]'); f.value = 'see <b>this</b>'; "
                         "f.dispatchEvent(new Event('change'))")
        notes = os.path.join(self.folder, "experiments", self.name, "notes.json")
        self.browser.wait("return document.querySelector('textarea[aria-label=Note]').value === 'see <b>this</b>'")
        self.browser.go(self.program.link)
        self.browser.wait("return document.querySelector('main table a') !== null")
        self.open("models", f="star and note ~ this", c="model,note")
        self.browser.wait("return document.querySelectorAll('.grid-body [role=row]').length === 1")
        self.assertEqual(self.browser.run("return document.querySelector('.grid-body [role=row]').innerText.split(/\\s+/)[0]"),
                         "2")
        with open(notes, encoding="utf-8") as file:
            self.assertIn("see <b>this</b>", file.read())
        self.check_quiet()

        self.browser.click("button", "Actions")
        self.browser.click("button", "Copy the configuration")
        text = self.browser.wait("return document.querySelector('dialog[open] pre, dialog[open] .text')?.textContent")
        self.assertIn('name: "paced"', text)
        self.browser.click("dialog[open] button", "Close")
        self.wait_for_no_dialog()

        self.choose("Delete …", "Delete this experiment?", Type="another")
        self.browser.click("dialog[open] button", "Delete")
        self.browser.wait("return document.querySelector('dialog[open] [role=alert]').textContent === "
                          "'This is not its name.'")
        self.assertEqual(len(self.lanista("list")["experiments"]), 1)
        self.browser.run("document.querySelector('dialog[open] input').value = 'paced'")
        self.browser.click("dialog[open] button", "Delete")
        self.wait_for_no_dialog()
        self.browser.wait("return location.hash === '#/' && document.querySelector('main table a') === null")
        self.assertEqual(self.lanista("list")["experiments"], [])
        self.assertFalse(os.path.exists(os.path.join(self.folder, "experiments", self.name)))
        self.check_quiet()

    def test_where_nobody_runs_experiments_actions_say_so(self):
        self.serve()
        self.submit_paced(models=3)
        self.open_page()
        self.follow()
        self.wait_for_status("done")
        self.check_quiet()
        self.program.end()
        self.program = Program("web", "--listen", "127.0.0.1:0", "--state-dir", self.folder)
        self.browser.go(self.program.link)
        self.follow()
        actions = self.actions()
        for name, command in (("Stop …", "lanista stop ID"), ("Resume …", "lanista resume ID"),
                              ("Delete …", "lanista delete ID")):
            self.assertIn(command, actions[name])
        self.assertEqual(actions["Copy the configuration"], "")
        self.check_quiet(LOST)

    def test_the_focus_stays_where_it_is_while_models_end(self):
        self.serve()
        self.submit_paced(models=60)
        self.open_page()
        self.follow()
        self.wait_for_tile(" succeeded", 3)
        self.open("overview", sel="1,2")
        here = "return document.activeElement?.%s"
        for place in (".filter .chip a[href*='/model/2']", ".tiles a[data-key='models']", ".tiles a[data-key='SUCCEEDED']"):
            self.browser.run("document.querySelector(arguments[0]).focus(); window.tile = document.querySelector('.tile')",
                             place)
            # They are drawn anew.
            self.browser.wait("return !window.tile.isConnected")
            self.assertTrue(self.browser.run(here % "matches(arguments[0])", place), place)
        # Its model ends, and is in the list no more: the reader is still there.
        self.browser.run("const link = document.querySelector('[aria-label=\"Running and queued\"] a'); link.focus(); "
                         "window.model = link.textContent")
        self.browser.wait("return document.activeElement?.textContent !== window.model")
        self.assertEqual(self.browser.run(here % "getAttribute('aria-label')"), "Running and queued")
        # A note that is being written outlives the end of its model.
        running = self.browser.run(
            "return [...document.querySelectorAll('[aria-label=\"Running and queued\"] a')].pop().textContent")
        self.open("model/%d" % int(re.search(r"\d+", running).group()))
        self.browser.run("document.querySelector('textarea').focus()")
        self.browser.keys("wide ")
        self.browser.wait("return document.querySelector('h1').parentNode.textContent.match(/succeeded/i)")
        self.browser.keys("enough")
        self.assertEqual(self.browser.run(here % "value"), "wide enough")
        self.check_quiet()

    def test_eight_tabs_follow_a_search_by_one_stream(self):
        self.serve()
        # It runs for four minutes, unless it is stopped: a slow machine needs some for its tabs.
        self.submit_paced(models=100, pace=1.5)
        # Requests of the shared worker are not in the browser's log.
        proxy = PrefixProxy(urllib.parse.urlsplit(self.program.origin).netloc, "/")
        self.addCleanup(proxy.end)
        self.browser = Browser()
        self.addCleanup(self.browser.close)
        self.browser.go(proxy.address + "#" + self.program.link.split("#")[1])
        self.follow()
        tabs = [self.browser.do("GET", "/window")]
        for _ in range(7):
            tabs.append(self.browser.do("POST", "/window/new", {"type": "tab"})["handle"])
            self.browser.do("POST", "/window", {"handle": tabs[-1]})
            self.browser.go("%s#/e/%s/overview" % (proxy.address, self.name))
            self.browser.wait("return document.querySelectorAll('.tile').length > 1")
        least = 0
        for tab in tabs:
            self.browser.do("POST", "/window", {"handle": tab})
            self.browser.wait("return document.querySelector('header .connection').textContent === 'live'")
            # Each goes on from what the one before has shown.
            self.wait_for_tile(" succeeded", least + 1)
            least = self.tile(" succeeded")
        self.lanista("stop", self.name, "--head", self.head)
        for tab in tabs:
            self.browser.do("POST", "/window", {"handle": tab})
            self.wait_for_status("stopped")
            self.show = self.lanista("show", self.name)
            self.wait_for_tile(" succeeded", self.show["models"]["succeeded"])
            self.assertEqual(self.tile(" succeeded"), self.show["models"]["succeeded"])
        self.assertGreater(sum("/columns" in path for path in proxy.asked), 7)
        # A browser has six connections to a server: eight streams would leave none.
        self.assertEqual(len([path for path in proxy.asked if "/events?" in path]), 1)
        self.assertEqual(self.browser.complaints(proxy.address, re.compile(NO_SPACE)), [])

    def test_a_head_that_is_killed_under_the_page_is_found_again(self):
        self.serve()
        self.submit_paced(models=30)
        self.open_page()
        self.follow()
        self.wait_for_tile(" succeeded", 4)
        self.check_quiet()
        self.program.end(signal.SIGKILL)
        self.browser.wait("return /Lost the head, trying again/.test(document.querySelector('#banner').textContent)")
        self.assertEqual(self.browser.run("return document.querySelector('header .connection').textContent"),
                         "lost the head")
        # What was known stays, and says that it may be old.
        self.assertGreaterEqual(self.tile(" succeeded"), 4)
        self.assertIn("What is shown is what was known before.",
                      self.browser.run("return document.querySelector('#banner').textContent"))
        self.serve(web=self.program.origin.split("//")[1], listen=self.head)
        self.browser.wait("return document.querySelector('#banner').textContent === '' && "
                          "document.querySelector('header .connection').textContent === 'live'")
        self.check_quiet(LOST)
        # The head goes on with the search, and the page with both.
        self.wait_for_status("done")
        self.check_against_commands("DONE")
        self.assertEqual(self.show["models"]["succeeded"], 30)
        self.check_curves()
        self.check_quiet()


if __name__ == "__main__":
    sys.exit(main())
