"""How quick the web page is: headless Chromium, without a GPU, on searches that bench/web_load.cc makes up.

Environment, set by web.sh: LANISTA: the program, with lanista-trial beside it. LANISTA_WEB_LOAD: web_load.
docs/benchmarks.md explains the figures: medians of some rounds, where nothing else is said.
"""

import argparse
import bisect
import datetime
import json
import math
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests/web"))

from browser import Browser, find_browser  # noqa: E402  (a neighbour's folder)

PAGE_FOLDER = os.path.join(ROOT, "src/web/page")
METRICS = ("default", "loss", "learning_rate", "gradient_norm")
STREAMS = 200

# What the figures should not exceed, on two cores with nothing else to do and without --quick.
LIMITS = {
    "link_to_overview_seconds": 1,
    "journal_to_overview_seconds": 2.5,
    "open_50000_seconds": 5,
    # As quick as other things that somebody does and looks at.
    "filter_50000_ms": 300,
    "sort_50000_ms": 300,
    "graph_1000_nodes_ms": 1000,
    "all_curves_seconds": 0.5,
    "metric_ms": 300,
    "brush_ms": 300,
    "filter_ms": 100,
    "sort_ms": 100,
    "scroll_frame_ms": 50,
    "journaled_to_seen_p95_ms": 300,
    "heap_after_events": 1.2,
    # Nobody waits for a slow one.
    "streams_late_ms": 300,
    "streams_late_beside_unread_ms": 300,
    "stream_threads": 2,
    "stream_bytes": 64 << 10,
    "page_cost": 0.05,
    "page_bytes": 250000,
    "columns_bytes": 1000000,
    # A float each; the rest is the number of each model, and of its points.
    "curve_bytes_per_point": 4.1,
}

CONSTANT_SEARCH = """
name: "constant"
space { registered: "mnist_cnn" }
strategy { random { dedup: false } }
evaluator { constant { value: 0.5 } }
training_service { local { cpu_slots: 2 } }
max_trial_number: %d
seed: 1
"""


class Size:
    def __init__(self, quick):
        self.rounds = 1 if quick else 5
        self.large = (600, 20) if quick else (6000, 100)
        self.many = (2000, 10) if quick else (50000, 20)
        # Models, and their steps, that end while an open page looks on.
        self.paced = 100 if quick else 1500
        self.flood = (50, 20) if quick else (1000, 97)
        self.scroll_frames = 60 if quick else 300
        self.report_seconds = 2 if quick else 15
        self.trials = 20000 if quick else 60000
        self.cost_rounds = 1 if quick else 5
        # A page that was opened a moment ago has its scripts compiled.
        self.cost_warm_up_seconds = 0.5 if quick else 2
        self.cost_seconds = 2 if quick else 4


def program(name):
    return os.environ[name]


class Process:
    """A program of ours that says where it is, and takes commands."""

    def __init__(self, *command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def line(self, beginning=""):
        """The rest of the next line that begins so."""
        for line in self.process.stdout:
            if line.startswith(beginning):
                return line[len(beginning):].strip()
        raise RuntimeError("%s has ended" % " ".join(self.process.args))

    def ask(self, command):
        self.tell(command)
        return json.loads(self.line())

    def tell(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def end(self):
        self.process.send_signal(signal.SIGINT)
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


class Link:
    """A page's address, port and token."""

    def __init__(self, text):
        self.origin, fragment = text.split("/#", 1)
        self.port = self.origin.rsplit(":", 1)[1]
        self.token = fragment.split("=", 1)[1]

    def to(self, route):
        return "%s/#token=%s&%s" % (self.origin, self.token, route)

    def fetch(self, path):
        request = urllib.request.Request(self.origin + path, headers={
                "Authorization": "Bearer " + self.token, "Accept-Encoding": "gzip"})
        with urllib.request.urlopen(request) as answer:
            return answer.read()


class Page(Browser):
    """A browser with web_page.js in it."""

    def __init__(self):
        super().__init__(logs_requests=False)
        with open(os.path.join(ROOT, "bench/web_page.js"), encoding="utf-8") as file:
            self.devtools("Page.addScriptToEvaluateOnNewDocument", {"source": file.read()})
        self.do("POST", "/timeouts", {"script": 100000})

    def measure(self, call):
        """What a promise of `bench` gives."""
        return self.do("POST", "/execute/async", {
            "script": "const done = arguments[0]; bench.%s.then(done, (error) => done(String(error)));" % call,
            "args": []})

    def open(self, link):
        """Seconds until the overview is complete."""
        self.go("about:blank")
        self.go(link)
        return self.measure("overview()") / 1000

    def heap_bytes(self):
        for _ in range(2):
            self.devtools("HeapProfiler.collectGarbage", {})
        return self.devtools("Runtime.getHeapUsage", {})["usedSize"]


def median_of(rounds, measure):
    return statistics.median(measure(i) for i in range(rounds))


def open_times(link, experiment, rounds):
    """Seconds from the link to the overview, each time in a new browser."""
    times = []
    for _ in range(rounds):
        page = Page()
        try:
            times.append(page.open(link.to("/e/%s/overview" % experiment)))
        finally:
            page.close()
    return statistics.median(times)


def measure_journal_alone(state, experiment, rounds):
    """The same, each time of a new server that has read nothing yet."""
    def measure(_):
        server = Process(program("LANISTA"), "web", "--listen", "127.0.0.1:0", "--state-dir", state)
        try:
            return open_times(Link(server.line("page: ")), experiment, 1)
        finally:
            server.end()
    return median_of(rounds, measure)


def measure_interaction(link, experiment, size, figures):
    page = Page()
    try:
        page.open(link.to("/e/%s/overview" % experiment))
        base = "#/e/%s/" % experiment
        measure = page.measure
        # The first one loads the points.
        figures["all_curves_seconds"] = measure("go('%scurves', 'canvas')" % base) / 1000
        figures["metric_ms"] = statistics.median(
                measure("go('%scurves?m=%s', 'canvas')" % (base, metric)) for metric in METRICS[1:])
        measure("go('%schoices', 'canvas')" % base)
        figures["brush_ms"] = median_of(size.rounds, lambda i: measure(
                "go('%schoices?brush=metric.default:0.%d:1', 'canvas')" % (base, 90 - 10 * (i % 4))))
        measure("go('%smodels', 'dom')" % base)
        measure_table(page, size, figures, "")
        figures["scroll_frame_ms"] = measure("scroll(%d)" % size.scroll_frames)
        figures["graph_1000_nodes_ms"] = median_of(size.rounds, lambda i: measure("graph(1000)"))
    finally:
        page.close()


def measure_table(page, size, figures, suffix):
    """Of the view of models."""
    figures["filter%s_ms" % suffix] = median_of(size.rounds, lambda i: page.measure(
            "filter('default > 0.%d and cells.0.choice_0 = layer_1')" % (60 + i)))
    page.measure("filter('')")
    figures["sort%s_ms" % suffix] = median_of(size.rounds, lambda i: page.measure(
            "click('[role=columnheader]:nth-child(%d)', 'dom')" % (1 + i % 3)))


def measure_bytes(link, experiment, size, figures):
    folder = "/api/v1/experiments/%s/" % experiment
    figures["columns_bytes"] = len(link.fetch(folder + "columns"))
    models, steps = size.large
    figures["curve_bytes_per_point"] = len(link.fetch(folder + "curves?metric=default")) / (models * steps)
    figures["page_bytes"] = sum(len(link.fetch("/" + name)) for name in [*os.listdir(PAGE_FOLDER), "d3.min.js"])


def measure_seen(head, link, experiment, size, figures):
    """How long a model's outcome takes from the journal to the page; then what a flood of events leaves behind."""
    page = Page()
    try:
        address = link.to("/e/%s/overview" % experiment)
        page.open(address)
        base = page.run("return bench.watchEnded()")
        recorded = head.ask("models %d 50 20" % size.paced)["times"]
        page.wait("return bench.seen.at(-1)?.[1] >= arguments[0]", base + len(recorded))
        seen = iter(page.run("return bench.seen"))
        delays = []
        moment, count = next(seen)
        for i, time_recorded in enumerate(recorded):
            while count < base + i + 1:
                moment, count = next(seen)
            delays.append(moment - time_recorded)
        delays.sort()
        figures["journaled_to_seen_p95_ms"] = delays[math.ceil(0.95 * len(delays)) - 1]

        head.ask("models %d 0 %d" % size.flood)
        page.wait("return bench.ended() >= arguments[0]", base + size.paced + size.flood[0])
        # What is loaded again after new models is loaded.
        time.sleep(6)
        after = page.heap_bytes()
        page.open(address)
        time.sleep(6)
        figures["heap_after_events"] = after / page.heap_bytes()
    finally:
        page.close()


def resident_bytes(pid):
    with open("/proc/%d/statm" % pid, encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def thread_seconds(pid):
    """CPU time of each thread."""
    times = {}
    for thread in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/stat" % (pid, thread), encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        times[int(thread)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return times


def open_unread_stream(link, experiment, after):
    """A stream of events that nobody reads, and that takes little before it blocks."""
    stream = socket.socket()
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    stream.connect(("127.0.0.1", int(link.port)))
    stream.sendall(("GET /api/v1/experiments/%s/events?models=1&after=%d HTTP/1.0\r\nHost: 127.0.0.1\r\n"
                    "Authorization: Bearer %s\r\n\r\n" % (experiment, after, link.token)).encode())
    return stream


def measure_streams(head, link, experiment, size, figures):
    """Many streams at 2,000 reports a second, against one; then beside one that is never read."""
    pid = head.process.pid
    rate = 2000

    def run(streams, after, seconds, unread=False):
        slow = open_unread_stream(link, experiment, after) if unread else None
        readers = Process(program("LANISTA_WEB_LOAD"), "streams", link.port, link.token, experiment, str(after),
                          str(streams))
        readers.line("open")
        before = thread_seconds(pid)
        head.tell("reports %d %d" % (rate * seconds, rate))
        most = 0
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            most = max(most, resident_bytes(pid))
            time.sleep(0.05)
        number = json.loads(head.line())["number"]
        recorded = time.monotonic()
        busy = [thread for thread, spent in thread_seconds(pid).items()
                if thread != pid and spent - before.get(thread, 0) > 0.02 * seconds]
        while readers.ask("count")["least"] < rate * seconds:
            time.sleep(0.005)
        late = time.monotonic() - recorded
        readers.end()
        if slow is not None:
            slow.close()
        return number, most, len(busy), late

    number = head.ask("reports 1 1")["number"]
    number, with_one, _, _ = run(1, number, size.report_seconds)
    number, with_all, threads, late = run(STREAMS, number, size.report_seconds)
    _, _, _, late_beside_unread = run(STREAMS, number, size.report_seconds, unread=True)
    figures["streams_late_ms"] = 1000 * late
    figures["streams_late_beside_unread_ms"] = 1000 * late_beside_unread
    figures["stream_bytes"] = max(0, with_all - with_one) / (STREAMS - 1)
    figures["stream_threads"] = threads


def open_overview(page, link, over):
    """`over`: whether the page's server has ended."""
    page.go(link)
    page.wait("return document.querySelector('main table a') !== null", over=over)
    page.run("location.hash = document.querySelector('main table a').getAttribute('href')")
    page.wait("return document.querySelectorAll('.tile').length > 1", over=over)


def run_watched(config, state, page, size):
    """Runs a search whose page is closed for some seconds, then open for as many, and so on to its end. When its models
    ended, in their order; and these times, as (begin, end): seconds since 1970. To open the page belongs to none."""
    search = Process(program("LANISTA"), "run", config, "--state-dir", state, "--web", "0")
    link = search.line("page: ")
    # It says a line for each model, and would wait for who does not read them.
    drain = threading.Thread(target=search.process.stdout.read, daemon=True)
    drain.start()
    times = []
    while search.process.poll() is None:
        if len(times) % 2 == 0:
            page.go("about:blank")
        else:
            try:
                open_overview(page, link, lambda: search.process.poll() is not None)
            except (AssertionError, RuntimeError):
                # Its server has ended with the search.
                if search.process.wait(timeout=10) == 0:
                    break
                raise
        time.sleep(size.cost_warm_up_seconds)
        begin = time.time()
        time.sleep(size.cost_seconds)
        times.append((begin, begin + size.cost_seconds))
    drain.join()
    if search.process.wait() != 0:
        raise RuntimeError("`lanista run` failed")
    trials = json.loads(subprocess.run([program("LANISTA"), "trials", "latest", "--json", "--state-dir", state],
                                       check=True, stdout=subprocess.PIPE).stdout)
    ends = [model["attempts"][-1]["end"].replace("Z", "+00:00") for model in trials["models"]]
    return sorted(datetime.datetime.fromisoformat(end).timestamp() for end in ends), times


def measure_cost(folder, size, figures):
    """What an open page takes of a search's trials a second: each time that it is open is compared with those before and
    after it, so that what makes the whole machine slower or quicker meanwhile does not count."""
    config = os.path.join(folder, "constant.textproto")
    with open(config, "w", encoding="utf-8") as file:
        file.write(CONSTANT_SEARCH % size.trials)
    # Of each round: ratios in a round share the times in which the page was closed.
    means = []
    page = Page()
    try:
        for i in range(size.cost_rounds):
            ends, times = run_watched(config, os.path.join(folder, "constant-%d" % i), page, size)
            ended = [bisect.bisect(ends, end) - bisect.bisect(ends, begin) for begin, end in times if end < ends[-1]]
            ratios = [2 * ended[k] / (ended[k - 1] + ended[k + 1]) for k in range(1, len(ended) - 1, 2)]
            if ratios:
                means.append(statistics.mean(ratios))
    finally:
        page.close()
    if not means:
        raise RuntimeError("the search was over before its page was open and closed again: it needs more trials")
    figures["page_cost"] = 1 - statistics.mean(means)
    if len(means) > 1:
        figures["page_cost_standard_error"] = statistics.stdev(means) / math.sqrt(len(means))


def make_journal(folder, name, models, steps):
    """Its state folder."""
    state = os.path.join(folder, "state")
    if not os.path.exists(os.path.join(state, "experiments", name)):
        subprocess.run([program("LANISTA_WEB_LOAD"), "journal", state, name, str(models), str(steps)], check=True)
    return state


def measure_journals(folder, size, figures):
    """The journal alone."""
    state = make_journal(folder, "large", *size.large)
    make_journal(folder, "many", *size.many)
    figures["journal_to_overview_seconds"] = measure_journal_alone(state, "large", size.rounds)
    figures["open_50000_seconds"] = measure_journal_alone(state, "many", 1 if size.rounds == 1 else 3)
    server = Process(program("LANISTA"), "web", "--listen", "127.0.0.1:0", "--state-dir", state)
    try:
        link = Link(server.line("page: "))
        measure_bytes(link, "large", size, figures)
        measure_interaction(link, "large", size, figures)
        page = Page()
        page.open(link.to("/e/many/overview"))
        page.measure("go('#/e/many/models', 'dom')")
        measure_table(page, size, figures, "_50000")
        page.close()
    finally:
        server.end()


def measure_head(folder, size, figures):
    """A running head."""
    head = Process(program("LANISTA_WEB_LOAD"), "head", make_journal(folder, "large", *size.large), "large")
    try:
        link = Link(head.line("page: "))
        # Somebody has had the page open before.
        open_times(link, "large", 1)
        figures["link_to_overview_seconds"] = open_times(link, "large", size.rounds)
        measure_streams(head, link, "large", size, figures)
        measure_seen(head, link, "large", size, figures)
    finally:
        head.end()


PARTS = {"journals": measure_journals, "head": measure_head, "cost": measure_cost}


def main():
    parser = argparse.ArgumentParser(prog="web")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("part", nargs="*", help="which figures (default: all): " + ", ".join(PARTS))
    options = parser.parse_args()
    unknown = set(options.part) - set(PARTS)
    if unknown:
        parser.error("there is no part %s; parts: %s" % (", ".join(sorted(unknown)), ", ".join(PARTS)))
    if any(path is None for path in find_browser()):
        print("web: needs Debian's packages chromium and chromium-driver (scripts/install_deps.sh --browser)",
              file=sys.stderr)
        return 1
    size = Size(options.quick)
    figures = {}
    folder = tempfile.mkdtemp(prefix="lanista-bench-web-")
    try:
        # `head` writes into the journal of `journals`.
        for part, measure in PARTS.items():
            if options.part and part not in options.part:
                continue
            print("web: " + part, flush=True)
            measure(folder, size, figures)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    missed = [name for name, value in figures.items() if value > LIMITS.get(name, math.inf)]
    for name, value in sorted(figures.items()):
        judgement = "at most %g%s" % (LIMITS[name], ", MISSED" if name in missed else "") if name in LIMITS else ""
        print("%-32s %12.4g   %s" % (name, value, judgement))
    print(json.dumps({"bench": "web", "figures": {name: float("%.6g" % figures[name]) for name in sorted(figures)},
                      "limits": LIMITS}))
    # The limits are those of the whole size.
    return 1 if missed and not options.quick else 0


if __name__ == "__main__":
    sys.exit(main())
