// Whether events that are applied to documents of an earlier moment give what the documents of a later moment say.

import {applyMessage} from '../../../src/web/page/changes.js';
import {completeTable, decodeAttempts, decodeColumns, decodeCurves} from '../../../src/web/page/decode.js';
import {settle} from '../../../src/web/page/events.js';

/**
 * What the API answered at one moment.
 * @typedef {{columns: any, space: any, show: any, attempts: any, curves: Record<string, string>, times: Record<string, string>}} Documents
 * curves and times are base64, by metric
 */

/** @param {Record<string, string>} encoded */
function decodeAll(encoded) {
  return new Map(Object.entries(encoded).map(
      ([metric, text]) => [metric, decodeCurves(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer)]));
}

/** @param {Documents} documents @returns {import('../../../src/web/page/events.js').Loaded} */
function decode(documents) {
  const table = decodeColumns(documents.columns);
  completeTable(table, documents.space, documents.show);
  return {
    table,
    attempts: decodeAttempts(documents.attempts),
    curves: decodeAll(documents.curves),
    times: decodeAll(documents.times)
  };
}

/** Text that differs where values differ, NaN and infinities included. @param {unknown} value */
function show(value) {
  return JSON.stringify(
      value ?? null,
      (_, v) => typeof v === 'number' && !Number.isFinite(v) ? String(v) :
          v && typeof v === 'object' && !Array.isArray(v)    ? Object.fromEntries(Object.entries(v).sort()) :
                                                               v);
}

/** @param {import('../../../src/web/page/decode.js').Table} table @param {number} row */
function failureOf(table, row) {
  const index = table.failureOf[row];
  return index === null ? null : table.failures[index];
}

/**
 * @param {Documents} before @param {any[]} messages  of the stream, all behind `before` @param {Documents} after
 * @returns {string[]} what differs; nothing, where all is well
 */
export function differences(before, messages, after) {
  const grown = decode(before);
  const known = new Set(grown.table.model);
  for (const message of messages) applyMessage(grown, message);
  settle(grown.table);
  const anew = decode(after);
  /** @type {string[]} */
  const found = [];
  const compare = (/** @type {string} */ what, /** @type {unknown} */ mine, /** @type {unknown} */ theirs) => {
    if (show(mine) !== show(theirs)) found.push(`${what}: ${show(mine)} is ${show(theirs)}`);
  };
  for (const key of /** @type {const} */ (['status', 'reason', 'started', 'objectives']))
    compare(key, grown.table[key], anew.table[key]);
  const settled = new Set(['SUCCEEDED', 'FAILED', 'STOPPED_EARLY', 'INFEASIBLE', 'CANCELED']);
  grown.table.model.forEach((model, row) => {
    const other = anew.table.rowOf.get(model);
    if (other === undefined) {
      found.push(`there is no model ${model}`);
      return;
    }
    for (const key of
         /** @type {const} */ (
             ['state', 'start', 'end', 'attempts', 'params', 'flops', 'steps', 'violation', 'front', 'stoppedStep']))
      compare(`${key} of model ${model}`, grown.table[key][row], anew.table[key][other]);
    // An attempt that dropped some reports takes it from the curve.
    const latest = (/** @type {any} */ table, /** @type {number} */ r) =>
        table.latest[r] === null ? null : Math.fround(table.latest[r]);
    compare(`latest of model ${model}`, latest(grown.table, row), latest(anew.table, other));
    compare(`failure of model ${model}`, failureOf(grown.table, row), failureOf(anew.table, other));
    for (const [metric, values] of anew.table.metrics)
      compare(`${metric} of model ${model}`, grown.table.metrics.get(metric)?.[row], values[other]);
    // No event tells the sample of a model that has not ended.
    if (!settled.has(grown.table.state[row]) && !known.has(model)) return;
    for (const choice of anew.table.choices) {
      const mine = grown.table.choices.find((c) => c.label === choice.label);
      const chosen = (/** @type {any} */ c, /** @type {number} */ r) =>
          c?.chosen[r] === null || c === undefined ? null : [c.chosen[r]].flat().map((i) => c.candidates[i]);
      compare(`${choice.label} of model ${model}`, chosen(mine, row), chosen(choice, other));
    }
  });
  for (const [key, index] of grown.attempts?.indexOf ?? []) {
    const other = anew.attempts?.indexOf.get(key);
    if (other === undefined) {
      found.push(`there is no attempt ${key}`);
      continue;
    }
    const fields = (/** @type {any} */ a, /** @type {number} */ i) =>
        [a.trial[i], a.device[i] === null ? null : a.devices[a.device[i]], a.start[i], a.end[i], a.outcome[i]];
    compare(`attempt ${key}`, fields(grown.attempts, index), fields(anew.attempts, other));
  }
  for (const [name, mine, theirs] of /** @type {const} */ (
           [['curve', grown.curves, anew.curves], ['times', grown.times, anew.times]])) {
    for (const [metric, curves] of theirs) {
      const models = new Set([...curves.of.keys(), ...mine.get(metric)?.of.keys() ?? []]);
      for (const model of models) {
        // Times come in milliseconds with events, and in microseconds else.
        const points = (/** @type {any} */ series) => Array.from(
            series?.values ?? [], (v, i) => [series.steps[i], name === 'times' ? Math.round(v * 100) / 100 : v]);
        compare(
            `${name} ${metric} of model ${model}`, points(mine.get(metric)?.of.get(model)),
            points(curves.of.get(model)));
      }
    }
  }
  return found;
}
