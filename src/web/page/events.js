// How facts change what the page knows: v1::ExperimentEvent as JSON, applied to a table by column. Pure but for the
// objects that they change, which belong to the store.

import {curveValue, readInteger, readNumber, readTime, updateFronts} from './decode.js';
import {findViolation} from './fronts.js';

/** @typedef {import('./decode.js').Table} Table */

/**
 * What of an experiment is loaded. Events change all of it. Curves and attempts may be of a later fact than the table,
 * and are never of an earlier one: what the table says of attempts then holds for the event that they get.
 * @typedef {Object} Loaded
 * @property {Table} table
 * @property {import('./decode.js').Attempts|null} attempts
 * @property {Map<string, import('./decode.js').Curves>} curves  by metric
 * @property {Map<string, import('./decode.js').Curves>} times  by metric: seconds since the model's start
 */

/**
 * Applies events in their order; each part leaves out those that it has already.
 * @param {Loaded} loaded
 * @param {any[]} events
 * @returns {boolean} whether anything changed
 */
export function applyEvents(loaded, events) {
  let changed = false;
  let outcomes = false;
  for (const event of events) {
    const number = Number(event.number ?? 0);
    if (number !== 0 && number <= loaded.table.number) continue;
    applyEvent(loaded, event);
    if (number !== 0) loaded.table.number = number;
    changed = true;
    outcomes = outcomes || event.outcome !== undefined;
  }
  const {table, attempts, curves, times} = loaded;
  for (const part of [...curves.values(), ...times.values(), ...(attempts ? [attempts] : [])])
    part.number = Math.max(part.number, table.number);
  if (outcomes) table.frontsStale = true;
  if (changed) ++table.revision;
  return changed;
}

/**
 * What outcomes change in other models: to be called before fronts are read, once for many events.
 * @param {Table} table
 */
export function settle(table) {
  if (!table.frontsStale) return;
  table.frontsStale = false;
  updateFronts(table);
}

/**
 * Applies one event.
 * @param {Loaded} loaded
 * @param {any} event
 */
export function applyEvent(loaded, event) {
  const {table} = loaded;
  if (event.state) {
    applyState(table, event.state, readTime(event.time));
  } else if (event.space) {
    applySpace(table, event.space);
  } else if (event.model) {
    applyModel(loaded, event.model, Number(event.number ?? 0), readTime(event.time));
  } else if (event.outcome) {
    applyOutcome(table, event.outcome);
  }
}

/** @param {Table} table @param {any} state @param {number|null} time */
function applyState(table, state, time) {
  table.status = state.state;
  table.reason = state.reason ?? '';
  if (table.status === 'RUNNING') {
    if (table.started === null) table.started = time;
    // A resume runs again what had no outcome, and what a stop had canceled.
    for (let row = 0; row < table.model.length; ++row) {
      if (table.state[row] === 'INTERRUPTED' || table.state[row] === 'CANCELED') table.incomplete = true;
    }
  }
}

/** @param {any} value  a v1::Value */
export function readValue(value) {
  if (value === null || value === undefined) return null;
  if (value.i !== undefined) return readInteger(value.i);
  if (value.f !== undefined) return readNumber(value.f);
  if (value.b !== undefined) return value.b;
  if (value.s !== undefined) return value.s;
  if (value.list !== undefined) return (value.list.values ?? []).map(readValue);
  return null;
}

/** @param {Table} table @param {any} space  a v1::SpaceSpec */
function applySpace(table, space) {
  for (const choice of space.choices ?? []) {
    const known = table.choices.find((c) => c.label === choice.label);
    const activeIf =
        (choice.active_if ?? [])
            .map(
                (/** @type {any} */ condition) =>
                    (condition.all_of ?? [])
                        .flatMap(
                            (/** @type {any} */ term) =>
                                (term.chosen ??
                                 []).map((/** @type {number} */ chosen) => ({label: term.label, chosen}))));
    if (known) {
      known.activeIf = activeIf;
      continue;
    }
    table.choices.push({
      label: choice.label,
      kind: String(choice.kind ?? '').toLowerCase(),
      candidates: (choice.candidates ?? []).map(readValue),
      nChosen: choice.n_chosen || 1,
      activeIf,
      chosen: new Array(table.model.length).fill(null),
    });
  }
}

/**
 * The row of a model, a new one where it is not known.
 * @param {Table} table @param {number} model
 */
export function rowOf(table, model) {
  const known = table.rowOf.get(model);
  if (known !== undefined) return known;
  const row = table.model.length;
  table.model.push(model);
  table.rowOf.set(model, row);
  table.state.push('QUEUED');
  table.attempts.push(0);
  table.steps.push(0);
  for (const column
           of [table.params, table.flops, table.start, table.end, table.begun, table.latest, table.violation,
               table.front, table.stoppedStep, table.failureOf]) {
    column.push(null);
  }
  for (const choice of table.choices) choice.chosen.push(null);
  for (const values of table.metrics.values()) values.push(null);
  table.unknown.add(model);
  return row;
}

/**
 * The column of a metric, a new one where it is not known.
 * @param {Table} table @param {string} name
 */
export function metricOf(table, name) {
  let values = table.metrics.get(name);
  if (!values) {
    values = new Array(table.model.length).fill(null);
    table.metrics.set(name, values);
  }
  return values;
}

/** @param {Table} table @param {number} row @param {any} metrics  a v1::Metrics */
function setMetrics(table, row, metrics) {
  for (const [name, value] of Object.entries(metrics?.values ?? {})) metricOf(table, name)[row] = readNumber(value);
}

/**
 * Where lists that only grow have what, by its text: they may be long.
 * @type {WeakMap<unknown[], Map<string, number>>}
 */
const PLACES = new WeakMap();

/**
 * Where the list has an entry with this text; it is added where the list has none.
 * @template Entry
 * @param {Entry[]} list @param {Entry} entry @param {(entry: Entry) => string} textOf
 */
export function placeOf(list, entry, textOf) {
  let places = PLACES.get(list);
  if (!places) {
    places = new Map();
    PLACES.set(list, places);
  }
  // What came meanwhile in another way.
  for (let i = places.size; i < list.length; ++i) places.set(textOf(list[i]), i);
  const text = textOf(entry);
  let place = places.get(text);
  if (place === undefined) {
    place = list.push(entry) - 1;
    places.set(text, place);
  }
  return place;
}

/** @param {{reason: string, message: string}} failure */
const failureText = ({reason, message}) => `${reason} ${message}`;

/** @param {Table} table @param {any} failure */
export function failureIndex(table, failure) {
  if (!failure || !failure.reason || failure.reason === 'REASON_UNSPECIFIED') return null;
  return placeOf(table.failures, {reason: failure.reason, message: failure.message ?? ''}, failureText);
}

/** @param {any} device  a v1::Device */
function deviceName(device) {
  return `${device.node ?? ''}/${device.kind === 'GPU' ? 'cuda' : 'cpu'}:${device.index ?? 0}`;
}

/**
 * @param {Loaded} loaded @param {any} event  a v1::ModelEvent @param {number} number  of the fact; 0: it has none
 * @param {number|null} time  of the fact
 */
function applyModel(loaded, event, number, time) {
  const {table, attempts} = loaded;
  const lacks = (/** @type {{number: number}} */ part) => number === 0 || part.number < number;
  const row = rowOf(table, event.model);
  // An attempt but the latest one is recorded, and otherwise ignored.
  const late = event.attempt < table.attempts[row];
  if (event.started) {
    table.attempts[row] = Math.max(table.attempts[row], event.attempt);
    if (!late) {
      const kept = event.started.resumed_steps ?? 0;
      const dropped = table.steps[row] > kept;
      table.state[row] = 'RUNNING';
      table.start[row] = time;
      table.end[row] = null;
      table.steps[row] = Math.min(table.steps[row], kept);
      if (table.steps[row] === 0) table.begun[row] = null;
      for (const curves of [...loaded.curves.values(), ...loaded.times.values()])
        if (lacks(curves)) keepSteps(curves, event.model, kept);
      if (kept === 0) {
        table.latest[row] = null;
      } else if (dropped) {
        // Only the curve knows which report is the last one now, in 32 bits; a new table brings all of its digits.
        const values = Array.from(loaded.curves.get('default')?.of.get(event.model)?.values ?? []);
        table.latest[row] = values[values.length - 1] ?? null;
        table.incomplete = true;
      }
    }
  } else if (event.intermediate && !late) {
    const step = event.intermediate.step ?? 0;
    const values = event.intermediate.metrics?.values ?? {};
    if (table.steps[row] === 0) table.begun[row] = table.start[row];
    ++table.steps[row];
    if (values.default !== undefined) table.latest[row] = readNumber(values.default);
    const begun = table.begun[row];
    for (const [name, value] of Object.entries(values)) {
      table.reported.add(name);
      const seconds = begun === null || time === null ? NaN : (time - begun) / 1000;
      const curves = loaded.curves.get(name);
      if (curves && lacks(curves)) addPoint(curves, event.model, step, readNumber(value));
      const times = loaded.times.get(name);
      if (times && lacks(times)) addPoint(times, event.model, step, seconds);
    }
  } else if (event.built) {
    // The journal keeps what the first one says.
    if (table.params[row] === null) {
      table.params[row] = Number(event.built.params ?? 0);
      table.flops[row] = event.built.flops === undefined ? null : Number(event.built.flops);
    }
  } else if (event.ended && !late) {
    table.end[row] = time;
    // As ModelStatus has it (src/views/standing.cc): until its outcome comes, or its next attempt begins.
    if (table.state[row] === 'RUNNING') table.state[row] = 'QUEUED';
  }
  if (attempts && lacks(attempts)) applyAttempt(attempts, event, time);
}

/** @param {import('./decode.js').Curves} curves @param {number} model @param {number} kept */
export function keepSteps(curves, model, kept) {
  const series = curves.of.get(model);
  if (!series) return;
  const steps = Array.from(series.steps).filter((step) => step < kept);
  curves.points -= series.values.length - steps.length;
  curves.of.set(model, {steps, values: Array.from(series.values).slice(0, steps.length)});
}

/**
 * @param {import('./decode.js').Curves} curves
 * @param {number} model
 * @param {number} step
 * @param {number|null} value
 */
function addPoint(curves, model, step, value) {
  if (value === null) return;
  let series = curves.of.get(model);
  if (!series || !Array.isArray(series.steps)) {
    series = {steps: Array.from(series?.steps ?? []), values: Array.from(series?.values ?? [])};
    curves.of.set(model, series);
  }
  /** @type {number[]} */ (series.steps).push(step);
  /** @type {number[]} */ (series.values).push(curveValue(value));
  ++curves.points;
}

/** @param {import('./decode.js').Attempts} attempts @param {any} event @param {number|null} time */
function applyAttempt(attempts, event, time) {
  const key = `${event.model}/${event.attempt}`;
  let index = attempts.indexOf.get(key);
  if (index === undefined) {
    index = attempts.model.length;
    attempts.indexOf.set(key, index);
    attempts.model.push(event.model);
    attempts.attempt.push(event.attempt);
    attempts.trial.push(event.trial);
    attempts.device.push(null);
    attempts.start.push(null);
    attempts.end.push(null);
    attempts.outcome.push(null);
  }
  if (event.started) {
    attempts.start[index] = time;
    if (event.started.device)
      attempts.device[index] = placeOf(attempts.devices, deviceName(event.started.device), String);
  } else if (event.ended) {
    attempts.end[index] = time;
    attempts.outcome[index] = event.ended.outcome ?? null;
  }
}

/**
 * A choice by its label; a new one where discovery could not learn it: its candidates come one by one.
 * @param {Table} table
 * @param {string} label
 */
export function choiceOf(table, label) {
  const known = table.choices.find((c) => c.label === label);
  if (known) return known;
  const choice = {
    label,
    kind: '',
    candidates: /** @type {unknown[]} */ ([]),
    nChosen: 1,
    activeIf: [],
    chosen: new Array(table.model.length).fill(null)
  };
  table.choices.push(choice);
  return choice;
}

/**
 * The index of a candidate, which is a new one where the space did not list it.
 * @param {import('./decode.js').Choice} choice @param {unknown} value
 */
export function candidateOf(choice, value) {
  return placeOf(choice.candidates, value, JSON.stringify);
}

/** @param {Table} table @param {any} outcome  a v1::ModelOutcome */
function applyOutcome(table, outcome) {
  const row = rowOf(table, outcome.model);
  table.state[row] = outcome.outcome;
  table.attempts[row] = Math.max(table.attempts[row], outcome.attempt ?? 0);
  setMetrics(table, row, outcome.metrics);
  const known = Object.keys(outcome.metrics?.values ?? {}).length > 0;
  if (outcome.metrics?.values?.default !== undefined) table.latest[row] = null;
  table.violation[row] = known ? findViolation(table.constraints, (metric) => table.metrics.get(metric)?.[row]) : null;
  table.stoppedStep[row] = outcome.outcome === 'STOPPED_EARLY' ? outcome.stopped_step ?? null : null;
  table.failureOf[row] = failureIndex(table, outcome.failure);
  if (outcome.sample) table.unknown.delete(outcome.model);
  for (const decision of outcome.sample?.decisions ?? []) {
    const choice = choiceOf(table, decision.label);
    // By the values: a label that the space does not list has no indices.
    const chosen = (decision.value ?? []).length > 0 ?
        decision.value.map((/** @type {any} */ value) => candidateOf(choice, readValue(value))) :
        decision.index ?? [];
    choice.chosen[row] = chosen.length > 1 ? chosen : chosen[0] ?? null;
  }
}
