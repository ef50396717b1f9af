"""What tests of the page in a browser share. Environment: LANISTA: the program. LANISTA_JOURNALS: make_journals, for
JournalTest."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import unittest
import urllib.parse
import urllib.request

import expected
from browser import find_browser
from expected import ENDED, NOTHING, metric_of, number, same
from proxy import PrefixProxy


class PageTest(unittest.TestCase):
    """Tests set `browser`, `name` (the experiment's id), `show` and `trials` (its documents), and `folder`, where the
    state is."""

    def lanista(self, *arguments):
        done = subprocess.run([os.environ["LANISTA"], *arguments, "--json", "--state-dir", self.folder],
                              capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    def open(self, view, **parameters):
        self.browser.follow("#/e/%s/%s?%s" % (self.name, view, urllib.parse.urlencode(parameters)))
        self.browser.wait(
            "return document.querySelector('.state-loading') === null && location.hash.includes(arguments[0]) && "
            "document.querySelector('main').children.length > 0 && "
            "document.querySelector('header .crumb').textContent.includes(arguments[1])", "/%s?" % view, self.name)

    def chart(self, title):
        """The table of a chart: a list of rows, the first one is the header."""
        return self.browser.wait("""
            const chart = [...document.querySelectorAll('figure.chart')].find(
                (c) => c.getAttribute('aria-label') === arguments[0] && !c.hidden);
            if (!chart) return null;
            const table = chart.querySelector('.chart-table');
            if (table.hidden) [...chart.querySelectorAll('button')].find((b) => b.textContent === 'Table').click();
            if (/more rows are in the CSV/.test(table.textContent)) throw new Error('the table is cut');
            return [...table.querySelectorAll('tr')].map((row) => [...row.children].map((c) => c.textContent));""",
                                 title)

    def table(self, caption):
        return self.browser.wait("""
            const table = [...document.querySelectorAll('main table')].find(
                (t) => t.caption?.textContent === arguments[0]);
            return table && [...table.rows].map((row) => [...row.cells].map((c) => c.textContent.trim()));""", caption)

    def assert_cells(self, shown, wanted, what):
        self.assertEqual(len(shown), len(wanted), "%s: %s" % (what, shown))
        for cell, value in zip(shown, wanted):
            self.assertTrue(same(cell, value), "%s: %s in %s, not %s of %s" % (what, cell, shown, value, wanted))

    def value_text(self, value, known=True):
        """A number as charts' tables have it: in full."""
        return NOTHING if not known else expected.ODD if value is None else expected.plain(value)

    def wait_for_end(self):
        # Models that only wait come with the table, which is loaded again soon after the end.
        self.browser.wait("return document.querySelector('header .status')?.textContent.endsWith(' ' + arguments[0]) && "
                          "[...document.querySelectorAll('.tile')].some((t) => t.lastChild.textContent.trim() === "
                          "'models' && t.firstChild.textContent.trim() === arguments[1])",
                          expected.word(self.show["status"]), number(self.show["models"]["total"]))

    def check_overview(self):
        document, objective = self.trials, self.trials["objectives"][0]
        tiles = {label: value for value, label in self.browser.run(
            "return [...document.querySelectorAll('.tile')].map((t) => [...t.children].map((c) => "
            "c.textContent.trim()))")}
        best = self.show["best"][0]
        label = "best %s, model %d" % (objective["metric"], best["model"])
        self.assertIn(label, tiles)
        self.assertTrue(same(tiles[label], number(best["metrics"][objective["metric"]])), tiles)
        self.assertEqual(tiles["models"], number(self.show["models"]["total"]))
        statuses = [model["status"] for model in document["models"]]
        for status in set(statuses):
            shown = [value for text, value in tiles.items() if text.endswith(" " + expected.word(status))]
            self.assertEqual(shown, [number(statuses.count(status))], status)
        for status, key in (("SUCCEEDED", "succeeded"), ("FAILED", "failed"), ("STOPPED_EARLY", "stopped_early"),
                            ("INFEASIBLE", "infeasible")):
            self.assertEqual(statuses.count(status), self.show["models"][key])
        rows = self.chart("Best so far")
        wanted = expected.best_so_far(document)
        self.assertEqual(len(rows) - 1, len(wanted))
        for row, (model, order, time, value, best_value) in zip(rows[1:], wanted):
            self.assert_cells(row, [str(model), str(order), time or NOTHING, self.value_text(value, value is not None),
                                    self.value_text(best_value, best_value is not None)], "best so far")
        self.check_front()
        failures = {}
        for model in document["models"]:
            if model["status"] == "FAILED":
                failures.setdefault(model["failure"]["reason"], []).append(model["id"])
        text = self.browser.run("return document.querySelector('[aria-label=Failures]').textContent")
        self.assertIn("Failures (%d)" % sum(map(len, failures.values())), text)
        for reason, models in failures.items():
            self.assertIn("%s (%d)" % (expected.word(reason), len(models)), text)

    def check_front(self):
        rows = self.chart("Pareto front")
        models = {model["id"]: model for model in self.trials["models"]}
        objectives = {o["metric"]: o["goal"] for o in self.trials["objectives"]}
        _, x, y, _, _ = rows[0]
        data = []
        own = {"Duration": expected.seconds_of, "Parameters": lambda model: model["params"],
               "FLOPs": lambda model: model["flops"]}
        for model in models.values():
            pair = [own[name](model) if name in own else metric_of(model, name)[0] for name in (x, y)]
            if model["status"] in ENDED and None not in pair:
                data.append((model["id"], *pair, expected.counts(model)))
        goals = [objectives.get(name, "MINIMIZE" if name in (*own, "params", "flops", "loss") else "MAXIMIZE")
                 for name in (x, y)]
        front = expected.on_front(data, *goals)
        known = {entry[0]: entry for entry in data}
        self.assertEqual(sorted(int(row[0]) for row in rows[1:]), sorted(known))
        for row in rows[1:]:
            entry = known[int(row[0])]
            self.assert_cells(row, [row[0], expected.plain(entry[1]), expected.plain(entry[2]),
                                    "yes" if entry[0] in front else "no", models[entry[0]]["status"]], "front")


class JournalTest(PageTest):
    """Journals that make_journals writes, and `lanista web` that shows them."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="lanista-journals-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.maker = subprocess.Popen([os.environ["LANISTA_JOURNALS"], cls.folder], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, text=True)
        cls.addClassCleanup(cls.stop_maker)
        cls.addClassCleanup(cls.stop_server)
        cls.start_server(0)

    @classmethod
    def start_server(cls, port):
        cls.server = subprocess.Popen(
            [os.environ["LANISTA"], "web", "--listen", "127.0.0.1:%d" % port, "--state-dir", cls.folder],
            stdout=subprocess.PIPE, text=True)
        cls.link = next(line for line in cls.server.stdout if line.startswith("page: ")).split()[1]
        cls.base, cls.token = cls.link.split("#token=")

    def open_behind_proxy(self):
        """Has the browser show the page through a proxy, which it returns."""
        proxy = PrefixProxy(urllib.parse.urlsplit(self.base).netloc, "/")
        self.addCleanup(proxy.end)
        self.browser.go("%s#token=%s" % (proxy.address, self.token))
        return proxy

    @classmethod
    def stop_maker(cls):
        cls.maker.stdin.close()
        cls.maker.wait()
        cls.maker.stdout.close()

    @classmethod
    def stop_server(cls):
        cls.server.send_signal(signal.SIGINT)
        cls.server.wait()
        cls.server.stdout.close()

    @classmethod
    def tell(cls, command):
        cls.maker.stdin.write(command + "\n")
        cls.maker.stdin.flush()
        answer = cls.maker.stdout.readline().strip()
        if answer != "ok":
            raise RuntimeError("%s: %s" % (command, answer))

    @classmethod
    def ask(cls, path):
        """An answer that is read as it comes."""
        return urllib.request.urlopen(urllib.request.Request(cls.base + "api/v1/experiments/" + path,
                                                             headers={"Authorization": "Bearer " + cls.token}))

    @classmethod
    def get(cls, path):
        with cls.ask(path) as answer:
            return answer.read()

    @classmethod
    def get_json(cls, path):
        return json.loads(cls.get(path))


def main():
    """Runs the tests of the program, where there is a browser."""
    browser, driver = find_browser()
    if not browser or not driver:
        print("SKIPPED: the page is tested in chromium by chromium-driver, which are not installed")
        return 1 if os.environ.get("LANISTA_BROWSER_REQUIRED") else 0
    return unittest.main(module="__main__", verbosity=2)
