// What charts are made of: best so far, quantiles, boxes, fronts of two columns, time left. Pure.

/** @typedef {import('./decode.js').Table} Table */
/** @typedef {'MAXIMIZE'|'MINIMIZE'} Goal */

/** @param {number} a @param {number} b @param {Goal} goal */
export function isBetter(a, b, goal) {
  return goal === 'MINIMIZE' ? a < b : a > b;
}

/** Models that have their result. */
const ENDED = new Set(['SUCCEEDED', 'FAILED', 'STOPPED_EARLY', 'INFEASIBLE', 'CANCELED']);

/** @param {string} state */
export function hasEnded(state) {
  return ENDED.has(state);
}

/**
 * How many models have which status.
 * @param {Table} table @returns {Map<string, number>}
 */
export function countStates(table) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const state of table.state) counts.set(state, (counts.get(state) ?? 0) + 1);
  return counts;
}

/**
 * Whether a model counts among the best: it succeeded and keeps the limits.
 * @param {Table} table @param {number} row
 */
export function isCandidate(table, row) {
  return table.state[row] === 'SUCCEEDED' && !((table.violation[row] ?? 0) > 0);
}

/**
 * The row that `show` names first: of the models that no other beats, the best by the first objective; null: there is
 * none. Reads fronts, which have to be settled.
 * @param {Table} table
 */
export function findBest(table) {
  const {metric, goal} = table.objectives[0];
  const values = /** @type {(number|null)[]} */ (table.metrics.get(metric) ?? []);
  let best = null;
  for (let row = 0; row < table.model.length; ++row) {
    if (table.front[row] !== 0) continue;
    const value = /** @type {number} */ (values[row]);
    if (best === null || isBetter(value, /** @type {number} */ (values[best]), goal)) best = row;
  }
  return best;
}

/**
 * @typedef {Object} BestPoint
 * @property {number} row
 * @property {number} order  how many models had ended, this one included
 * @property {number|null} time  ms since 1970
 * @property {number|null} value  null: it has none, or does not count
 * @property {number} best  the best until here; NaN: none yet
 * @property {boolean} improved
 */

/**
 * The best value so far, in the order in which models ended.
 * @param {Table} table @param {number[]} rows @param {string} metric @param {Goal} goal
 * @returns {BestPoint[]}
 */
export function bestSoFar(table, rows, metric, goal) {
  const values = table.metrics.get(metric) ?? [];
  const ended = rows.filter((row) => hasEnded(table.state[row]) && table.state[row] !== 'CANCELED');
  ended.sort((a, b) => (table.end[a] ?? Infinity) - (table.end[b] ?? Infinity) || table.model[a] - table.model[b]);
  let best = NaN;
  return ended.map((row, i) => {
    const known = isCandidate(table, row) ? values[row] ?? null : null;
    const value = known !== null && Number.isFinite(known) ? known : null;
    const improved = value !== null && (Number.isNaN(best) || isBetter(value, best, goal));
    if (improved) best = /** @type {number} */ (value);
    return {row, order: i + 1, time: table.end[row], value, best, improved};
  });
}

/** @param {ArrayLike<number>} sorted  ascending, not empty @param {number} q */
export function quantile(sorted, q) {
  const at = (sorted.length - 1) * q;
  const low = Math.floor(at);
  const high = Math.min(low + 1, sorted.length - 1);
  return low === high ? sorted[low] : sorted[low] + (sorted[high] - sorted[low]) * (at - low);
}

/**
 * Quantiles of all series at each step.
 * @param {import('./decode.js').Series[]} series
 * @param {number[]} quantiles
 * @returns {{step: number, count: number, values: number[]}[]}
 */
export function quantileBands(series, quantiles) {
  /** @type {Map<number, number[]>} */
  const at = new Map();
  for (const {steps, values} of series) {
    for (let i = 0; i < values.length; ++i) {
      if (!Number.isFinite(values[i])) continue;
      const list = at.get(steps[i]);
      if (list) {
        list.push(values[i]);
      } else {
        at.set(steps[i], [values[i]]);
      }
    }
  }
  return [...at].sort((a, b) => a[0] - b[0]).map(([step, list]) => {
    const sorted = Float64Array.from(list).sort();
    return {step, count: sorted.length, values: quantiles.map((q) => quantile(sorted, q))};
  });
}

/**
 * The same over any axis: between two reports of a series, values are interpolated. A series counts from its first
 * report to its last one.
 * @param {import('./decode.js').Series[]} series
 * @param {ArrayLike<number>[]} xs  of each series' reports
 * @param {number[]} quantiles
 * @param {number} count  of places on the axis, from the first report to the last one
 * @returns {{step: number, count: number, values: number[]}[]}
 */
export function quantileBandsOver(series, xs, quantiles, count) {
  let from = Infinity;
  let to = -Infinity;
  for (const list of xs) {
    for (let i = 0; i < list.length; ++i) {
      if (list[i] < from) from = list[i];
      if (list[i] > to) to = list[i];
    }
  }
  if (from > to) return [];
  const places = from === to ? [from] : Array.from({length: count}, (_, k) => from + (to - from) * k / (count - 1));
  const found = places.map(() => /** @type {number[]} */ ([]));
  series.forEach(({values}, s) => {
    let before = -1;
    let place = 0;
    for (let i = 0; i < values.length; ++i) {
      if (!Number.isFinite(values[i])) continue;
      const x = xs[s][i];
      const x0 = before < 0 ? x : xs[s][before];
      const v0 = before < 0 ? values[i] : values[before];
      while (place < places.length && places[place] < x0) ++place;
      for (; place < places.length && places[place] <= x; ++place)
        found[place].push(x === x0 ? values[i] : v0 + (values[i] - v0) * (places[place] - x0) / (x - x0));
      before = i;
    }
  });
  return places.flatMap((step, k) => {
    if (found[k].length === 0) return [];
    const sorted = Float64Array.from(found[k]).sort();
    return [{step, count: sorted.length, values: quantiles.map((q) => quantile(sorted, q))}];
  });
}

/**
 * @typedef {Object} Box
 * @property {string} label
 * @property {number} candidate  its index; -1: not chosen
 * @property {number} count  of models that have the value
 * @property {number} least
 * @property {number} low  first quartile
 * @property {number} median
 * @property {number} high
 * @property {number} most
 */

/**
 * A metric by the candidate that was chosen.
 * @param {import('./decode.js').Choice} choice
 * @param {ArrayLike<number|null>} values
 * @param {number[]} rows
 * @param {(candidate: unknown) => string} label
 * @returns {Box[]}
 */
export function boxesByCandidate(choice, values, rows, label) {
  /** @type {Map<number, number[]>} */
  const groups = new Map();
  for (const row of rows) {
    const value = values[row];
    if (value === null || value === undefined || !Number.isFinite(value)) continue;
    const chosen = choice.chosen[row];
    for (const index of Array.isArray(chosen) ? chosen : [chosen ?? -1]) {
      const group = groups.get(index);
      if (group) {
        group.push(value);
      } else {
        groups.set(index, [value]);
      }
    }
  }
  const order = choice.candidates.map((_, i) => i);
  if (groups.has(-1)) order.push(-1);
  return order.map((index) => {
    const sorted = Float64Array.from(groups.get(index) ?? []).sort();
    const at = (/** @type {number} */ q) => sorted.length === 0 ? NaN : quantile(sorted, q);
    return {
      label: index < 0 ? 'not chosen' : label(choice.candidates[index]),
      candidate: index,
      count: sorted.length,
      least: at(0),
      low: at(0.25),
      median: at(0.5),
      high: at(0.75),
      most: at(1),
    };
  });
}

/**
 * The points that no other beats in two columns.
 * @param {{x: number, y: number}[]} points  finite
 * @param {Goal} goalX @param {Goal} goalY
 * @returns {boolean[]}
 */
export function paretoFront(points, goalX, goalY) {
  const sx = goalX === 'MINIMIZE' ? 1 : -1;
  const sy = goalY === 'MINIMIZE' ? 1 : -1;
  const order = points.map((_, i) => i);
  order.sort((a, b) => sx * (points[a].x - points[b].x) || sy * (points[a].y - points[b].y));
  const front = new Array(points.length).fill(false);
  let best = Infinity;
  let bestX = NaN;
  for (const i of order) {
    const y = sy * points[i].y;
    if (y < best || (y === best && points[i].x === bestX)) {
      front[i] = true;
      best = y;
      bestX = points[i].x;
    }
  }
  return front;
}

/**
 * Failures by reason, then by message, the most frequent first.
 * @param {Table} table @param {number[]} rows
 * @returns {{reason: string, count: number, messages: {message: string, models: number[]}[]}[]}
 */
export function groupFailures(table, rows) {
  /** @type {Map<string, Map<string, number[]>>} */
  const reasons = new Map();
  for (const row of rows) {
    const index = table.failureOf[row];
    if (index === null || index === undefined || table.state[row] !== 'FAILED') continue;
    const {reason, message} = table.failures[index];
    const messages = reasons.get(reason) ?? new Map();
    reasons.set(reason, messages);
    const models = messages.get(message);
    if (models) {
      models.push(table.model[row]);
    } else {
      messages.set(message, [table.model[row]]);
    }
  }
  return [...reasons]
      .map(([reason, messages]) => {
        const list = [...messages].map(([message, models]) => ({message, models}));
        list.sort((a, b) => b.models.length - a.models.length);
        return {reason, count: list.reduce((sum, m) => sum + m.models.length, 0), messages: list};
      })
      .sort((a, b) => b.count - a.count);
}

/**
 * For how many seconds an experiment that runs has run: the time before a resume, in which nothing ran, is no part of
 * it.
 * @param {{show: any, shownAt: number}} loaded  its document, and when it was loaded (ms since 1970)
 * @param {number} now  ms since 1970
 */
export function secondsRun({show, shownAt}, now) {
  return (show?.seconds ?? 0) + Math.max(0, now - shownAt) / 1000;
}

/**
 * Seconds until so many models have ended, by the pace of the last ones; null: nobody can tell.
 * @param {Table} table
 * @param {number|null} maxModels
 * @param {number} ran  secondsRun
 * @param {number} now  ms since 1970
 */
export function secondsOfModels(table, maxModels, ran, now) {
  if (maxModels === null || table.started === null) return null;
  const ends = [];
  let done = 0;
  for (let row = 0; row < table.model.length; ++row) {
    // Infeasible models do not count towards the limit.
    if (!hasEnded(table.state[row]) || table.state[row] === 'INFEASIBLE') continue;
    ++done;
    const end = table.end[row];
    if (end !== null) ends.push(end);
  }
  const window = Float64Array.from(ends).sort().slice(-Math.max(10, Math.ceil(ends.length / 4)));
  // A pace needs two ends; what comes before the first one of the window is no part of it.
  if (window.length < 2 || window[window.length - 1] === window[0]) return null;
  let longest = 0;
  for (let i = 1; i < window.length; ++i) longest = Math.max(longest, window[i] - window[i - 1]);
  // After a resume, the longest pause between two ends is the time in which nothing ran.
  const away = Math.max(0, now - table.started - 1000 * ran);
  const span = window[window.length - 1] - window[0] - Math.min(longest, away);
  return Math.max(0, maxModels - done) * span / (window.length - 1) / 1000;
}

/**
 * Seconds until an experiment's end; null: nobody can tell.
 * @param {Table} table
 * @param {{maxSeconds: number|null}} limits
 * @param {number} ran  secondsRun
 * @param {number|null} ofModels  secondsOfModels
 */
export function timeLeft(table, {maxSeconds}, ran, ofModels) {
  if (table.status !== 'RUNNING' || table.started === null || (maxSeconds === null && ofModels === null)) return null;
  return Math.max(0, Math.min(maxSeconds === null ? Infinity : maxSeconds - ran, ofModels ?? Infinity));
}

/**
 * When it will have ended, ms since 1970; null: not known, or later than dates go.
 * @param {number} now @param {number|null} left  seconds
 */
export function endAfter(now, left) {
  const end = left === null ? NaN : new Date(now + left * 1000).getTime();
  return Number.isNaN(end) ? null : end;
}

/**
 * The share of a span that intervals cover; those that overlap count once.
 * @param {[number, number][]} intervals @param {number} from @param {number} to
 */
export function busyShare(intervals, from, to) {
  if (!(to > from)) return 0;
  const sorted = intervals.map(([a, b]) => [Math.max(a, from), Math.min(b, to)]).filter(([a, b]) => b > a);
  sorted.sort((a, b) => a[0] - b[0]);
  let covered = 0;
  let end = -Infinity;
  for (const [a, b] of sorted) {
    covered += Math.max(0, b - Math.max(a, end));
    end = Math.max(end, b);
  }
  return covered / (to - from);
}

/**
 * One bar of the timeline: a trial on its device, with the models that it trains.
 * @typedef {Object} Bar
 * @property {number} trial
 * @property {number} device
 * @property {number} start
 * @property {number|null} end  null: it runs
 * @property {number[]} models
 * @property {number[]} attempts  of the models
 * @property {string|null} outcome  'MIXED' where its models ended differently
 */

/**
 * Attempts of the same trial are one bar.
 * @param {import('./decode.js').Attempts} attempts @returns {Bar[]}
 */
export function barsOf(attempts) {
  /** @type {Map<string, Bar>} */
  const bars = new Map();
  for (let i = 0; i < attempts.model.length; ++i) {
    const device = attempts.device[i];
    const start = attempts.start[i];
    if (device === null || start === null) continue;
    const key = `${attempts.trial[i]}/${device}`;
    const bar = bars.get(key);
    if (!bar) {
      bars.set(key, {
        trial: attempts.trial[i],
        device,
        start,
        end: attempts.end[i],
        models: [attempts.model[i]],
        attempts: [attempts.attempt[i]],
        outcome: attempts.outcome[i]
      });
      continue;
    }
    bar.models.push(attempts.model[i]);
    bar.attempts.push(attempts.attempt[i]);
    bar.start = Math.min(bar.start, start);
    const end = attempts.end[i];
    bar.end = bar.end === null || end === null ? null : Math.max(bar.end, end);
    if (bar.outcome !== attempts.outcome[i]) bar.outcome = bar.end === null ? null : 'MIXED';
  }
  return [...bars.values()].sort((a, b) => a.start - b.start);
}
