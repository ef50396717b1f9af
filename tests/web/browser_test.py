"""Drives the page in a real browser (Debian's chromium and chromium-driver, by W3C WebDriver calls alone).

Environment:
  LANISTA          the program (with lanista-trial beside it). Needed but where LANISTA_PAGE is set.
  LANISTA_PAGE     a link, with its token, of a page that runs already; LANISTA_STATE is then its state folder, if known.
  LANISTA_BROWSER  see browser.py. LANISTA_SHOTS: a folder for screenshots (default: Bazel's for outputs of the test).

Without a browser it says so and exits with 0, unless LANISTA_BROWSER_REQUIRED is set.

After every step: nothing on the console, no report of the content security policy, no request to another origin.
"""

import base64
import functools
import http.server
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.parse

from browser import DRAWN, Browser, find_browser
from expected import counted, number
from proxy import PrefixProxy

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CONTROL, SHIFT, ENTER, ESCAPE, TAB, DOWN, RIGHT, END, SPACE = (
    "\ue009", "\ue008", "\ue007", "\ue00c", "\ue004", "\ue015", "\ue014", "\ue010", " ")

# The browser reports each answer of this kind, and the page shows the reason: a model of the engine `direct` has no graph.
# The experiment `graphs` has them.
NO_GRAPH = r"/experiments/(?!graphs)[^/]+/models/\d+/graph - Failed to load resource: .* status of (404|409) "

# Names that a page could take for more than names.
HOSTILE = """
name: "<b>hostile</b>"
space {
  choices {
    choice { label: "<img src=x onerror=alert(1)>" candidate: [ { s: "=1+1" }, { s: "<b>x</b>" } ] }
    choice { label: "plain" candidate: [ { i: 1 }, { i: 2 } ] }
  }
}
strategy { grid_search {} }
evaluator { constant {} }
"""


# Models with graphs, of which some are merged. One node's name is markup, a code that colours and one that turns text
# round, as a text of protobuf has them.
ODD_NAME = r"<img src=x onerror=alert(1)>\033[31m\342\200\256"
NET = """
name: "Net"
graphs {
  name: "Net"
  inputs { name: "x" type { kind: TENSOR data_type: FLOAT32 shape { dims: [-1, 1, 28, 28] } } }
  nodes { name: "ODD_NAME" op { type: "Flatten" } inputs { node: "x" } }
  nodes { name: "hidden" inputs { node: "ODD_NAME" }
    op { type: "Linear" attr { key: "in_features" value { i: 784 } } attr { key: "out_features" value { i: 16 } } } }
  nodes { name: "relu" op { type: "ReLU" } inputs { node: "hidden" } }
  nodes { name: "head" cell { graph: "Head" } inputs { node: "relu" } }
  outputs { node: "head" }
}
graphs {
  name: "Head"
  inputs { name: "x" }
  nodes { name: "output" inputs { node: "x" }
    op { type: "Linear" attr { key: "in_features" value { i: 16 } } attr { key: "out_features" value { i: 10 } } } }
  outputs { node: "output" }
}
""".replace("ODD_NAME", ODD_NAME)

GRAPHS = """
name: "graphs"
space {
  graph { path: "net.textproto" }
  mutator { layer_choice { target: "relu" candidate { keep {} } candidate { op { type: "Tanh" } } } }
}
strategy { grid_search {} }
engine { cgo { batch_waiting_time: 1 } }
evaluator {
  classification { dataset { synthetic_digits { train_samples: 60 validation_samples: 30 } } max_epochs: 1 }
}
training_service { local { cpu_slots: 1 } }
"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    extensions_map = {".js": "text/javascript", ".html": "text/html"}

    def log_message(self, *_):
        pass


class UnitTests(unittest.TestCase):
    def test_pure_functions(self):
        """tests/web/page/*.js, in the browser."""
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=ROOT))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = Browser()
        try:
            browser.go("http://127.0.0.1:%d/tests/web/page/unit_tests.html" % server.server_port)
            result = json.loads(browser.wait("return document.getElementById('result').textContent"))
            self.assertEqual(result["failed"], [])
            self.assertGreater(result["passed"], 100)
        finally:
            browser.close()
            server.shutdown()
            server.server_close()

    def test_all_text_colours_are_read_on_all_backgrounds(self):
        """Contrasts of style.css, of both themes, by WCAG 2; palette.js has its own test."""
        with open(os.path.join(ROOT, "src/web/page/style.css"), encoding="utf-8") as file:
            themes = re.findall(r"{\s*color-scheme: (light|dark);(.*?)}", file.read(), re.DOTALL)
        # Dark twice: chosen, and as the system has it.
        self.assertEqual([name for name, _ in themes], ["light", "dark", "dark"])
        self.assertEqual(themes[1][1].split(), themes[2][1].split())

        def luminance(colour):
            parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
            parts = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
            return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

        for name, text in themes:
            colours = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", text))
            pairs = [(front, back) for front in ("text", "muted", "accent", "mark", "ok", "warn", "odd")
                     for back in ("page", "card", "chosen", "hover", "mark-back")] + [("accent-text", "accent")]
            for front, back in pairs:
                dark, light = sorted((luminance(colours[front]), luminance(colours[back])))
                self.assertGreaterEqual((light + 0.05) / (dark + 0.05), 4.5, "%s: %s on %s" % (name, front, back))


class PageTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="lanista-page-")
        cls.server = None
        cls.link = os.environ.get("LANISTA_PAGE")
        cls.state = os.environ.get("LANISTA_STATE")
        if cls.link is None:
            cls.state = os.path.join(cls.folder, "state")
            cls.lanista("run", os.path.join(ROOT, "bench/tables/digits_search.textproto"))
            hostile = os.path.join(cls.folder, "hostile.textproto")
            with open(hostile, "w", encoding="utf-8") as file:
                file.write(HOSTILE)
            cls.lanista("run", hostile)
            for name, text in (("net", NET), ("graphs", GRAPHS)):
                with open(os.path.join(cls.folder, name + ".textproto"), "w", encoding="utf-8") as file:
                    file.write(text)
            cls.lanista("run", os.path.join(cls.folder, "graphs.textproto"))
            cls.server = subprocess.Popen([cls.program(), "web", "--listen", "127.0.0.1:0", "--state-dir", cls.state],
                                          stdout=subprocess.PIPE, text=True)
            for line in cls.server.stdout:
                if line.startswith("page: "):
                    cls.link = line[len("page: "):].strip()
                    break
            if cls.link is None:
                raise RuntimeError("`lanista web` printed no link")
        cls.origin = cls.link.split("#")[0].rstrip("/")

    @classmethod
    def tearDownClass(cls):
        if cls.server is not None:
            cls.server.send_signal(signal.SIGINT)
            cls.server.wait()
            cls.server.stdout.close()
        shutil.rmtree(cls.folder, ignore_errors=True)

    @classmethod
    def program(cls):
        return os.environ["LANISTA"]

    @classmethod
    def lanista(cls, *arguments):
        done = subprocess.run([cls.program(), *arguments, "--json", "--state-dir", cls.state], capture_output=True,
                text=True, check=True)
        return json.loads(done.stdout)

    def setUp(self):
        self.browser = Browser()
        self.addCleanup(self.browser.close)
        self.addCleanup(self.check_console)
        self.browser.go(self.link)
        self.browser.wait("return document.querySelector('main table a') !== null")
        self.ids = dict(self.browser.run("return [...document.querySelectorAll('main table a')].map((link) => "
                "[link.textContent, link.getAttribute('href').split('/')[2]])"))
        self.experiment = self.find_experiment("digits_table")

    def find_experiment(self, name):
        """The id of an experiment in the list; None: a page that is not this test's has none."""
        return self.ids.get(name) if os.environ.get("LANISTA_PAGE") else self.ids[name]

    def check_console(self, refused=NO_GRAPH):
        """Called before the browser is closed, after each test; and by tests that see requests refused, which the browser
        reports."""
        self.assertEqual(self.browser.complaints(self.origin, re.compile(refused)), [])

    def shot(self, name):
        """A picture of the page as PNG; also a file, where a folder for it is given."""
        picture = base64.b64decode(self.browser.do("GET", "/screenshot"))
        folder = os.environ.get("LANISTA_SHOTS") or os.environ.get("TEST_UNDECLARED_OUTPUTS_DIR")
        if folder:
            os.makedirs(folder, exist_ok=True)
            with open(os.path.join(folder, name + ".png"), "wb") as file:
                file.write(picture)
        return picture

    def open(self, view, **parameters):
        """A view of the experiment, complete."""
        self.browser.follow("#/e/%s/%s?%s" % (self.experiment, view, urllib.parse.urlencode(parameters)))
        self.settle()

    def settle(self):
        """Waits until the view that the address names is complete."""
        self.browser.wait("""
            return %s.then(() => {
              const path = (address) => address.split('?')[0];
              const shown = document.querySelector('nav:not([hidden]) [aria-current=page]');
              return path(shown?.getAttribute('href') ?? '#/') === (path(location.hash) || '#/') &&
                  document.querySelector('.state-loading') === null && document.querySelector('main').children.length > 0;
            });""" % DRAWN)

    def count(self):
        return self.browser.run("return document.querySelector('.filter [role=status]').textContent")

    def cells(self, column):
        """Cells of the rows that are drawn, by title of the column."""
        return self.browser.run("""
            const head = [...document.querySelectorAll('[role=columnheader]')].findIndex((h) => h.title === arguments[0]);
            return [...document.querySelectorAll('.grid-body [role=row]')].sort((a, b) => a.ariaRowIndex - b.ariaRowIndex)
                .map((row) => row.children[head].textContent);""", column)

    def test_the_token_leaves_the_address_and_stays(self):
        self.assertNotIn("token", self.browser.run("return location.href"))
        self.browser.do("POST", "/refresh", {})
        self.browser.wait("return document.querySelector('main table a') !== null")

    def test_behind_a_proxy_the_page_works_under_any_prefix(self):
        target = urllib.parse.urlsplit(self.link)
        if target.scheme != "http":
            self.skipTest("this page is encrypted")
        proxy = PrefixProxy(target.netloc, "/deep/search/")
        self.addCleanup(proxy.end)
        address = proxy.address
        self.browser.go("about:blank")
        self.check_console()
        self.browser.go("%s#%s" % (address, target.fragment))
        self.browser.wait("return document.querySelector('main table a') !== null")
        self.open("overview")
        self.browser.wait("return document.querySelectorAll('.tile').length > 1")
        self.open("curves")
        self.open("model/1")
        self.browser.wait("return document.querySelector('main dl') !== null")
        self.browser.go("about:blank")
        # Nothing was asked for beside the prefix.
        self.assertEqual(self.browser.complaints(address), [])
        self.browser.go("%s#%s" % (address, target.fragment))
        self.browser.wait("return document.querySelector('main table a') !== null")
        # A head that the proxy does not reach is lost, and the page goes on by itself.
        with socket.socket() as nobody:
            nobody.bind(("127.0.0.1", 0))
            proxy.target = "127.0.0.1:%d" % nobody.getsockname()[1]
            self.browser.follow("#/e/%s/overview" % self.experiment)
            self.browser.wait("return /Lost the head, trying again/.test(document.querySelector('main').textContent)")
        proxy.target = target.netloc
        self.browser.wait("return document.querySelectorAll('.tile').length > 1")
        self.assertEqual(self.browser.complaints(address, re.compile("the server responded with a status of 502 ")), [])

    def test_without_token_the_page_asks_for_its_link(self):
        if "#token=" not in self.link:
            self.skipTest("this page needs no token")
        self.browser.run("sessionStorage.clear()")
        self.browser.run("location.hash = '#token=wrong'")
        self.browser.wait("return document.body.innerText.includes('This page needs its link')")
        self.browser.run("const field = document.querySelector('main input'); field.value = arguments[0]; "
                "field.form.requestSubmit();", self.link)
        self.browser.wait("return document.querySelector('main table a') !== null")
        self.check_console(r" - Failed to load resource: .* status of 401 ")

    def test_experiments_are_filtered_and_sorted(self):
        names = "return [...document.querySelectorAll('main tbody tr')].map((row) => row.querySelector('a').textContent)"
        before = self.browser.run(names)
        self.browser.click("main th button", "Name")
        self.browser.wait("return document.querySelector('main th[aria-sort=ascending]') !== null")
        self.assertEqual(self.browser.run(names), sorted(before, key=str.lower))
        self.browser.keys("/")
        self.browser.wait("return document.activeElement.id === 'filter'")
        self.browser.keys("digits")
        self.browser.wait("return location.hash.includes('q=digits')")
        kept = self.browser.wait("const rows = document.querySelectorAll('main tbody tr'); return rows.length < arguments[0] && "
                "[...rows].map((row) => row.textContent.toLowerCase())", len(before))
        self.assertTrue(kept and all("digits" in text for text in kept), kept)
        self.assertEqual(len(json.loads(self.browser.saved_by("button[aria-label='Experiments as JSON']", "JSON"))), len(kept))
        # The address has both.
        shown = self.browser.run(names)
        self.browser.do("POST", "/refresh", {})
        self.browser.wait("return document.querySelector('main table a') !== null")
        self.assertEqual(self.browser.run(names), shown)
        self.assertEqual(self.browser.run("return document.getElementById('filter').value"), "digits")

    def test_the_overview_tells_what_the_commands_tell(self):
        if self.state is None:
            self.skipTest("the state folder is not known")
        document = self.lanista("show", self.experiment)
        self.open("overview")
        text = self.browser.run("return document.querySelector('main').innerText")
        self.assertIn("model %d" % document["best"][0]["model"], text)
        self.assertIn("%g" % document["best"][0]["default"], text)
        tiles = self.browser.run("return [...document.querySelectorAll('.tile')].map((t) => "
                "[t.lastChild.textContent.trim(), t.firstChild.textContent])")
        self.assertIn(["models", str(document["models"]["total"])], tiles)
        succeeded = [value for label, value in tiles if label.endswith("succeeded")]
        self.assertEqual(succeeded, [str(document["models"]["succeeded"])])
        self.shot("overview")

    def test_every_number_of_the_table_is_that_of_trials(self):
        if self.state is None:
            self.skipTest("the state folder is not known")
        models = {model["id"]: model for model in self.lanista("trials", self.experiment)["models"]}
        self.open("models", c="model,metric.default,metric.params,choice.width,choice.kernel_3")
        self.browser.wait("return document.querySelectorAll('.grid-body [role=row]').length > 5")
        shown = list(zip(*(self.cells(name) for name in ("Model", "default", "params", "width", "kernel_3"))))
        self.assertGreater(len(shown), 5)
        for model, default, params, width, kernel in shown:
            known = models[int(model)]
            self.assertEqual(float(default), float("%.4g" % known["metrics"]["final"]["default"]))
            self.assertEqual(float(params.replace(",", "")), known["metrics"]["final"]["params"])
            self.assertEqual(width, str(known["sample"]["width"]))
            self.assertEqual(kernel, str(known["sample"].get("kernel_3", "–")))

    def test_filter_and_sort(self):
        self.open("models")
        total = int(self.count().split()[0])
        self.browser.run("document.getElementById('filter').focus()")
        text = "width = 16 and default > 0.8"
        self.browser.keys(text)
        self.browser.wait("return new URLSearchParams(location.hash.split('?')[1]).get('f') === arguments[0]", text)
        self.settle()
        self.assertIn(" of ", self.count())
        kept = int(self.count().split()[0])
        self.assertTrue(0 < kept < total, self.count())
        self.assertEqual(set(self.cells("width")), {"16"})
        self.browser.click("[role=columnheader]", "default")
        self.browser.wait("return document.querySelector('[role=columnheader][aria-sort=descending]') !== null")
        values = [float(value) for value in self.cells("default")]
        self.assertEqual(values, sorted(values, reverse=True))
        self.assertGreater(min(values), 0.8)
        # The filter holds in other views.
        self.browser.click("nav a", "Curves")
        self.settle()
        self.assertIn("%d of" % kept, self.count())
        # An error points to its place, and hides nothing.
        self.browser.run("const f = document.getElementById('filter'); f.value = 'widht = 16'; "
                "f.dispatchEvent(new Event('input'))")
        self.browser.wait("return document.querySelector('.filter-error mark')?.textContent === 'widht'")
        self.assertIn("did you mean width", self.browser.run("return document.querySelector('.filter-error').textContent"))

    def test_a_deep_link_shows_the_same_in_a_new_tab(self):
        self.open("models", f="width = 8", s="-metric.default", c="model,metric.default", sel="1-3")
        self.browser.wait("return document.querySelectorAll('.grid-body [role=row]').length > 0")
        before = self.cells("Model")
        address = self.browser.run("return location.href")
        self.assertNotIn("token", address)
        # The other tab has no token of its own: the shared worker has it.
        tab = self.browser.do("POST", "/window/new", {"type": "tab"})["handle"]
        self.browser.do("POST", "/window", {"handle": tab})
        self.browser.go(address)
        self.browser.wait("return document.querySelectorAll('.grid-body [role=row]').length > 0")
        self.assertEqual(self.cells("Model"), before)
        self.assertEqual(self.browser.run("return document.querySelectorAll('.chip').length"), 3)

    def test_eight_tabs_all_load(self):
        for _ in range(7):
            tab = self.browser.do("POST", "/window/new", {"type": "tab"})["handle"]
            self.browser.do("POST", "/window", {"handle": tab})
            self.browser.go("%s/#/e/%s/overview" % (self.origin, self.experiment))
            self.browser.wait("return document.querySelectorAll('.tile').length > 1")

    def test_brush_with_an_inactive_choice(self):
        self.open("choices", axes="choice.layer_1,choice.kernel_1,metric.default")
        box = self.browser.run("""
            const brush = document.querySelectorAll('g.axis')[1].querySelector('.overlay');
            brush.scrollIntoView({block: 'center'}); const {left, top, width, height} = brush.getBoundingClientRect();
            return [left + width / 2, top, height];""")
        # The lowest tenth of the axis is "not chosen".
        self.browser.drag(box[0], box[1] + box[2] * 0.995, box[0], box[1] + box[2] * 0.91)
        self.browser.wait("return /brush=/.test(location.hash)")
        self.browser.wait("return document.querySelector('.chart figcaption').textContent.includes('kernel_1: "
                "not chosen')")
        self.shot("choices")
        self.browser.click("button", "Make it the filter")
        self.browser.wait("return document.getElementById('filter').value === 'choice.kernel_1 is missing'")
        self.open("models", f="choice.kernel_1 is missing", c="model,choice.layer_1,choice.kernel_1")
        self.browser.wait("return document.querySelectorAll('.grid-body [role=row]').length > 0")
        self.assertEqual(set(self.cells("layer_1")), {"pool"})
        self.assertEqual(set(self.cells("kernel_1")), {"–"})

    def test_an_axis_is_brushed_by_keyboard(self):
        self.open("choices", axes="choice.layer_1,choice.kernel_1,metric.default")
        self.browser.run("document.querySelectorAll('.axes-bar .menu > button')[1].focus()")
        self.browser.keys(ENTER)
        options = """
            const field = [...document.querySelectorAll('.axes-bar .field')].find(
                (f) => f.firstChild.textContent === arguments[0] && f.checkVisibility());
            field?.lastChild.focus();
            return document.activeElement === field?.lastChild && [...field.lastChild.options].map((o) => o.text);"""
        _, none, first, second, *_ = self.browser.wait(options, "From")
        # Where one end passes the other, it takes that along.
        for field, covered in (("From", [none]), ("to", [none, first]), ("From", [first]), ("From", [second])):
            self.browser.wait(options, field)
            self.browser.keys(DOWN)
            self.browser.wait("return document.querySelector('.chart figcaption').textContent.includes(arguments[0])",
                              "within kernel_1: %s. Drag" % ", ".join(covered))

    def test_axes_are_dragged_to_another_place(self):
        self.open("choices", axes="choice.width,choice.depth,metric.default")
        places = self.browser.run("""
            document.querySelector('g.axis').scrollIntoView({block: 'center'});
            return [...document.querySelectorAll('g.axis .mover')].map((m) => {
              const {left, top, width} = m.getBoundingClientRect(); return [left + width / 2, top + 20]; });""")
        self.browser.drag(places[0][0], places[0][1], places[1][0] + 60, places[1][1])
        self.browser.wait("return decodeURIComponent(location.hash).includes('axes=choice.depth,choice.width,metric.default')")

    def test_an_axis_is_hidden_and_shown_again(self):
        self.open("choices", axes="choice.width,choice.depth,metric.default")
        titles = ("return [...document.querySelectorAll('.axes-bar .menu > button')].map((b) => b.textContent.trim())")
        self.browser.click(".axes-bar .menu > button", next(t for t in self.browser.wait(titles) if t.endswith("depth")))
        self.browser.click(".axes-bar button", "Hide")
        self.browser.wait("return decodeURIComponent(location.hash).includes('axes=choice.width,metric.default')")
        self.browser.wait("return document.querySelectorAll('g.axis').length === 2")
        self.assertFalse([t for t in self.browser.run(titles) if t.endswith("depth")])
        self.browser.click("button", "Axes")
        self.browser.wait("const box = [...document.querySelectorAll('.menu-list label')].find((l) => "
                "l.textContent.trim() === 'depth'); box?.querySelector('input').click(); return !!box")
        self.browser.wait("return document.querySelectorAll('g.axis').length === 3")

    def test_csv_has_what_the_filter_keeps(self):
        self.open("models", f="width = 8", s="-metric.default", c="model,choice.width,metric.default")
        kept = int(self.count().split()[0])
        lines = self.browser.saved_by("button", "CSV").splitlines()
        self.assertEqual(lines[0], "Model,width,default")
        self.assertEqual(len(lines), kept + 1)
        self.assertEqual({line.split(",")[1] for line in lines[1:]}, {"8"})
        values = [float(line.split(",")[2]) for line in lines[1:]]
        self.assertEqual(values, sorted(values, reverse=True))

    def test_charts_are_saved_as_they_are_shown(self):
        self.open("overview", f="width = 8")
        kept = int(self.count().split()[0])
        self.browser.wait("return document.querySelector('figure.chart canvas').width > 300")
        rows = json.loads(self.browser.saved_by("figure.chart button", "JSON"))
        self.assertEqual(len(rows), kept)
        lines = self.browser.saved_by("figure.chart button", "CSV").splitlines()
        self.assertEqual([line.split(",")[0] for line in lines[1:]], [str(row["model"]) for row in rows])
        self.open("devices", f="width = 8")
        trials = json.loads(self.browser.saved_by("figure.chart button", "JSON"))
        self.assertEqual({trial["models"] for trial in trials}, {str(row["model"]) for row in rows})
        self.open("overview", f="width = 8")
        # Pixel by pixel what the canvas has; where that is transparent, a background.
        self.browser.run("""
            const make = URL.createObjectURL;
            window.picture = null;
            URL.createObjectURL = (blob) => {
              createImageBitmap(blob).then((bitmap) => {
                const shown = document.querySelector('figure.chart canvas');
                const saved = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d');
                saved.drawImage(bitmap, 0, 0);
                const a = shown.getContext('2d').getImageData(0, 0, shown.width, shown.height).data;
                const b = saved.getImageData(0, 0, bitmap.width, bitmap.height).data;
                const colours = new Set();
                let differing = 0;
                let transparent = 0;
                for (let i = 0; i < b.length; i += 4) {
                  colours.add((b[i] << 16) | (b[i + 1] << 8) | b[i + 2]);
                  if (b[i + 3] !== 255) ++transparent;
                  if (a[i + 3] === 255 && (a[i] !== b[i] || a[i + 1] !== b[i + 1] || a[i + 2] !== b[i + 2])) ++differing;
                }
                window.picture = [bitmap.width - shown.width, bitmap.height - shown.height, differing, transparent,
                                  colours.size];
              });
              return make.call(URL, blob);
            };""")
        self.browser.click("figure.chart button", "PNG")
        picture = self.browser.wait("return window.picture")
        self.assertEqual(picture[:4], [0, 0, 0, 0])
        self.assertGreater(picture[4], 5)

    def test_loading_empty_and_failed_look_different(self):
        self.open("overview")
        looks = self.browser.run("""
            return import(new URL('dom.js', document.baseURI)).then(({stateBox}) => ['loading', 'empty', 'error'].map(
                (state) => {
                  const box = document.querySelector('main').appendChild(stateBox(state, 'The table'));
                  const {animationName, borderTopColor, borderTopStyle} = getComputedStyle(box.firstChild);
                  box.remove();
                  return [animationName, borderTopColor, borderTopStyle].join();
                }));""")
        self.assertEqual(len(set(looks)), 3, looks)

    def test_nothing_moves_where_the_reader_wants_no_motion(self):
        moves = """
            const sign = document.body.appendChild(document.createElement('span'));
            sign.className = 'spin';
            const found = [getComputedStyle(sign).animationName, document.getAnimations().length > 0];
            sign.remove();
            return found;"""
        for wish, expected in (("no-preference", ["spin", True]), ("reduce", ["none", False])):
            self.browser.devtools("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-reduced-motion",
                    "value": wish}]})
            self.assertEqual(self.browser.run(moves), expected)

    def test_names_that_look_like_markup_are_text(self):
        hostile = self.find_experiment("<b>hostile</b>")
        if hostile is None:
            self.skipTest("this page has no such experiment")
        self.experiment = hostile
        for view in ("overview", "models", "curves", "choices", "devices", "compare", "model/1", "graph/1"):
            self.open(view, sel="1,2")
            self.assertEqual(self.browser.run("return document.querySelectorAll('main b, img[src=x]').length"), 0)
        self.open("models")
        self.assertEqual(set(self.cells("<img src=x onerror=alert(1)>")), {"=1+1", "<b>x</b>"})
        self.assertIn("'=1+1", self.browser.saved_by("button", "CSV"))

    def test_names_of_graphs_are_text_whatever_is_in_them(self):
        self.open_graphs("overview")
        for view in ("graph/1", "compare"):
            self.open(view, sel="1,2")
            names = self.browser.wait("""
                const nodes = [...document.querySelectorAll('g[data-id]')].filter((g) => g.textContent.includes('<img '));
                return nodes.length > 0 && nodes.flatMap((g) => [g.textContent, g.getAttribute('aria-label') ?? '']);""")
            for name in names:
                self.assertIn("<img src=x onerror=alert(1)>\ufffd", name, view)
                self.assertNotRegex(name, "[\x1b\u202e]", view)
            self.assertEqual(self.browser.run("return document.querySelectorAll('img[src=x]').length"), 0)
            self.assertNotRegex(self.browser.run("return document.body.innerText"), "[\x1b\u202e]", view)

    def open_graphs(self, view, **parameters):
        """A view of the experiment whose models have graphs."""
        self.experiment = self.find_experiment("graphs")
        if self.experiment is None:
            self.skipTest("this page has no such experiment")
        self.open(view, **parameters)

    def show_graph(self, text):
        """The document of `show-graph` of a graph."""
        path = os.path.join(self.folder, "shown.textproto")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return json.loads(subprocess.run([self.program(), "show-graph", path, "--json"], capture_output=True, text=True,
                                         check=True).stdout)

    def test_a_graph_folds(self):
        self.open_graphs("graph/1")
        shown = ("return [...document.querySelectorAll('g[data-id]')].some((g) => "
                 "g.getAttribute('aria-label').startsWith('head.output,')) === arguments[0]")
        self.browser.click("button", "Open all")
        self.browser.wait(shown, True)
        self.browser.click("button", "Fold all")
        self.browser.wait(shown, False)
        self.shot("graph")
        self.assertIn("nodes", json.loads(self.browser.saved_by("button", "JSON")))
        self.assertTrue(self.browser.saved_by("button", "SVG").startswith("<svg"))
        self.assertEqual(self.browser.saved_by("button", "PNG")[1:4], "PNG")

    def test_a_graph_is_found_again_as_it_was_left(self):
        self.open_graphs("graph/1")
        zoomed = "return document.querySelector('.graph-place g').getAttribute('transform')"
        self.browser.wait("return document.querySelector('g[data-id]') !== null")
        self.browser.click("button", "Fold all")
        self.browser.wait("return location.hash.includes('open=none')")
        self.browser.run("const field = document.querySelector('input[type=search]:not(#filter)'); field.value = 'tanh'; "
                "field.dispatchEvent(new Event('input'))")
        self.browser.wait("return location.hash.includes('q=tanh')")
        before = self.browser.run(zoomed)
        self.browser.click("button", "+")
        self.browser.wait("return /[?&]z=/.test(location.hash)")
        left = self.browser.run(zoomed)
        self.assertNotEqual(left, before)
        folded = self.browser.run("return document.querySelectorAll('g[data-id]').length")
        self.browser.do("POST", "/refresh", {})
        self.browser.wait("return document.querySelector('g[data-id]') !== null")
        self.assertEqual(self.browser.run("return document.querySelector('input[type=search]:not(#filter)').value"), "tanh")
        self.assertEqual(self.browser.run("return document.querySelectorAll('g[data-id]').length"), folded)
        # The address has whole pixels.
        for was, now in zip(*(re.findall(r"-?[\d.]+", text)[:2] for text in (left, self.browser.run(zoomed)))):
            self.assertAlmostEqual(float(was), float(now), delta=0.51)
        # The whole of it is no zoom that is kept.
        self.browser.click("button", "Fit")
        self.browser.wait("return !/[?&]z=/.test(location.hash)")

    def test_the_numbers_of_a_graph_are_those_of_show_graph(self):
        self.open_graphs("graph/1")
        if self.state is None:
            self.skipTest("the state folder is not known")
        # The first candidate keeps the node, so that the model is the graph that the space was made of.
        graph = self.show_graph(NET)
        model = self.lanista("trials", self.experiment)["models"][0]
        self.assertEqual((model["params"], model["flops"]), (graph["parameters"], graph["flops"]))
        self.browser.click("button", "Table")
        rows = self.browser.wait("const t = [...document.querySelectorAll('main table')].find("
                "(t) => t.caption?.textContent === 'Nodes'); "
                "return t && [...t.rows].map((r) => [...r.cells].map((c) => c.textContent.trim()));")
        columns = {title: [row[i] for row in rows[1:]] for i, title in enumerate(rows[0])}
        # The page leaves out codes that colour, and shows that a mark which turns text round was there.
        nodes = {node["name"].replace("\x1b[31m\u202e", "\ufffd"): node for node in graph["nodes"]}
        self.assertEqual(set(columns["Node"]), set(nodes))
        for path, parameters, flops in zip(columns["Node"], columns["Parameters"], columns["FLOPs"]):
            self.assertEqual((parameters, flops), (number(nodes[path]["parameters"]), number(nodes[path]["flops"])), path)
        self.browser.run("[...document.querySelectorAll('g[data-id]')].find((g) => g.textContent.includes('hidden'))"
                ".dispatchEvent(new MouseEvent('click', {bubbles: true}))")
        node = self.browser.wait("const d = document.querySelector('[aria-label=Node] dl'); "
                "return d && [...d.querySelectorAll('dt')].map((t) => [t.textContent, t.nextSibling.textContent])")
        self.assertEqual(dict(node)["parameters"], number(nodes["hidden"]["parameters"]))
        self.assertEqual(dict(node)["FLOPs"], number(nodes["hidden"]["flops"]))

    def test_two_graphs_are_compared(self):
        self.open_graphs("compare", sel="1,2")
        self.browser.wait("return document.querySelector('main').innerText.includes('only in model 2')")
        differences = self.browser.run("return document.querySelector('[aria-label=\"Differences as a table\"]').innerText")
        for word in ("relu", "ReLU", "Tanh"):
            self.assertIn(word, differences)
        self.assertNotIn("hidden", differences)
        if self.state is not None:
            left, right = ({node["name"]: node for node in self.show_graph(text)["nodes"]}
                           for text in (NET, NET.replace('"ReLU"', '"Tanh"')))
            same = [name for name in left if name in right and
                    all(left[name][key] == right[name][key] for key in ("type", "attributes", "shape"))]
            both = left.keys() & right.keys()
            self.assertIn("%s the same, %d changed, %d only in model 1, %d only in model 2." % (
                counted(len(same), "node"), len(both) - len(same), len(left) - len(both), len(right) - len(both)),
                self.browser.run("return document.querySelector('main').textContent"))
        rows = json.loads(self.browser.saved_by("button[aria-label='Differences as JSON']", "JSON"))
        self.assertIn(["relu", "type"], [[row["node"], row["difference"]] for row in rows])
        lines = self.browser.saved_by("button[aria-label='Samples as CSV']", "CSV").splitlines()
        self.assertEqual(lines[0], "what,model 1,model 2")
        self.assertIn("status,SUCCEEDED,SUCCEEDED", lines)
        self.assertEqual(self.browser.saved_by("button[aria-label='Architecture of model 1 as PNG']", "PNG")[1:4], "PNG")

    def test_a_comparison_forgets_the_zoom_of_a_model_that_is_left_out(self):
        self.open_graphs("compare", sel="1,2", zl="10,20,0.5", zr="30,20,0.5")
        self.browser.wait("return document.querySelector('main').innerText.includes('only in model 2')")
        self.assertRegex(self.browser.run("return location.hash"), "zl=.*zr=")
        self.browser.click("button[aria-label='Leave out model 1']", "×")
        self.browser.wait("return !/[?&](zl|ol|zr|or)=/.test(location.hash)")

    def test_the_best_models_are_exported(self):
        self.open_graphs("overview")
        self.browser.click("button", "Actions")
        self.browser.click("button", "Export the best …")
        self.browser.wait("return document.querySelector('dialog[open]') !== null")
        self.browser.run("document.querySelector('dialog[open] input[type=number]').value = '2'")
        archive = self.browser.saved_by("dialog[open] button", "Export")
        self.assertIn("-best-2-json", archive)
        self.assertIn("1-model-", archive)
        self.browser.wait("return document.querySelector('dialog[open]') === null")
        # The weights were not kept, and the user is told.
        self.browser.click("button", "Actions")
        self.browser.click("button", "Export the best …")
        self.browser.run("document.querySelector('dialog[open] select').value = 'onnx'")
        self.browser.click("dialog[open] button", "Export")
        self.browser.wait("return document.querySelector('dialog[open] [role=alert]').textContent.includes('were not kept')")
        self.check_console(r"/export - Failed to load resource: .* status of 409 ")

    def test_merged_trials_say_what_they_shared(self):
        self.open_graphs("cgo")
        self.browser.wait("return document.querySelector('main').innerText.includes('1 merged trial of 2 models')")
        if self.state is not None:
            merged = self.lanista("trials", self.experiment, "--merged")["trials"][0]
            text = self.browser.run("return document.querySelector('main').innerText")
            self.assertIn("%d steps instead of %d" % (merged["steps"], merged["steps_alone"]), text)
        self.browser.click("section[aria-label=Trials] button", "1")
        self.browser.wait("return location.hash.includes('t=1')")
        detail = self.browser.wait("return document.querySelector('section[aria-label=Trial]')?.innerText")
        for word in ("load the batch", "shared", "model 1", "model 2"):
            self.assertIn(word, detail)
        self.shot("cgo")

    def test_compare_marks_what_differs(self):
        self.open("compare", sel="1,2")
        lines = self.browser.wait("return [...document.querySelectorAll('section[aria-label=Samples] tbody "
                "tr')].map((r) => [...r.children].map((c) => [c.textContent, c.className]))")
        for line in lines[1:]:
            texts = {text for text, _ in line[1:]}
            differs = ["differs" in name for _, name in line[1:]]
            if line[0][0] in ("width", "depth", "layer_1", "activation"):
                self.assertEqual(all(differs), len(texts) > 1, line)

    def test_the_model_says_what_it_is(self):
        self.open("model/1")
        text = self.browser.wait("return document.querySelector('main dl') && document.querySelector('main').innerText")
        for word in ("Model 1", "Sample", "width", "Attempts (1)", "Log", "Files"):
            self.assertIn(word, text)
        # The engine direct has no graph: the page says so, and shows the sample.
        self.open("graph/1")
        self.browser.wait("return document.querySelector('main').innerText.includes('What was chosen') || "
                "document.querySelector('.graph-place') !== null")

    def test_the_keyboard_alone(self):
        keys = self.browser.keys
        self.open("overview")
        keys("gm")
        self.browser.wait("return location.hash.includes('/models')")
        self.settle()
        keys("/")
        self.browser.wait("return document.activeElement.id === 'filter'")
        keys("width = 8" + ESCAPE)
        self.browser.wait("return document.activeElement.id !== 'filter' && location.hash.includes('width')")
        keys("j")
        self.browser.wait("return document.activeElement.id === 'jump'")
        first = self.browser.run("return document.querySelector('.grid-body "
                "[role=gridcell]').textContent.match(/\\d+/)[0]")
        keys(first + ENTER)
        self.browser.wait("return document.activeElement.getAttribute('role') === 'gridcell'")
        keys(DOWN + RIGHT + SPACE)
        self.browser.wait("return /sel=/.test(location.hash) && "
                "document.querySelector('[role=row][aria-selected=true]') !== null")
        keys(END, hold=CONTROL)
        self.browser.wait("return document.activeElement.closest('[role=row]').ariaRowIndex === "
                "document.querySelector('[role=grid]').ariaRowCount")
        keys(ENTER)
        self.browser.wait("return location.hash.includes('/model/')")
        self.settle()
        keys("?")
        self.browser.wait("return document.querySelector('dialog[open]') !== null")
        keys(ESCAPE)
        self.browser.wait("return document.querySelector('dialog[open]') === null")
        keys("ge")
        self.browser.wait("return location.hash === '#/'")

    def open_each_view(self):
        """Opens one view after the other, the experiments' comparison and a graph included; gives their names."""
        digits, graphs = self.experiment, self.find_experiment("graphs")
        self.browser.follow("#/?compare=" + ",".join(filter(None, (digits, graphs))))
        self.settle()
        yield "experiments"
        for view in ("overview", "models", "curves", "choices", "devices", "compare", "model/1"):
            self.open(view, sel="1,2")
            if view == "model/1":
                self.browser.wait("return document.querySelector('main dl') !== null")
            yield view
        if graphs is None:
            return
        self.experiment = graphs
        for view in ("cgo", "compare", "graph/1"):
            self.open(view, sel="1,2", t="1")
            if view == "graph/1":
                self.browser.wait("return document.querySelector('g[data-id]') !== null")
            yield view + " of graphs"

    def test_every_control_has_a_role_and_a_name(self):
        for view in self.open_each_view():
            nodes = self.browser.devtools("Accessibility.getFullAXTree", {})["nodes"]
            controls = 0
            for node in nodes:
                role = node.get("role", {}).get("value")
                focusable = any(p["name"] == "focusable" and p["value"].get("value") for p in node.get("properties", []))
                # The document, and where the link "Skip to the contents" leads.
                if node.get("ignored") or role in ("RootWebArea", "main"):
                    continue
                if not focusable and role not in ("button", "link", "textbox", "searchbox", "checkbox", "combobox",
                                                  "grid", "columnheader", "img", "figure", "table"):
                    continue
                controls += 1
                name = node.get("name", {}).get("value", "").strip()
                if not name or role in ("generic", "none", "presentation", "GenericContainer"):
                    element = self.browser.devtools("DOM.describeNode",
                            {"backendNodeId": node["backendDOMNodeId"]})["node"]
                    self.fail("%s: a %s is called '%s': %s %s" % (view, role, name, element["nodeName"],
                            element.get("attributes")))
            self.assertGreater(controls, 10, view)

    def test_tab_reaches_every_control_and_focus_is_seen(self):
        for view in self.open_each_view():
            self.browser.run("document.activeElement.blur()")
            wanted = set()
            reached = set()
            tabs = 0
            while tabs < 2 * len(wanted) + 20 and (not wanted or wanted - reached):
                self.browser.keys(TAB)
                tabs += 1
                # What a control is called, and which one of that name it is: lists are drawn anew now and then, with other
                # elements. Nodes of a graph have a thicker border in the place of an outline.
                stop, names, seen = self.browser.run("""
                    const counts = new Map();
                    const nameOf = (e) => {
                      const name = [e.tagName, e.id, e.dataset.id, e.getAttribute('href'), e.getAttribute('aria-label') ??
                                    e.closest('label')?.textContent ?? e.textContent].join(' ').slice(0, 200);
                      counts.set(name, (counts.get(name) ?? 0) + 1);
                      return `${name} ${counts.get(name)}`;
                    };
                    const stops = [...document.querySelectorAll('a[href], button, input, select, textarea, [tabindex="0"]')]
                        .filter((e) => e.checkVisibility({checkVisibilityCSS: true}) && !e.disabled && e.tabIndex >= 0);
                    const names = stops.map(nameOf);
                    const e = document.activeElement;
                    const s = getComputedStyle(e);
                    const border = e.matches('.node') ? parseFloat(getComputedStyle(e.querySelector('rect')).strokeWidth) : 0;
                    return [names[stops.indexOf(e)] ?? null, names,
                            border >= 4 || (s.outlineStyle === 'solid' && parseFloat(s.outlineWidth) >= 2)];""")
                wanted = set(names)
                if stop is None:
                    continue
                self.assertTrue(seen, "%s: %s: %s" % (view, stop, self.browser.run(
                    "return document.activeElement.outerHTML.slice(0, 300)")))
                reached.add(stop)
            self.assertGreater(len(wanted), 10, view)
            self.assertEqual(wanted - reached, set(), view)

    def test_dark_and_narrow(self):
        self.open("overview")
        light = self.browser.run("return getComputedStyle(document.body).backgroundColor")
        self.browser.devtools("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme",
                "value": "dark"}]})
        self.browser.wait("return getComputedStyle(document.body).backgroundColor !== arguments[0]", light)
        self.browser.keys("t")
        self.browser.wait("return getComputedStyle(document.body).backgroundColor === arguments[0]", light)
        graphs = self.find_experiment("graphs")
        views = [(self.experiment, view)
                 for view in ("overview", "models", "curves", "choices", "devices", "compare", "model/1")]
        views += [(graphs, view) for view in ("cgo", "compare", "graph/1") if graphs]
        for width in (360, 3840):
            self.browser.devtools("Emulation.setDeviceMetricsOverride", {"width": width, "height": 800,
                    "deviceScaleFactor": 1, "mobile": False})
            wide = "return document.documentElement.scrollWidth - window.innerWidth"
            for self.experiment, view in views:
                self.open(view, sel="1,2")
                if self.experiment == graphs and view != "cgo":
                    self.browser.wait("return document.querySelector('g[data-id]') !== null")
                self.assertLessEqual(self.browser.run(wide), 0, "%s at %d" % (view, width))
            self.browser.follow("#/")
            self.browser.wait("return document.querySelector('main table a') !== null")
            self.assertLessEqual(self.browser.run(wide), 0, "experiments at %d" % width)
            self.shot("width_%d" % width)

    def test_each_chart_is_a_table_too(self):
        for view in self.open_each_view():
            charts = self.browser.run("""
                const shown = (e) => e.checkVisibility();
                for (const button of document.querySelectorAll('.chart button'))
                  if (button.textContent === 'Table' && button.ariaPressed === 'false' && shown(button)) button.click();
                return [...document.querySelectorAll('figure.chart')].filter(shown).map((chart) => [
                  chart.getAttribute('aria-label'),
                  [...chart.querySelectorAll('.chart-table')].filter(shown)
                      .reduce((rows, table) => rows + table.querySelectorAll('tbody tr').length, 0)]);""")
            self.assertTrue(all(rows > 0 for _, rows in charts), "%s: %s" % (view, charts))
            # The others are tables themselves, or have a chart where there is something to draw.
            if view in ("experiments", "overview", "curves", "choices", "devices", "compare"):
                self.assertTrue(charts, view)

    def test_pictures_of_the_documentation(self):
        """docs/images: of the same search each time; small enough for a repository."""
        self.browser.devtools("Emulation.setDeviceMetricsOverride", {"width": 1000, "height": 640,
                "deviceScaleFactor": 1, "mobile": False})
        for scheme in ("light", "dark"):
            self.browser.devtools("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme",
                    "value": scheme}]})
            # A hundred crossing lines make a large picture.
            for view, parameters in (("overview", {}), ("choices", {"f": "model <= 10"})):
                self.open(view, **parameters)
                self.browser.wait("return document.querySelector('figure.chart canvas').width > 300")
                if view == "choices":
                    self.browser.run("document.querySelector('figure.chart').scrollIntoView()")
                # Drawn, and shown.
                self.browser.do("POST", "/execute/async", {"script": "const done = arguments[0]; "
                        "requestAnimationFrame(() => requestAnimationFrame(() => done()))", "args": []})
                picture = self.shot("web_%s_%s" % (view, scheme))
                self.assertLess(len(picture), 150000, view)
                # Not one colour alone.
                self.assertGreater(len(picture), 10000, view)


def main():
    browser, driver = find_browser()
    if not browser or not driver:
        missing = "chromium-driver" if browser else "chromium"
        print("SKIPPED: the page is tested in chromium by chromium-driver, and %s is not installed" % missing)
        return 1 if os.environ.get("LANISTA_BROWSER_REQUIRED") else 0
    return unittest.main(verbosity=2)


if __name__ == "__main__":
    sys.exit(main())
