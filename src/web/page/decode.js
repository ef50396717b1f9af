// From the server's documents to what the page keeps. Pure.

import {findFronts} from './fronts.js';

/**
 * A metric's value: a number (NaN and infinities too), or null where there is none.
 * @typedef {number|null} Value
 *
 * @typedef {Object} Choice
 * @property {string} label
 * @property {string} kind
 * @property {unknown[]} candidates
 * @property {number} nChosen
 * @property {{label: string, chosen: number}[][]} activeIf  a disjunction of conjunctions; empty: always active
 * @property {(number|number[]|null)[]} chosen  for each row; null: not active, or not known yet
 *
 * @typedef {{metric: string, goal: 'MAXIMIZE'|'MINIMIZE'}} Objective
 * @typedef {{metric: string, max: number|null, min: number|null}} Constraint
 *
 * The models of an experiment by column: index i of every list is one model.
 * @typedef {Object} Table
 * @property {string} id
 * @property {number} number  events up to this one are in it
 * @property {string} status
 * @property {string} reason
 * @property {number|null} started
 * @property {Objective[]} objectives
 * @property {Constraint[]} constraints
 * @property {number[]} model
 * @property {Map<number, number>} rowOf  model -> row
 * @property {string[]} state  status of each model
 * @property {(number|null)[]} start
 * @property {(number|null)[]} end
 * @property {(number|null)[]} begun  start of the attempt that made the first report; null: there is none
 * @property {number[]} attempts
 * @property {(number|null)[]} params  parameters of the model; null: it was not built
 * @property {(number|null)[]} flops  of one run on one sample; null: not known
 * @property {number[]} steps
 * @property {Choice[]} choices
 * @property {Map<string, Value[]>} metrics  final values
 * @property {Set<string>} reported  metrics that have curves
 * @property {Value[]} latest
 * @property {Value[]} violation
 * @property {(number|null)[]} front
 * @property {(number|null)[]} stoppedStep
 * @property {{reason: string, message: string}[]} failures
 * @property {(number|null)[]} failureOf
 * @property {boolean} frontsStale  outcomes came since `front` was computed
 * @property {Set<number>} unknown  models whose sample no event has told: their outcomes will, or the table when it is
 *     loaded again
 * @property {boolean} incomplete  it lacks what no event tells: it is to be loaded again
 * @property {number} revision  counts changes
 */

/**
 * What a JSON text says. Integers whose digits a number of JavaScript would lose (beyond 2^53) become texts, as
 * protobuf writes them.
 * @param {string} text @returns {any}
 */
export function readJson(text) {
  // Few documents have so many digits other than behind a point: all others are read at once.
  if (!/(?:^|[^.\d])\d{16}/.test(text)) return JSON.parse(text);
  let inText = false;
  return JSON.parse(text.replace(/\\.|"|-?\d[\d.eE+-]*/g, (token) => {
    if (token === '"') inText = !inText;
    return !inText && /^-?\d+$/.test(token) ? JSON.stringify(readInteger(token)) : token;
  }));
}

/**
 * A number; an integer that loses digits as a number stays a text.
 * @param {string} text
 */
export function readInteger(text) {
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : text;
}

/**
 * Whether a candidate is a number, as `readJson` reads these.
 * @param {unknown} candidate
 */
export function isNumber(candidate) {
  return typeof candidate === 'number' ||
      (typeof candidate === 'string' && /^-?\d{16,}$/.test(candidate) && readInteger(candidate) === candidate);
}

/**
 * "NaN" and "Infinity" as numbers.
 * @param {unknown} value @returns {Value}
 */
export function readNumber(value) {
  if (value === null || value === undefined) return null;
  if (typeof value === 'number') return value;
  const number = Number(value);
  return Number.isNaN(number) && value !== 'NaN' ? null : number;
}

/** @param {string|number|null|undefined} time ISO 8601 or ms @returns {number|null} */
export function readTime(time) {
  if (time === null || time === undefined) return null;
  const ms = typeof time === 'number' ? time : Date.parse(time);
  return Number.isNaN(ms) ? null : ms;
}

/**
 * The times of models, ms since 1970, of what `columns` has as times behind others.
 * @param {(number|null)[]} times @param {(row: number) => number} since  ms since 1970
 * @returns {(number|null)[]}
 */
function timesSince(times, since) {
  return times.map((time, row) => time === null ? null : since(row) + time);
}

/** @param {any[]} terms */
function readCondition(terms) {
  return terms.flatMap((term) => (Array.isArray(term.chosen) ? term.chosen : [
                                   term.chosen
                                 ]).map((/** @type {number} */ chosen) => ({label: String(term.label), chosen})));
}

/**
 * The document of `columns`.
 * @param {any} document
 * @returns {Table}
 */
export function decodeColumns(document) {
  const model = /** @type {number[]} */ (document.model ?? []);
  const n = model.length;
  // What all models have is said once.
  const column = (/** @type {any} */ entries) =>
      Array.isArray(entries) ? entries.slice() : new Array(n).fill(entries ?? null);
  const metrics = new Map();
  for (const [name, values] of Object.entries(document.metrics ?? {})) metrics.set(name, column(values).map(readNumber));
  const started = readTime(document.started);
  const start = timesSince(column(document.start), () => started ?? 0);
  const sinceStart = (/** @type {any} */ entries) => timesSince(column(entries), (row) => start[row] ?? started ?? 0);
  return {
    id: document.id,
    number: Number(document.number ?? 0),
    status: document.status ?? 'CREATED',
    reason: document.reason ?? '',
    started,
    objectives: document.objectives ?? [{metric: 'default', goal: 'MAXIMIZE'}],
    constraints: document.constraints ?? [],
    model: model.slice(),
    rowOf: new Map(model.map((id, row) => [id, row])),
    state: column(document.status_of).map((i) => document.statuses[i]),
    start,
    end: sinceStart(document.end),
    begun: sinceStart(document.begun),
    attempts: column(document.attempts ?? 0),
    params: column(document.params).map(readNumber),
    flops: column(document.flops).map(readNumber),
    steps: column(document.steps ?? 0),
    choices: (document.choices ?? []).map((/** @type {any} */ choice) => ({
                                            label: choice.label,
                                            kind: choice.kind ?? '',
                                            candidates: choice.candidates ?? [],
                                            nChosen: choice.n_chosen ?? 1,
                                            activeIf: (choice.active_if ?? []).map(readCondition),
                                            chosen: column(choice.chosen),
                                          })),
    metrics,
    reported: new Set(document.reported ?? []),
    latest: column(document.latest).map(readNumber),
    violation: column(document.violation).map(readNumber),
    front: column(document.front),
    stoppedStep: column(document.stopped_step),
    failures: (document.failures ?? []).slice(),
    failureOf: column(document.failure_of),
    frontsStale: false,
    unknown: new Set(),
    incomplete: false,
    revision: 0,
  };
}

/**
 * Completes a table with what `space` and `show` know: conditions of choices, limits.
 * @param {Table} table
 * @param {any} space  or null
 * @param {any} show  or null
 */
export function completeTable(table, space, show) {
  for (const choice of space?.choices ?? []) {
    const mine = table.choices.find((c) => c.label === choice.label);
    if (!mine) continue;
    mine.nChosen = choice.n_chosen ?? 1;
    mine.activeIf = (choice.active_if ?? []).map(readCondition);
  }
  if (show?.constraints) table.constraints = show.constraints;
  ++table.revision;
}

/**
 * One metric's reports of all models.
 * @typedef {Object} Series
 * @property {ArrayLike<number>} steps
 * @property {ArrayLike<number>} values
 *
 * @typedef {Object} Curves
 * @property {number} number  events up to this one are in it
 * @property {Map<number, Series>} of  model -> its reports
 * @property {number} points
 */

/** "LNC2" as a number. */
const CURVES_MAGIC = 0x32434e4c;
const CURVES_HEADER = 24;

/**
 * The binary of `curves`: little endian "LNC2", models, points, flags, number (64 bits); models, counts, (steps),
 * values, (what 32 bits cannot hold: how many, points, values of 64 bits).
 * @param {ArrayBuffer} buffer
 * @returns {Curves}
 */
export function decodeCurves(buffer) {
  const view = new DataView(buffer);
  if (buffer.byteLength < CURVES_HEADER || view.getUint32(0, true) !== CURVES_MAGIC)
    throw new Error('these are no curves ("LNC2")');
  const models = view.getUint32(4, true);
  const points = view.getUint32(8, true);
  const flags = view.getUint32(12, true);
  const hasSteps = (flags & 1) !== 0;
  const wideAt = CURVES_HEADER + 8 * models + points * (hasSteps ? 8 : 4);
  const wide = (flags & 2) !== 0 && buffer.byteLength >= wideAt + 4 ? view.getUint32(wideAt, true) : 0;
  const expected = wideAt + ((flags & 2) !== 0 ? 4 + 12 * wide : 0);
  if (buffer.byteLength !== expected) {
    throw new Error(`curves of ${models} models and ${points} points have ${expected} bytes, not ${buffer.byteLength}`);
  }
  const ids = new Uint32Array(buffer, CURVES_HEADER, models);
  const counts = new Uint32Array(buffer, CURVES_HEADER + 4 * models, models);
  const steps = hasSteps ? new Uint32Array(buffer, CURVES_HEADER + 8 * models, points) : null;
  const values = new Float32Array(buffer, CURVES_HEADER + 8 * models + (hasSteps ? 4 * points : 0), points);
  /** @type {Map<number, number>} */
  const wideValues = new Map();
  for (let i = 0; i < wide; ++i)
    wideValues.set(view.getUint32(wideAt + 4 + 4 * i, true), view.getFloat64(wideAt + 4 + 4 * wide + 8 * i, true));
  let longest = 0;
  for (const count of counts) longest = Math.max(longest, count);
  const natural = Uint32Array.from({length: longest}, (_, i) => i);
  /** @type {Map<number, Series>} */
  const of = new Map();
  let offset = 0;
  for (let i = 0; i < models; ++i) {
    const end = offset + counts[i];
    if (end > points) throw new Error('the counts of these curves add up to more than their points');
    of.set(ids[i], {
      steps: steps ? steps.subarray(offset, end) : natural.subarray(0, counts[i]),
      values: values.subarray(offset, end),
    });
    offset = end;
  }
  if (wideValues.size > 0) widen(of, wideValues);
  return {number: Number(view.getBigUint64(16, true)), of, points};
}

/**
 * Puts values of 64 bits in their places.
 * @param {Map<number, Series>} of @param {Map<number, number>} values  by the point's number among all
 */
function widen(of, values) {
  let begin = 0;
  for (const series of of.values()) {
    const {length} = series.values;
    for (let i = 0; i < length; ++i) {
      const value = values.get(begin + i);
      if (value === undefined) continue;
      if (series.values instanceof Float32Array) series.values = Float64Array.from(series.values);
      /** @type {Float64Array} */ (series.values)[i] = value;
    }
    begin += length;
  }
}

/**
 * A number as curves have it: of 32 bits, where these can hold it.
 * @param {number} value
 */
export function curveValue(value) {
  const single = Math.fround(value);
  return Number.isFinite(single) !== Number.isFinite(value) || (single === 0 && value !== 0) ? value : single;
}

/**
 * What each try was: index i of every list is one attempt.
 * @typedef {Object} Attempts
 * @property {number} number  events up to this one are in it
 * @property {string[]} devices
 * @property {number[]} model
 * @property {number[]} attempt
 * @property {number[]} trial
 * @property {(number|null)[]} device
 * @property {(number|null)[]} start
 * @property {(number|null)[]} end
 * @property {(string|null)[]} outcome
 * @property {Map<string, number>} indexOf  "model/attempt" -> index
 */

/**
 * The document of `attempts`.
 * @param {any} document @returns {Attempts}
 */
export function decodeAttempts(document) {
  const n = document.model.length;
  const indexOf = new Map();
  for (let i = 0; i < n; ++i) indexOf.set(`${document.model[i]}/${document.attempt[i]}`, i);
  return {
    number: Number(document.number ?? 0),
    devices: document.devices.slice(),
    model: document.model.slice(),
    attempt: document.attempt.slice(),
    trial: document.trial.slice(),
    device: document.device.slice(),
    start: document.start.map(readTime),
    end: document.end.map(readTime),
    outcome: document.outcome.slice(),
    indexOf,
  };
}

/**
 * The fronts of all models anew, after outcomes.
 * @param {Table} table
 */
export function updateFronts(table) {
  /** @type {number[]} */
  const rows = [];
  /** @type {number[][]} */
  const values = [];
  for (let row = 0; row < table.model.length; ++row) {
    table.front[row] = null;
    if (table.state[row] !== 'SUCCEEDED' || (table.violation[row] ?? 0) > 0) continue;
    const point = table.objectives.map(({metric, goal}) => {
      const value = table.metrics.get(metric)?.[row];
      return value === null || value === undefined ? NaN : goal === 'MINIMIZE' ? -value : value;
    });
    if (!point.every(Number.isFinite)) continue;
    rows.push(row);
    values.push(point);
  }
  findFronts(values).forEach((front, i) => {
    table.front[rows[i]] = front;
  });
}
