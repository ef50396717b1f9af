// A message of the stream, applied to what the page knows: events and, where many models began and ended, these models
// as they are now. Pure but for the objects that it changes, which belong to the store.

import {decodeAttempts, decodeColumns} from './decode.js';
import {applyEvents, candidateOf, choiceOf, failureIndex, keepSteps, metricOf, placeOf, rowOf} from './events.js';

/** Columns that are taken as they are. */
const PLAIN = /** @type {const} */ (
    ['state', 'start', 'end', 'begun', 'attempts', 'params', 'flops', 'steps', 'latest', 'violation', 'stoppedStep']);

/**
 * @param {import('./events.js').Loaded} loaded
 * @param {{events: any[], columns?: any, attempts?: any}} message
 * @returns {boolean} whether anything changed
 */
export function applyMessage(loaded, message) {
  const {table, attempts} = loaded;
  // Events bring all parts to one number.
  const known = table.number;
  const attemptsKnown = attempts?.number ?? 0;
  const number = Number(message.columns?.number ?? 0);
  const curves = [...loaded.curves.values(), ...loaded.times.values()];
  const behind = curves.filter((part) => part.number < number);
  let changed = applyEvents(loaded, message.events);
  if (number > known) {
    mergeModels(table, decodeColumns(message.columns), behind);
    table.number = number;
    table.frontsStale = true;
    ++table.revision;
    changed = true;
  }
  if (attempts && number > attemptsKnown) mergeAttempts(attempts, decodeAttempts(message.attempts));
  for (const part of [...curves, ...(attempts ? [attempts] : [])]) part.number = Math.max(part.number, number);
  return changed;
}

/**
 * Puts models in the place of what was known of them, but for their fronts.
 * @param {import('./decode.js').Table} table @param {import('./decode.js').Table} news
 * @param {import('./decode.js').Curves[]} curves  whose models may have reports that do not count any more
 */
function mergeModels(table, news, curves) {
  const choices = news.choices.map((choice) => {
    const mine = choiceOf(table, choice.label);
    const place = (/** @type {number} */ candidate) => candidateOf(mine, choice.candidates[candidate]);
    const chosen = choice.chosen.map(
        (candidate) => candidate === null ? null : Array.isArray(candidate) ? candidate.map(place) : place(candidate));
    return {mine, chosen};
  });
  for (const name of news.metrics.keys()) metricOf(table, name);
  for (const name of news.reported) table.reported.add(name);
  news.model.forEach((model, i) => {
    const row = rowOf(table, model);
    // The attempt that is shown now began anew, or from an earlier step.
    if (news.steps[i] < table.steps[row]) {
      for (const part of curves) keepSteps(part, model, news.steps[i]);
    }
    for (const name of PLAIN) /** @type {any[]} */ (table[name])[row] = news[name][i];
    const failure = news.failureOf[i];
    table.failureOf[row] = failure === null ? null : failureIndex(table, news.failures[failure]);
    for (const choice of table.choices) choice.chosen[row] = null;
    for (const {mine, chosen} of choices) mine.chosen[row] = chosen[i];
    for (const [name, values] of table.metrics) values[row] = news.metrics.get(name)?.[i] ?? null;
    table.unknown.delete(model);
  });
}

/** @param {import('./decode.js').Attempts} attempts @param {import('./decode.js').Attempts} news */
function mergeAttempts(attempts, news) {
  for (const [key, i] of news.indexOf) {
    let index = attempts.indexOf.get(key);
    if (index === undefined) {
      index = attempts.model.length;
      attempts.indexOf.set(key, index);
    }
    const device = news.device[i];
    attempts.device[index] = device === null ? null : placeOf(attempts.devices, news.devices[device], String);
    for (const name of /** @type {const} */ (['model', 'attempt', 'trial', 'start', 'end', 'outcome']))
      /** @type {any[]} */ (attempts[name])[index] = news[name][i];
  }
}
