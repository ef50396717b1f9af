"""What the page has to show for documents of `--json`: numbers, times and tables, computed without the page's code."""

import datetime
import math
from decimal import ROUND_HALF_UP, Decimal

ENDED = ("SUCCEEDED", "FAILED", "STOPPED_EARLY", "INFEASIBLE", "CANCELED")
NOTHING = "–"
# What JSON has no number for.
ODD = {"NaN", "∞", "−∞", "Infinity", "-Infinity", "not finite"}


def plain(value):
    """A number as JavaScript writes it."""
    return str(int(value)) if value == int(value) and abs(value) < 1e21 else repr(float(value))


def rounded(value, digits):
    """To so many significant digits."""
    exact = Decimal(value)
    place = exact.adjusted() - digits + 1
    return exact.quantize(Decimal(1).scaleb(place), rounding=ROUND_HALF_UP)


def number(value, digits=4):
    """As the page writes numbers; a set, where several are right: JSON has null for NaN and infinities."""
    if value is None:
        return ODD
    if float(value).is_integer() and abs(value) < 1e15:
        return "{:,}".format(int(value)).replace("-", "−")
    if abs(value) >= 1e7 or abs(value) < 1e-4:
        text = "%.*e" % (digits - 1, rounded(value, digits))
        mantissa, exponent = text.split("e")
        return ("%se%d" % (mantissa, int(exponent))).replace("-", "−")
    return plain(float(rounded(value, digits))).replace("-", "−")


def duration(seconds):
    if seconds is None:
        return NOTHING
    if seconds < 1:
        return "%d ms" % math.floor(seconds * 1000 + 0.5)
    if seconds < 60:
        return "%s s" % plain(float(rounded(seconds, 3)))
    whole = math.floor(seconds + 0.5)
    if whole < 3600:
        return "%d min %02d s" % divmod(whole, 60)
    minutes = math.floor(seconds / 60 + 0.5)
    if minutes < 24 * 60:
        return "%d h %02d min" % divmod(minutes, 60)
    return "%d d %d h" % divmod(math.floor(seconds / 3600 + 0.5), 24)


def size(count):
    if count is None:
        return NOTHING
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return "%s %s" % (plain(count if unit == "B" else float(rounded(count, 3))), unit)
        count /= 1024
    return "%s TiB" % plain(float(rounded(count, 3)))


def moment(text):
    return None if text is None else datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


def local(text, offset):
    """A time in a zone that is so many hours off UTC."""
    if text is None:
        return NOTHING
    return (moment(text) + datetime.timedelta(hours=offset)).strftime("%Y-%m-%d %H:%M:%S")


def local_and_utc(text, offset):
    """The same with UTC beside it, which names the day where it is another one."""
    shown = local(text, offset)
    if text is None:
        return shown
    utc = local(text, 0)
    return "%s (%s UTC)" % (shown, utc[11:] if utc[:10] == shown[:10] else utc)


def word(name):
    return name.lower().replace("_", " ")


def choice(model, label):
    if label not in model["sample"]:
        return NOTHING
    value = model["sample"][label]
    return "[%s]" % ", ".join(str(v) for v in value) if isinstance(value, list) else str(value)


def attempt_of(model):
    """The attempt that a model is shown by: the last one."""
    return model["attempts"][-1] if model["attempts"] else None


def seconds_of(model):
    attempt = attempt_of(model)
    if attempt is None or attempt["start"] is None or attempt["end"] is None:
        return None
    return max(0, (moment(attempt["end"]) - moment(attempt["start"])).total_seconds())


def time_left(document, most):
    """Seconds until so many models have ended, by the pace of the last quarter of those that have, ten at least; no
    pauses."""
    ended = [model for model in document["models"] if model["status"] in ENDED and model["status"] != "INFEASIBLE"]
    times = sorted(moment(attempt_of(model)["end"]) for model in ended if attempt_of(model) and attempt_of(model)["end"])
    last = times[-max(10, math.ceil(len(times) / 4)):]
    return (last[-1] - last[0]).total_seconds() / (len(last) - 1) * (most - len(ended))


def counted(count, word):
    return "%s %s%s" % (number(count), word, "" if count == 1 else "s")


def busy_shares(bars):
    """Of each device, in percent: of the time from the first start to the last end. `bars`: device, start, end."""
    times = [(device, moment(start).timestamp(), moment(end).timestamp()) for device, start, end in bars]
    first, last = min(start for _, start, _ in times), max(end for _, _, end in times)
    shares = {}
    for device in {device for device, _, _ in times}:
        covered, seen = 0, -math.inf
        for start, end in sorted((start, end) for name, start, end in times if name == device):
            covered += max(0, end - max(start, seen))
            seen = max(seen, end)
        shares[device] = math.floor(100 * covered / (last - first) + 0.5)
    return shares


def merged_summary(trials):
    merged = [trial for trial in trials if len(trial["models"]) > 1]
    known = [trial for trial in merged if trial["steps"] is not None]
    steps, alone = (sum(trial[key] for trial in known) for key in ("steps", "steps_alone"))
    models = {member["model"] for trial in merged for member in trial["models"]}
    again = sum(member["again"] is not None for trial in merged for member in trial["models"])
    return "%s of %s%s. %s ran again after one, %s had one model only." % (
        counted(len(merged), "merged trial"), counted(len(models), "model"),
        ": %s steps instead of %s" % (number(steps), number(alone)) if alone else "", counted(again, "model"),
        counted(len(trials) - len(merged), "trial"))


def metric_of(model, name):
    """The final value, and whether there is one."""
    final = model["metrics"]["final"] or {}
    return final.get(name), name in final


def cost(value):
    return NOTHING if value is None else number(value)


def same(shown, expected):
    return shown in expected if isinstance(expected, set) else shown == expected


def model_row(model, columns, offset):
    """The cells of the table of models, by title of the column."""
    attempt = attempt_of(model)
    final = model["metrics"]["final"] or {}
    reported = [step["metrics"]["default"] for step in model["metrics"]["intermediate"] if "default" in step["metrics"]]
    cells = {
        "Model": str(model["id"]),
        "Status": word(model["status"]),
        "Duration": duration(seconds_of(model)),
        "Steps": number(len(model["metrics"]["intermediate"])),
        "Attempts": number(len(model["attempts"])),
        "Parameters": cost(model["params"]),
        "FLOPs": cost(model["flops"]),
        "Start": local_and_utc(attempt and attempt["start"], offset),
        "End": local_and_utc(attempt and attempt["end"], offset),
        "Latest": NOTHING if "default" in final or not reported else number(reported[-1]),
        "Front": NOTHING if model["front"] is None else number(model["front"]),
        "Violation": NOTHING if not final else number(model["violation"]),
        "Stopped at step": NOTHING if model["stopped"] is None else number(model["stopped"]["step"]),
        "Reason": model["failure"]["reason"] if model["failure"] else NOTHING,
        "Message": model["failure"]["message"].replace("\n", " ") if model["failure"] else NOTHING,
    }
    for metric in columns["metrics"]:
        value, known = metric_of(model, metric)
        cells["metric." + metric] = number(value) if known else NOTHING
    for label in columns["choices"]:
        cells["choice." + label] = choice(model, label)
    return cells


def quantile(ascending, q):
    at = (len(ascending) - 1) * q
    low = math.floor(at)
    high = min(low + 1, len(ascending) - 1)
    return ascending[low] + (ascending[high] - ascending[low]) * (at - low)


def better(a, b, goal):
    return a < b if goal == "MINIMIZE" else a > b


def counts(model):
    """Whether it may be among the best."""
    return model["status"] == "SUCCEEDED" and not (model["violation"] or 0) > 0


def best_so_far(document):
    """Rows of the chart: model, models ended, time, value, best; values and times as JSON has them."""
    objective = document["objectives"][0]
    ended = [m for m in document["models"] if m["status"] in ENDED and m["status"] != "CANCELED"]
    ended.sort(key=lambda m: (attempt_of(m) is None or attempt_of(m)["end"] is None,
                              (attempt_of(m) or {}).get("end") or "", m["id"]))
    rows, best = [], None
    for i, model in enumerate(ended):
        value = metric_of(model, objective["metric"])[0] if counts(model) else None
        if value is not None and (best is None or better(value, best, objective["goal"])):
            best = value
        rows.append((model["id"], i + 1, (attempt_of(model) or {}).get("end"), value, best))
    return rows


def on_front(rows, goal_x, goal_y):
    """Of (model, x, y, counts): those that no other that counts beats."""
    def beats(a, b):
        pairs = ((a[1], b[1], goal_x), (a[2], b[2], goal_y))
        return all(not better(q, p, goal) for p, q, goal in pairs) and any(better(p, q, goal) for p, q, goal in pairs)

    return {a[0] for a in rows if a[3] and not any(b[3] and beats(b, a) for b in rows)}


def importance(document, columns, metric, top):
    """Conditional PED-ANOVA as the paper defines it: the variance, over models, of a candidate's chance of the best."""
    goal = next((o["goal"] for o in document["objectives"] if o["metric"] == metric), "MAXIMIZE")
    # JSON does not tell infinities from NaN, the table by column does.
    column = columns["metrics"].get(metric, [])
    if not isinstance(column, list):
        # What all models have is said once.
        column = [column] * len(columns["model"])
    values = {model: float(value.replace("Infinity", "inf")) if isinstance(value, str) else value
              for model, value in zip(columns["model"], column)}
    models = [m for m in document["models"] if m["status"] == "SUCCEEDED" and values.get(m["id"]) is not None
              and math.isfinite(values[m["id"]])]
    ranked = sorted((values[m["id"]] for m in models), reverse=goal == "MAXIMIZE")
    if not models:
        return 0, {}
    cut = ranked[max(1, math.ceil(top * len(ranked) - 1e-9)) - 1]
    best = {m["id"] for m in models if not better(cut, values[m["id"]], goal)}
    found = {}
    for label in (c["label"] for c in columns["choices"]):
        active = [m for m in models if label in m["sample"]]
        groups = {}
        for model in active:
            groups.setdefault(repr(model["sample"][label]), []).append(model["id"] in best)
        if len(groups) < 2:
            found[label] = None
            continue
        mean = sum(m["id"] in best for m in active) / len(active)
        variance = sum(len(g) * (sum(g) / len(g) - mean) ** 2 for g in groups.values()) / len(active)
        found[label] = variance * len(active) / len(models)
    whole = sum(v for v in found.values() if v is not None)
    return len(models), {label: v if v is None or whole == 0 else v / whole for label, v in found.items()}
