// Which experiments the list shows, and in which order. Pure.

import {statusText} from './columns.js';

/** @typedef {any} Entry  an entry of the document of `list` */

/** @param {Entry} one */
export function bestValue(one) {
  const best = one.best[0];
  if (!best) return null;
  return best.metrics?.[one.objectives[0]?.metric ?? 'default'] ?? best.default ?? null;
}

/** @param {Entry} one */
export function endedModels(one) {
  return one.models ? one.models.total - one.models.unfinished : null;
}

/** What is sorted by, by name: a number, a text, or null. @type {Record<string, (one: Entry) => any>} */
const VALUES = {
  name: (one) => String(one.name ?? one.id).toLowerCase(),
  status: (one) => statusText(one.status),
  models: endedModels,
  best: bestValue,
  took: (one) => one.seconds ?? null,
  begun: (one) => one.created ? Date.parse(one.created) : null
};

/**
 * The experiments that have all words of the text in their name, id, status or reason. What has no such value comes last.
 * @param {Entry[]} list  the oldest first
 * @param {string} text
 * @param {string} sort  "took"; "-took": the largest first; else the newest first
 */
export function shownExperiments(list, text, sort) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const kept = list.filter((one) => {
    const place = [one.name, one.id, statusText(one.status), one.reason].join(' ').toLowerCase();
    return words.every((word) => place.includes(word));
  });
  kept.reverse();
  const descending = sort.startsWith('-');
  const name = descending ? sort.slice(1) : sort;
  if (!Object.hasOwn(VALUES, name)) return kept;
  return kept.map((one, i) => ({one, i, value: VALUES[name](one)}))
      .sort((a, b) => {
        if (a.value === null || b.value === null) return Number(a.value === null) - Number(b.value === null) || a.i - b.i;
        const order = a.value < b.value ? -1 : a.value > b.value ? 1 : 0;
        return (descending ? -order : order) || a.i - b.i;
      })
      .map(({one}) => one);
}

/**
 * The order after a click on a title: ascending, descending, the newest first.
 * @param {string} sort @param {string} name @returns {string|null}
 */
export function nextSort(sort, name) {
  return sort === name ? `-${name}` : sort === `-${name}` ? null : name;
}

/**
 * The list as a table of values, for files.
 * @param {Entry[]} list
 */
export function experimentsTable(list) {
  return {
    header: ['id', 'name', 'status', 'models ended', 'failed', 'best', 'best model', 'seconds', 'created', 'reason'],
    rows: list.map(
        (one) =>
            [one.id, one.name ?? null, one.status, endedModels(one), one.models?.failed ?? null, bestValue(one),
             one.best[0]?.model ?? null, one.seconds ?? null, one.created ?? null, one.reason || null])
  };
}
