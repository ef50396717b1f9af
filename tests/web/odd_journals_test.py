"""Journals as no search should leave them, and text as nobody should write it: the page shows both, and stays usable.

After every view: nothing on the console, no report of the content security policy, no request to another origin. See
page_testing.py and browser.py for the environment.
"""

import datetime
import json
import os
import re
import sys
import urllib.request

import expected
from browser import Browser
from page_testing import JournalTest, main

VIEWS = ("overview", "models", "curves", "choices", "devices", "compare")

# What the browser itself says of what is not there: a space that is not known yet, a graph of the engine `direct`; and of
# a large experiment that is being read for another request, which the page sends again.
ABSENT = r"/(space|models/\d+/graph) - Failed to load resource: .* status of (404|409) |status of 503 "
# The same of a model that is not there yet.
NO_MODEL = r"/models/1(/(log|files))?(\?\S*)? - Failed to load resource: .* status of 404 "

MARKUP = "<b>bold</b><img src=x onerror=alert(1)><script>alert(2)</script>&lt;"
# Marks, overrides and isolates of direction, ends of lines, a sequence that colours and one that sets a title.
TURNED = "\u202eturned\u2066\u200f\u061c\u2028 \x1b[31mred\x1b[0m \x1b]0;title\x07 \x01 "
LONG = "y" * (1 << 20)
HOSTILE = MARKUP + TURNED + LONG

DEVICE = 'started { device { kind: CPU index: 0 node: "here" } }'


def quoted(text):
    """As protobuf's text format has it, on one line."""
    return '"%s"' % "".join(chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else "\\%03o" % byte
                            for byte in text.encode())


def at(moment):
    """A time of an event or a record."""
    return "time { seconds: %d } " % moment.timestamp()


def event(model, sequence, fields, time=""):
    return "records { event { model: %d attempt: 1 sequence: %d %s %s } } " % (model, sequence, time, fields)


def outcome(model, fields, time=""):
    return "records { %s outcome { model: %d attempt: 1 %s } } " % (time, model, fields)


def metrics(**values):
    return "metrics { %s } " % " ".join("values { key: %s value: %g }" % (quoted(name), value)
                                        for name, value in values.items())


def begun(model, sample="", alone_because="", device=DEVICE, time=""):
    """A model on its way: proposed, queued, started."""
    return ("records { %s model { model: %d sample { %s } } } records { %s trial { trial: %d members { model: %d attempt: 1 } "
            "alone_because: %s } } " % (time, model, sample, time, model, model, quoted(alone_because)) +
            event(model, 1, device, time))


def state(name, reason="", time=""):
    return "records { %s state { state: %s reason: %s } } " % (time, name, quoted(reason))


SPACE = """records { discovered { program: "p" space { complete: true
    choices { label: "op" kind: LAYER_CHOICE candidates { s: "conv" } candidates { s: "skip" } n_chosen: 1 } } } } """
CHOSEN = 'decisions { label: "op" index: 0 value { s: "conv" } }'


class OddJournalsTest(JournalTest):
    def setUp(self):
        self.browser = Browser()
        self.addCleanup(self.browser.close)
        self.browser.go(self.link)
        self.absent = ABSENT

    def begin(self, name, config='space { registered: "mnist_cnn" }'):
        self.name = name
        self.tell("begin %s %s" % (name, config))
        self.addCleanup(self.tell, "leave " + name)

    def write(self, records):
        self.tell("write %s %s" % (self.name, " ".join(records.split("\n"))))

    def check_view(self, view, **parameters):
        """Opens it; what is missing has words of its own there."""
        self.open(view, **parameters)
        self.assertNotRegex(self.text(), r"NaN|undefined|null|Invalid|\[object", view)
        # Nothing took less than no time.
        self.assertNotRegex(self.text(), r"−[\d.]+ (ms|s|min|h|d)\b", view)
        self.check_quiet(view)

    def check_quiet(self, view):
        self.assertEqual(self.browser.complaints(self.base.rstrip("/"), re.compile(self.absent)), [], view)

    def text(self):
        return self.browser.run("return document.querySelector('main').textContent")

    def load(self):
        self.show = self.lanista("show", self.name)
        self.trials = self.lanista("trials", self.name)

    def test_all_models_failed(self):
        self.begin("all-failed")
        records = SPACE + state("RUNNING")
        for model, failure in enumerate(("reason: EXCEPTION message: 'bad'", "reason: SIGNAL message: 'gone' signal: 11",
                                         "reason: EXIT message: 'it called exit' exit_status: 3"), 1):
            records += begun(model, CHOSEN)
            records += event(model, 2, "ended { outcome: FAILED failure { %s } }" % failure)
            records += outcome(model, "outcome: FAILED failure { %s }" % failure)
        self.write(records + state("DONE"))
        self.load()
        self.assertEqual((self.show["best"], self.show["models"]["failed"]), ([], 3))
        for view in VIEWS + ("model/1", "model/2", "model/3", "graph/1"):
            self.check_view(view, sel="1,2,3")
        self.open("overview")
        text = self.text()
        for words in ("best: none yet", "Failures (3)", "exception (1)", "signal (1)", "exit (1)",
                      "3 models ended, none with default"):
            self.assertIn(words, text)
        self.browser.click("button", "Actions")
        self.assertEqual(self.browser.wait(
            "return [...document.querySelectorAll('button')].find((b) => b.textContent.startsWith('Export the best'))?.title"),
            "no model has succeeded")
        self.check_quiet("actions")

    def test_one_report(self):
        self.begin("one-step")
        self.write(SPACE + state("RUNNING") + begun(1, CHOSEN) + event(1, 2, "intermediate { step: 0 %s }" % metrics(default=0.5))
                   + event(1, 3, "ended { outcome: SUCCEEDED %s }" % metrics(default=0.5))
                   + outcome(1, "outcome: SUCCEEDED " + metrics(default=0.5)) + state("DONE"))
        for view in VIEWS + ("model/1",):
            self.check_view(view, sel="1")
            self.check_view(view, sel="1", log="1", x="time", by="time", m="default", bands="1")
        self.open("curves", m="default")
        self.assertEqual([row[:3] for row in self.chart("Curves")[1:]], [["1", "0", "0.5"]])
        self.open("model/1")
        rows = self.chart("Curves of this model")[1:]
        self.assertEqual([[row[0], row[2]] for row in rows], [["0", "0.5"]])

    def test_a_model_that_cannot_be_loaded_again_says_so_and_keeps_what_was_known(self):
        self.begin("known-before")
        self.write(SPACE + state("RUNNING") + begun(1, CHOSEN))
        proxy = self.open_behind_proxy()
        self.open("model/1")
        shown = ("const text = document.querySelector('main').textContent; "
                 "return text.includes('Sample') && /what was known before/.test(text) === arguments[0]")
        self.browser.wait(shown, False)
        proxy.refused, proxy.refusal = r"/models/1$", 500
        self.write(event(1, 2, "intermediate { step: 0 %s }" % metrics(default=0.5)))
        self.browser.wait(shown, True)
        proxy.refused = ""
        self.write(event(1, 3, "intermediate { step: 1 %s }" % metrics(default=0.6)))
        self.browser.wait(shown, False)

    def test_no_model_yet_and_then_the_first(self):
        self.begin("no-models")
        self.absent = "|".join((ABSENT, NO_MODEL))
        for records in ("", SPACE, state("RUNNING")):
            if records:
                self.write(records)
            for view in VIEWS + ("model/1", "graph/1"):
                if view.endswith("/1"):
                    # There is no such model, and the page says so.
                    self.open(view)
                    self.browser.wait("return document.querySelector('main .state-error, main .state-empty') !== null")
                    self.check_quiet(view)
                else:
                    self.check_view(view)
        self.open("overview")
        self.assertIn("No models yet", self.text())
        self.write(begun(1, CHOSEN))
        self.browser.wait("return [...document.querySelectorAll('.tile')].some((t) => t.textContent.includes('running'))")
        self.assertNotIn("No models yet", self.text())
        self.check_view("models")

    def test_a_clock_that_is_set_back(self):
        self.begin("clock-back")
        now = datetime.datetime.now(datetime.timezone.utc)

        def later(minutes):
            return at(now + datetime.timedelta(minutes=minutes))

        self.write(SPACE + state("RUNNING", time=later(60)))
        # It ends before it began, and its reports go back in time, too.
        self.write(begun(1, CHOSEN, time=later(60)))
        for step in range(3):
            self.write(event(1, 2 + step, "intermediate { step: %d %s }" % (step, metrics(default=0.1 * step)), later(50 - step)))
        self.write(event(1, 5, "ended { outcome: SUCCEEDED %s }" % metrics(default=0.5), later(30))
                   + outcome(1, "outcome: SUCCEEDED " + metrics(default=0.5), later(30)))
        # This one is older than the search, and that one runs since tomorrow.
        self.write(begun(2, CHOSEN, time=later(-120)) + event(2, 2, "ended { outcome: SUCCEEDED %s }" % metrics(default=0.7),
                                                              later(-119))
                   + outcome(2, "outcome: SUCCEEDED " + metrics(default=0.7), later(-119)))
        self.write(begun(3, CHOSEN, time=later(24 * 60)))
        for end in ("", state("DONE", time=later(-180))):
            if end:
                self.write(event(3, 2, "ended { outcome: SUCCEEDED %s }" % metrics(default=0.6), later(24 * 60 + 1))
                           + outcome(3, "outcome: SUCCEEDED " + metrics(default=0.6), later(24 * 60 + 1)) + end)
            self.load()
            for view in VIEWS + ("model/1", "model/2", "model/3"):
                self.check_view(view, sel="1,2,3")
            self.check_view("curves", m="default", x="time")
            self.check_view("overview", by="time")
        self.wait_for_end()
        self.open("models", c="model,duration")
        shown = dict(self.browser.wait(
            "const rows = [...document.querySelectorAll('.grid-body [role=row]')]; return rows.length === 3 && "
            "rows.map((row) => [...row.children].map((c) => c.textContent))"))
        self.assertEqual(shown, {str(model["id"]): expected.duration(expected.seconds_of(model))
                                 for model in self.trials["models"]})
        self.browser.follow("#/?compare=clock-back&by=time")
        self.browser.wait("return [...document.querySelectorAll('figure.chart figcaption')].some((c) => "
                          "c.textContent.includes('clock-back: 0.7'))")
        self.check_quiet("experiments")

    # ---- Text from outside ----

    def check_text(self, view):
        """All that is seen or read out is text, on its place and of a length that can be read."""
        self.assertEqual(self.browser.run("return document.querySelectorAll('b, img[src=x], main script').length"), 0, view)
        found = self.browser.run(r"""
            const odd = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/;
            const found = [];
            const look = (where, text, most) => {
              if (odd.test(text)) found.push([where, 'odd', text.slice(0, 100)]);
              if (text.length > most) found.push([where, text.length, text.slice(0, 100)]);
            };
            look('title', document.title, 200);
            for (const element of document.querySelectorAll('body *')) {
              for (const name of ['title', 'aria-label', 'aria-description', 'alt', 'placeholder'])
                look(`${element.tagName} ${name}`, element.getAttribute(name) ?? '', 3000);
              // The log shows its end.
              const most = element.matches('pre') ? 300000 : 5000;
              for (const node of element.childNodes) {
                if (node.nodeType === Node.TEXT_NODE) look(element.tagName, node.data, most);
              }
            }
            return found.slice(0, 5);""")
        self.assertEqual(found, [], view)
        self.check_quiet(view)

    def write_hostile_files(self):
        """What trial 1 printed and left."""
        folder = os.path.join(self.folder, "experiments", self.name)
        os.makedirs(os.path.join(folder, "logs"), exist_ok=True)
        with open(os.path.join(folder, "logs", "trial-1.log"), "wb") as log:
            log.write(LONG.encode() + b"\n" + MARKUP.encode() + b" \xff\xc3( \xed\xa0\x80 " + TURNED.encode() + b"the end\n")
        outputs = os.path.join(folder, "trials", "1").encode()
        os.makedirs(outputs)
        for name in (b"<b>x<b>.onnx", "\u202egpj.exe".encode(), b"bad\xff\xfe.bin", b"\x1b[31mred", b"z" * 255):
            with open(os.path.join(outputs, name), "wb") as file:
                file.write(b"x")

    def test_hostile_text(self):
        label = quoted(HOSTILE)
        self.begin("hostile", 'name: %s space { registered: "mnist_cnn" }' % label)
        self.write("""records { discovered { program: "p" space { complete: true
            choices { label: %s kind: LAYER_CHOICE candidates { s: %s } candidates { s: "plain" } n_chosen: 1 }
            choices { label: "constructor" kind: VALUE_CHOICE candidates { i: 1 } candidates { i: 2 } n_chosen: 1
                      active_if { all_of { label: %s chosen: 0 } } }
            choices { label: "__proto__" kind: VALUE_CHOICE candidates { s: %s } candidates { s: "=1+1" } n_chosen: 1 }
            } } } """ % (label, label, label, quoted(MARKUP + TURNED)) + state("RUNNING"))
        device = "started { device { kind: CPU index: 0 node: %s } }" % label
        for model in (1, 2, 3):
            chosen = "decisions { label: %s index: %d value { s: %s } } " % (
                (label, 0, label) if model == 1 else (label, 1, '"plain"'))
            if model == 1:
                chosen += 'decisions { label: "constructor" index: 1 value { i: 2 } } '
            chosen += 'decisions { label: "__proto__" index: 1 value { s: "=1+1" } } '
            self.write(begun(model, chosen, HOSTILE, device))
        values = metrics(default=0.5, **{HOSTILE: 1.5, "constructor": 2.5})
        self.write(event(1, 2, "intermediate { step: 0 %s }" % values) + event(1, 3, "intermediate { step: 1 %s }" % metrics(
            default=0.6)) + event(1, 4, "ended { outcome: SUCCEEDED %s }" % values) + outcome(1, "outcome: SUCCEEDED " + values))
        failure = "failure { reason: EXCEPTION message: %s }" % label
        self.write(event(2, 2, "ended { outcome: FAILED %s }" % failure) + outcome(2, "outcome: FAILED " + failure))
        self.write(event(3, 2, "ended { outcome: STOPPED_EARLY }") + outcome(
            3, "outcome: STOPPED_EARLY stopped_step: 1 stopped_because: %s %s" % (label, metrics(default=0.2))))
        self.write_hostile_files()
        self.put_note(1, MARKUP + TURNED)
        # While it runs, and when it has ended.
        for end in ("", state("STOPPED", HOSTILE)):
            if end:
                self.write(end)
                self.browser.wait("return document.querySelector('header .status')?.textContent.endsWith(' stopped')")
            for view in VIEWS + ("model/1", "model/2", "model/3", "graph/1"):
                self.open(view, sel="1,2,3")
                self.check_text(view)
        self.check_that_it_is_usable()
        self.browser.follow("#/?compare=hostile")
        self.browser.wait("return document.querySelector('main table')?.textContent.includes('<b>bold</b>') && "
                          "document.querySelector('figure.chart figcaption').textContent.includes('hostile')")
        self.check_text("experiments")

    def put_note(self, model, text):
        request = urllib.request.Request(
            "%sapi/v1/experiments/%s/notes/%d" % (self.base, self.name, model), method="PUT",
            data=json.dumps({"star": True, "note": text}).encode(),
            headers={"Authorization": "Bearer " + self.token, "Content-Type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            self.assertEqual(answer.status, 200)

    def check_that_it_is_usable(self):
        """Tables of charts, the log, files, the filter, the keyboard."""
        for view in VIEWS:
            self.open(view, sel="1,3")
            self.browser.run("""
                for (const button of document.querySelectorAll('.chart button'))
                  if (button.textContent === 'Table' && button.ariaPressed === 'false' && button.checkVisibility()) button.click();""")
            self.check_text(view + " as tables")
        self.open("model/1")
        log = self.browser.wait("const text = document.querySelector('[role=log]').textContent; "
                                "return text.includes('the end') && text.slice(-400)")
        self.assertIn(MARKUP, log)
        self.assertIn("\ufffd", log)
        self.assertIn("red", log)
        files = self.browser.wait("const text = document.querySelector('[aria-label=Files]').textContent; "
                                  "return text.includes('.onnx') && text")
        for name in ("<b>x<b>.onnx", "\ufffdgpj.exe", "bad\ufffd"):
            self.assertIn(name, files)
        self.check_text("model/1 with its files")
        # An inactive choice with the name of a method of JavaScript's is one all the same.
        self.open("model/3")
        facts = dict(self.browser.wait(
            "const terms = [...document.querySelectorAll('main dl.facts dt')]; return terms.length > 2 && terms.map((t) => "
            "[t.textContent, t.nextSibling.textContent])"))
        self.assertEqual((facts["constructor"], facts["__proto__"]), ("not chosen", "=1+1"))
        self.open("models")
        self.browser.run("document.getElementById('filter').focus()")
        self.browser.keys("message ~ bold and constructor is missing")
        self.browser.wait("return /^1 of 3/.test(document.querySelector('.filter [role=status]').textContent)")
        self.browser.keys("\ue00c" + "gc")
        self.browser.wait("return location.hash.includes('/curves')")
        self.check_text("curves with a filter")


if __name__ == "__main__":
    sys.exit(main())
