"""Random journals of every engine: what the page shows is what `--json` prints, and events change it as they should.

Environment: LANISTA_SEEDS: how many journals of each engine (1). See page_testing.py and browser.py for the rest.
"""

import base64
import functools
import http.server
import json
import os
import re
import shutil
import struct
import sys
import threading
import urllib.parse

import expected
from browser import Browser
from expected import ENDED, NOTHING, metric_of, number, same
from page_testing import JournalTest, main

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ENGINES = ("direct", "graph", "cgo")
# How each engine's experiment ends; None: its process is gone.
ENDS = {"direct": "DONE", "graph": None, "cgo": "STOPPED"}
GRAPH_LIMIT = 500  # The max_trial_number of the graph engine's configuration in random_journal.h.
METRICS = ("default", "params", "loss")
# What the browser itself says of graphs that no trial can make: there is no program behind these journals.
ABSENT = r"/models/\d+/graph - Failed to load resource: .* status of (404|409) "
# The browser's hours off UTC: local times are not UTC by chance.
ZONE, OFFSET = "Asia/Kolkata", 5.5


def float32(value):
    """The float32 next to it; beyond those, itself."""
    try:
        return struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return value


class Quiet(http.server.SimpleHTTPRequestHandler):
    extensions_map = {".js": "text/javascript", ".html": "text/html"}

    def log_message(self, *_):
        pass


class TruthTest(JournalTest):
    def journals(self, kind):
        """Names and engines of new experiments without models."""
        journals = []
        for engine in ENGINES:
            for seed in range(1, 1 + int(os.environ.get("LANISTA_SEEDS", "1"))):
                name = "%s-%s-%d" % (kind, engine, seed)
                self.tell("create %s %s %d" % (name, engine, seed))
                journals.append((name, engine))
        return journals

    def end(self, name, engine):
        self.tell("end %s %s" % (name, ENDS[engine]) if ENDS[engine] else "leave " + name)

    # ---- Events ----

    def documents(self, name):
        """All that the page loads of an experiment, none of it older than the last fact."""
        columns = self.get_json(name + "/columns")

        def curves(metric, times):
            return base64.b64encode(self.get("%s/curves?metric=%s%s&number=%d" % (
                name, metric, times, columns["number"]))).decode()

        return {
            "columns": columns,
            "show": self.get_json(name),
            "space": self.get_json(name + "/space"),
            "attempts": self.get_json("%s/attempts?number=%d" % (name, columns["number"])),
            "curves": {metric: curves(metric, "") for metric in METRICS},
            "times": {metric: curves(metric, "&times=1") for metric in METRICS},
        }

    @staticmethod
    def messages(lines):
        """What a stream of events says, as it comes."""
        return (json.loads(line[len("data: "):]) for line in lines if line.startswith("data: "))

    def events(self, name):
        """All events of an experiment that has ended."""
        messages = self.messages(self.get(name + "/events?after=0").decode().splitlines())
        return [event for message in messages for event in message.get("events", [])]

    def browser_of_tests(self):
        """A browser that can import what the page's unit tests do."""
        files = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=ROOT))
        threading.Thread(target=files.serve_forever, daemon=True).start()
        self.addCleanup(files.server_close)
        self.addCleanup(files.shutdown)
        browser = Browser(logs_requests=False)
        self.addCleanup(browser.close)
        browser.go("http://127.0.0.1:%d/tests/web/page/unit_tests.html" % files.server_port)
        return browser

    @staticmethod
    def differences(browser, *arguments):
        return browser.run(
            "return import('/tests/web/page/grown.js').then((m) => m.differences(...arguments));", *arguments)

    def test_events_applied_to_an_old_document_equal_a_new_one(self):
        browser = self.browser_of_tests()
        for name, _ in self.journals("grown"):
            with self.subTest(journal=name):
                moments = []
                for models in (0, 3, 12):
                    self.tell("grow %s %d" % (name, models))
                    moments.append(self.documents(name))
                self.tell("grow %s 12" % name)
                self.tell("end %s DONE" % name)
                last = self.documents(name)
                events = self.events(name)
                self.assertGreater(len(events), 50)
                for moment in moments:
                    later = [event for event in events if int(event.get("number", 0)) > moment["columns"]["number"]]
                    self.assertEqual(self.differences(browser, moment, [{"events": later}], last), [])

    def test_models_in_the_place_of_their_events_equal_a_new_document(self):
        browser = self.browser_of_tests()
        for seed in range(1, 1 + int(os.environ.get("LANISTA_SEEDS", "1"))):
            with self.subTest(seed=seed):
                name = "quick-%d" % seed
                self.tell("create %s quick %d" % (name, seed))
                self.tell("grow %s 20" % name)
                before = self.documents(name)
                messages = []
                with self.ask("%s/events?models=1&after=%d" % (name, before["columns"]["number"])) as stream:
                    coming = self.messages(line.decode() for line in stream)
                    # Until it has come to the journal's end for a first time, it gets events.
                    while not messages or "columns" not in messages[-1]:
                        self.tell("grow %s 60" % name)
                        messages.append(next(coming))
                    self.tell("end %s DONE" % name)
                    messages += coming
                self.assertEqual(messages.pop(), {}, "the end")
                self.assertEqual(self.differences(browser, before, messages, self.documents(name)), [])

    # ---- What is seen ----

    def test_every_number_on_the_page_is_that_of_json(self):
        self.browser = Browser()
        self.addCleanup(self.browser.close)
        self.browser.devtools("Emulation.setTimezoneOverride", {"timezoneId": ZONE})
        self.browser.go(self.link)
        journals = self.journals("shown")
        for self.name, engine in journals:
            with self.subTest(journal=self.name):
                self.check_journal(engine)
        names = [name for name, _ in journals]
        self.check_experiments(names)
        self.check_compared(names)
        self.assertEqual(self.browser.complaints(self.base.rstrip("/"), re.compile(ABSENT)), [])

    def test_a_page_whose_server_was_killed_says_so_and_is_right_again(self):
        self.browser = Browser(logs_requests=False)
        self.addCleanup(self.browser.close)
        self.name, engine = self.journals("killed")[0]
        self.tell("grow %s 6" % self.name)
        self.browser.go(self.link)
        self.open("overview")
        self.browser.wait("return document.querySelectorAll('.tile').length > 2")
        self.server.kill()
        self.server.wait()
        self.server.stdout.close()
        self.browser.wait("return /Lost the head, trying again/.test(document.querySelector('#banner').textContent)")
        self.tell("grow %s 16" % self.name)
        self.end(self.name, engine)
        self.start_server(urllib.parse.urlsplit(self.base).port)
        self.show = self.lanista("show", self.name)
        self.trials = self.lanista("trials", self.name)
        self.wait_for_end()
        self.assertEqual(self.browser.run("return document.querySelector('#banner').textContent"), "")
        self.check_overview()

    def test_each_part_that_got_no_answer_comes_by_itself_once_there_is_one(self):
        self.name, engine = next((name, engine) for name, engine in self.journals("refused") if engine == "cgo")
        self.tell("grow %s 20" % self.name)
        self.end(self.name, engine)
        model = next(model for model in self.lanista("trials", self.name)["models"] if model["attempts"])
        logs = os.path.join(self.folder, "experiments", self.name, "logs")
        os.makedirs(logs, exist_ok=True)
        for attempt in model["attempts"]:
            with open(os.path.join(logs, "trial-%d.log" % attempt["trial"]), "w", encoding="utf-8") as log:
                log.write("what it printed")
        page = "model/%d" % model["id"]
        self.browser = Browser(logs_requests=False)
        self.addCleanup(self.browser.close)
        proxy = self.open_behind_proxy()
        self.open("overview")
        for view, refused, failed, shown in (
                ("curves", "/curves", "cannot be loaded", "Click a line"),
                ("choices", "/importance", "There is no importance", "Too few models|Importance of"),
                ("devices", "/attempts", "The timeline cannot be loaded", "Busy share"),
                ("cgo", "/merged", "The trials cannot be loaded", "If alone"),
                (page, r"/models/\d+$", "cannot be shown", "Sample"),
                (page, "/log", "The log cannot be read: the head does not answer", "what it printed"),
                (page, "/files", "the head does not answer", "It has left no files")):
            with self.subTest(view=view, refused=refused):
                proxy.refused, proxy.asked = refused, []
                self.browser.follow("#/e/%s/%s" % (self.name, view))
                self.browser.wait("return document.querySelector('main').textContent.includes(arguments[0])", failed)
                self.assertNotRegex(self.browser.run("return document.querySelector('main').textContent"), shown)
                proxy.refused = ""
                self.browser.wait("return new RegExp(arguments[1]).test(document.querySelector('main').textContent) && "
                                  "!document.querySelector('main').textContent.includes(arguments[0])", failed, shown)
                # It is asked for at each poll at most.
                self.assertLess(sum(re.search(refused, path) is not None for path in proxy.asked), 10)
                self.browser.follow("#/e/%s/overview" % self.name)
                self.browser.wait("return document.querySelectorAll('.tile').length > 2")

    def test_an_experiment_without_models_and_journals_that_cannot_be_read_are_shown(self):
        self.name, _ = self.journals("bare")[0]
        for name, contents in (("broken-1", b"x" * 9000), ("empty-1", b"")):
            folder = os.path.join(self.folder, "experiments", name)
            os.makedirs(folder)
            self.addCleanup(shutil.rmtree, folder)
            with open(os.path.join(folder, "journal.db"), "wb") as file:
                file.write(contents)
        self.browser = Browser(logs_requests=False)
        self.addCleanup(self.browser.close)
        self.browser.go(self.link)
        self.browser.wait("const text = document.querySelector('main table')?.textContent ?? ''; "
                          "return arguments[0].every((name) => text.includes(name))", [self.name, "broken-1", "empty-1"])
        rows = {row[1]: row for row in self.table("Experiments, the newest first")[1:]}
        for name in ("broken-1", "empty-1"):
            row = next(row for text, row in rows.items() if name in text)
            self.assertIn("unreadable", row[2])
            self.assertIn("journal.db", row[2])
        for view in ("overview", "models", "curves", "choices", "devices", "compare"):
            self.open(view)
            self.assertNotRegex(self.browser.run("return document.querySelector('main').textContent"),
                                r"NaN|undefined|null", view)
        self.assertEqual([entry for entry in self.browser.log("browser") if entry["level"] == "SEVERE"], [])
        self.tell("end %s DONE" % self.name)
        # What cannot be read says where it lies.
        self.browser.follow("#/e/broken-1/overview")
        self.browser.wait("return /broken-1.*journal.db/.test(document.body.textContent)")

    def check_journal(self, engine):
        self.tell("grow %s 6" % self.name)
        # The page is open while the experiment grows: what it shows came by events.
        self.open("overview")
        self.browser.wait("return document.querySelectorAll('.tile').length > 2")
        self.tell("grow %s 22" % self.name)
        if engine == "graph":  # The one whose models are limited.
            self.check_time_left()
        self.end(self.name, engine)
        self.show = self.lanista("show", self.name)
        self.trials = self.lanista("trials", self.name)
        self.columns = self.get_json(self.name + "/columns")
        self.wait_for_end()
        self.check_overview()
        self.check_models()
        self.check_curves()
        self.check_choices()
        self.check_devices()
        if engine == "cgo":
            self.check_cgo()
        self.check_model_pages()
        self.check_compare()

    def check_time_left(self):
        left = expected.time_left(self.lanista("trials", self.name), GRAPH_LIMIT)
        # The page knows times to the millisecond.
        wanted = ["about %s left" % expected.duration(round(left + off)) for off in (-0.5, 0, 0.5)]
        self.browser.wait("const text = document.querySelector('main').textContent; "
                          "return arguments[0].some((wanted) => text.includes(wanted))", wanted)

    def check_experiments(self, names):
        known = {one["id"]: one for one in self.lanista("list")["experiments"]}
        self.browser.follow("#/")
        # The list of before is shown until the new one has come. Experiments of other tests may run on.
        self.browser.wait("const rows = [...document.querySelectorAll('main tbody tr')].map((row) => row.textContent); "
                          "return arguments[0].every((name) => rows.some((text) => text.includes(name) && "
                          "!text.includes('running')))", names)
        rows = {row[1][len(row[1]) // 2:]: row for row in self.table("Experiments, the newest first")[1:]}
        for name in names:
            one, row = known[name], rows[name]
            self.assertTrue(row[2].startswith(
                {"DONE": "✓", "INTERRUPTED": "‖", "STOPPED": "■"}[one["status"]] + " " + expected.word(one["status"])), row)
            ended = one["models"]["total"] - one["models"]["unfinished"]
            self.assertTrue(row[3].startswith("%s ended" % number(ended)), row)
            self.assertIn("%d failed" % one["models"]["failed"], row[3])
            best = one["best"][0]
            value = best["metrics"][one["objectives"][0]["metric"]]
            self.assertTrue(row[4].endswith("model %d" % best["model"]), row)
            self.assertTrue(same(row[4][:-len("model %d" % best["model"])],
                                 {NOTHING} if value is None else number(value)), row)
            self.assertEqual(row[5], expected.duration(one["seconds"]))

    def check_compared(self, names):
        """The best of several experiments in one chart."""
        names = names[:8]  # No more are compared.
        self.browser.follow("#/?compare=" + ",".join(names))
        self.browser.wait("const text = document.querySelector('figure.chart figcaption')?.textContent ?? ''; "
                          "return arguments[0].every((name) => text.includes(name + ': '))", names)
        wanted = []
        for name in names:
            started = self.get_json(name + "/columns")["started"] / 1000
            best = None
            for _, order, time, _, best_value in expected.best_so_far(self.lanista("trials", name)):
                if best_value is not None and best_value != best:
                    best = best_value
                    wanted.append((name, order, None if time is None else expected.moment(time).timestamp() - started, best))
        rows = self.chart("Best so far")[1:]
        self.assertEqual([(row[0], int(row[1])) for row in rows], [entry[:2] for entry in wanted])
        for row, (_, _, seconds, best) in zip(rows, wanted):
            if seconds is None:
                self.assertEqual(row[2], NOTHING)
            else:
                self.assertAlmostEqual(float(row[2]), seconds, places=3)
            self.assertEqual(float(row[3]), best)

    def check_models(self):
        labels = [choice["label"] for choice in self.columns["choices"]]
        own = {"model": "Model", "status": "Status", "duration": "Duration", "steps": "Steps", "attempts": "Attempts",
               "params": "Parameters", "flops": "FLOPs", "start": "Start", "end": "End", "latest": "Latest",
               "front": "Front", "violation": "Violation", "stopped_step": "Stopped at step", "reason": "Reason",
               "message": "Message"}
        # There is no column of costs that nobody knows.
        own = {key: title for key, title in own.items()
               if key not in ("params", "flops") or any(model[key] is not None for model in self.trials["models"])}
        ids = [*own, *("metric." + m for m in self.columns["metrics"]), *("choice." + label for label in labels)]
        self.open("models", c=",".join(ids))
        models = {model["id"]: model for model in self.trials["models"]}
        seen = {}
        while len(seen) < len(models):
            before = len(seen)
            for row in self.browser.wait(
                    "const rows = [...document.querySelectorAll('.grid-body [role=row]')]; return rows.length > 0 && "
                    "rows.map((row) => [...row.children].map((c) => c.textContent));"):
                seen[int(row[0])] = row
            self.browser.run("""
                const grid = document.querySelector('[role=grid]');
                grid.scrollTop += grid.clientHeight;
                return new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve())));""")
            if len(seen) == before:
                self.assertEqual(len(seen), len(models))
        for model, row in seen.items():
            cells = expected.model_row(models[model], {"metrics": self.columns["metrics"], "choices": labels}, OFFSET)
            wanted = [cells[title] for title in [*own.values(), *ids[len(own):]]]
            row = [cell.split(" ", 1)[1] if i == 1 else cell for i, cell in enumerate(row)]
            self.assert_cells(row, wanted, "model %d" % model)

    def reports(self, metric):
        """(model, step, value) of all reports."""
        return [(model["id"], step["step"], step["metrics"][metric]) for model in self.trials["models"]
                for step in model["metrics"]["intermediate"] if metric in step["metrics"]]

    def assert_reports(self, rows, wanted, what):
        self.assertEqual(len(rows), len(wanted), what)
        for row, (model, step, value) in zip(rows, wanted):
            self.assertEqual(row[:2], [str(model), str(step)], what)
            if value is None:
                self.assertIn(row[2], expected.ODD)
            else:
                # Curves have 32 bits, but for numbers that those cannot hold.
                self.assertEqual(float32(float(row[2])), float32(value), what)

    def check_curves(self):
        for metric in METRICS:
            self.open("curves", m=metric)
            wanted = self.reports(metric)
            if wanted:
                self.assert_reports(self.chart("Curves")[1:], wanted, "curves of " + metric)

    def check_choices(self):
        labels = [choice["label"] for choice in self.columns["choices"]]
        metric = self.trials["objectives"][0]["metric"]
        ended = [model for model in self.trials["models"] if model["status"] in ENDED]
        for label in labels:
            self.open("choices", axes=",".join("choice." + name for name in labels) + ",metric." + metric, top="0.25")
            # By its control, which is there however few models there are.
            self.browser.wait("""
                const field = [...document.querySelectorAll('figure.chart .field')].find((f) => f.textContent.startsWith('of'));
                if (!field) return false;
                field.lastChild.value = arguments[0];
                field.lastChild.dispatchEvent(new Event('change'));
                return location.hash.includes('box=');""", label)
            if label == labels[0]:
                rows = self.chart("Parallel coordinates")[1:]
                self.assertEqual(len(rows), len(ended))
                for row, model in zip(rows, ended):
                    chosen = [json.dumps(model["sample"][name], separators=(",", ":")).strip('"')
                              if name in model["sample"] else "not chosen" for name in labels]
                    value, known = metric_of(model, metric)
                    row = [cell.replace("[", "").replace("]", "") for cell in row]
                    chosen = [text.replace("[", "").replace("]", "") for text in chosen]
                    self.assert_cells(row, [str(model["id"]), *chosen, self.value_text(value, known)], "axes")
                self.check_importance(metric)
            groups = {}
            for model in ended:
                value, known = metric_of(model, metric)
                if value is None:
                    continue
                chosen = model["sample"].get(label, "not chosen")
                for one in chosen if isinstance(chosen, list) else [chosen]:
                    groups.setdefault(str(one), []).append(value)
            boxes = self.chart("Values by candidate")[1:]
            self.assertEqual({row[0] for row in boxes if row[1] != "0"}, set(groups))
            for row in boxes:
                values = sorted(groups.get(row[0], []))
                self.assertEqual(row[1], str(len(values)))
                for cell, q in zip(row[2:], (0, 0.25, 0.5, 0.75, 1)):
                    if values:
                        wanted = expected.quantile(values, q)
                        self.assertAlmostEqual(float(cell), wanted, delta=1e-9 * abs(wanted))

    def check_importance(self, metric):
        count, wanted = expected.importance(self.trials, self.columns, metric, 0.25)
        text = self.browser.wait("return document.querySelector('[aria-label=Importance]').textContent")
        if count < 30:
            self.assertIn("Too few models", text)
            return
        shown = dict(self.browser.run("return [...document.querySelectorAll('.bars button')].map((b) => "
                                      "[b.firstChild.textContent, b.lastChild.textContent])"))
        self.assertEqual(shown, {label: "unknown" if value is None else number(value, 3)
                                 for label, value in wanted.items()})
        saved = {row["choice"]: row["importance"]
                 for row in json.loads(self.browser.saved_by("[aria-label=Importance] button", "JSON"))}
        self.assertEqual({label: "unknown" if value is None else number(value, 3) for label, value in saved.items()}, shown)

    def check_devices(self):
        self.open("devices")
        bars = {}
        for model in self.trials["models"]:
            for attempt in model["attempts"]:
                if attempt["start"] is not None:
                    bars.setdefault((attempt["trial"], "%s/%s" % (attempt["node"], attempt["device"])), []).append(
                        (model["id"], attempt))
        rows = {(int(row[0]), row[1]): row for row in self.chart("Trials by device")[1:]}
        self.assertEqual(set(rows), set(bars))
        for key, members in bars.items():
            row = rows[key]
            self.assertEqual(sorted(map(int, row[2].split())), sorted(model for model, _ in members))
            self.assertEqual(row[3], min(attempt["start"] for _, attempt in members))
            ends = [attempt["end"] for _, attempt in members]
            self.assertEqual(row[4], NOTHING if None in ends else max(ends))
            outcomes = {attempt["outcome"] for _, attempt in members if attempt["outcome"]}
            if None not in ends:
                self.assertEqual(row[5], outcomes.pop() if len(outcomes) == 1 else "MIXED")
        attempts = [(device, attempt) for (_, device), members in bars.items() for _, attempt in members]
        text = self.browser.run("return document.querySelector('[aria-label=\"Busy share\"]').textContent")
        waiting = sum(model["status"] == "QUEUED" for model in self.trials["models"])
        if bars:
            self.assertIn("%s waiting." % expected.counted(waiting, "model"), text)
        # Of trials that run the shares grow while this is read.
        if bars and all(attempt["end"] for _, attempt in attempts):
            shown = dict(self.browser.run("return [...document.querySelectorAll('.bar-line')].map((line) => "
                                          "[line.querySelector('.clip').title, line.lastChild.textContent])"))
            shares = expected.busy_shares([(device, attempt["start"], attempt["end"]) for device, attempt in attempts])
            self.assertEqual(shown, {device: "%d %%" % share for device, share in shares.items()})

    def check_cgo(self):
        merged = self.lanista("trials", self.name, "--merged")["trials"]
        self.open("cgo", t=str(merged[0]["trial"]))
        rows = {int(row[0]): row for row in self.table("Trials")[1:]}
        self.assertEqual(self.browser.run("return document.querySelector('[aria-label=\"In short\"]').textContent"),
                         expected.merged_summary(merged))
        for trial in merged:
            row = rows[trial["trial"]]
            self.assertEqual(row[1], ", ".join(str(member["model"]) for member in trial["models"]))
            self.assert_cells(row[2:7], [
                NOTHING if trial["steps"] is None else number(trial["steps"]),
                NOTHING if trial["steps_alone"] is None else number(trial["steps_alone"]),
                expected.size(trial["estimated_memory"]), expected.size(trial["measured_memory"]),
                expected.duration(trial["seconds"])], "trial %d" % trial["trial"])
        steps = self.table("Steps of the trial, as planned")[1:] if merged[0]["work"] else []
        self.assertEqual([row[1] for row in steps],
                         [NOTHING if work["steps"] == 0 else number(work["steps"]) for work in merged[0]["work"]])

    def check_model_pages(self):
        examples = {}
        for model in self.trials["models"]:
            examples.setdefault((model["status"], len(model["attempts"]) > 1, bool(model["failure"] and
                                 model["failure"]["signal"])), model)
        for model in examples.values():
            self.open("model/%d" % model["id"])
            self.browser.wait("return document.querySelector('main h1')?.textContent === arguments[0] && "
                              "document.querySelector('main dl, main .facts + *') !== null", "Model %d" % model["id"])
            facts = dict(self.browser.run(
                "return [...document.querySelectorAll('main dl.facts')].flatMap((list) => [...list.querySelectorAll("
                "'dt')].map((t) => [(list.closest('section').querySelector('h2').textContent) + ' ' + t.textContent, "
                "t.nextSibling.textContent]))"))
            for name, value in (model["metrics"]["final"] or {}).items():
                self.assertTrue(same(facts["Metrics " + name], number(value, 8)), facts)
            for label, value in model["sample"].items():
                self.assertEqual(facts["Sample " + label], value if isinstance(value, str) else
                                 json.dumps(value, separators=(",", ":")))
            text = self.browser.run("return document.querySelector('main').textContent")
            if model["params"] is not None:
                flops = "" if model["flops"] is None else ", %s FLOPs" % number(model["flops"])
                self.assertIn("%s parameter%s%s" % (number(model["params"]), "" if model["params"] == 1 else "s", flops),
                              text)
            if model["failure"] and model["failure"]["signal"]:
                self.assertIn("signal %d" % model["failure"]["signal"], text)
            if model["stopped"]:
                self.assertIn("stopped early at step %d: " % model["stopped"]["step"], text)
            if model["attempts"]:
                rows = self.table("Attempts")[1:]
                self.assertEqual(len(rows), len(model["attempts"]))
                for row, attempt in zip(rows, model["attempts"]):
                    self.assert_cells(row[:5], [
                        str(attempt["attempt"]), str(attempt["trial"]),
                        "%s/%s" % (attempt["node"], attempt["device"]) if attempt["device"] else NOTHING,
                        expected.local(attempt["start"], OFFSET), expected.duration(attempt["seconds"])], "attempt")
                    if attempt["failure"] and attempt["failure"]["signal"]:
                        self.assertIn("(signal %d)" % attempt["failure"]["signal"], row[6])
                    if attempt["start"]:
                        self.assertEqual(row[7], attempt["start"][:19].replace("T", " ") + " UTC")
            steps = model["metrics"]["intermediate"]
            if steps:
                rows = self.chart("Curves of this model")
                for row, step in zip(rows[1:], steps):
                    self.assert_cells(row, [str(step["step"]), step["time"], *(
                        self.value_text(step["metrics"].get(name), name in step["metrics"]) for name in rows[0][2:])],
                        "curves of model %d" % model["id"])

    def check_compare(self):
        models = [model for model in self.trials["models"] if model["status"] in ENDED][:4]
        self.open("compare", sel=",".join(str(model["id"]) for model in models))
        rows = {row[0]: row[1:] for row in self.table("Models side by side; ≠ marks what differs")[1:]}
        for metric in self.columns["metrics"]:
            values = [metric_of(model, metric) for model in models]
            self.assert_cells(rows[metric], [number(value, 6) if known else NOTHING for value, known in values], metric)
        for name, key in (("Parameters", "params"), ("FLOPs", "flops")):
            values = [model[key] for model in models]
            if any(value is not None for value in values):
                self.assert_cells(rows[name], [NOTHING if value is None else number(value, 6) for value in values], name)
        self.assert_cells(rows["Duration"], [expected.duration(expected.seconds_of(model)) for model in models], "duration")
        for metric in METRICS:
            self.open("compare", sel=",".join(str(model["id"]) for model in models), m=metric)
            shown = {model["id"] for model in models}
            self.assert_reports(self.chart("Curves together")[1:],
                                [report for report in self.reports(metric) if report[0] in shown], "compared " + metric)


if __name__ == "__main__":
    sys.exit(main())
