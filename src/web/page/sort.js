// The order of rows. Pure.

/** @typedef {{column: import('./columns.js').Column, descending: boolean}} SortKey */

/** @param {unknown} value  0: comparable, 1: NaN, 2: missing */
function rank(value) {
  return value === null || value === undefined ? 2 : Number.isNaN(value) ? 1 : 0;
}

/**
 * Sorts rows by several columns, the first one first; rows that are equal keep their order. NaN comes behind all
 * numbers and what is missing last, in both directions.
 * @param {number[]} rows
 * @param {SortKey[]} keys
 * @returns {number[]} a new list
 */
export function sortRows(rows, keys) {
  if (keys.length === 0) return rows.slice();
  const size = rows.reduce((most, row) => Math.max(most, row + 1), 0);
  const columns = keys.map(({column, descending}) => {
    const values = new Array(size);
    const order = candidateOrder(column);
    for (const row of rows) {
      const value = column.value(row);
      values[row] = order ? order(value) : Array.isArray(value) ? value.join(',') : value;
    }
    return {values, sign: descending ? -1 : 1};
  });
  return rows.slice().sort((a, b) => {
    for (const {values, sign} of columns) {
      const x = values[a];
      const y = values[b];
      if (x === y) continue;
      const ranks = rank(x) - rank(y);
      if (ranks !== 0) return ranks;
      if (x < y) return -sign;
      if (x > y) return sign;
    }
    return 0;
  });
}

/**
 * Candidates that are no numbers sort in the order of the space.
 * @param {import('./columns.js').Column} column
 */
function candidateOrder(column) {
  const {candidates} = column;
  if (!candidates || column.type === 'number') return null;
  const index = new Map(candidates.map((candidate, i) => [candidate, i]));
  return (/** @type {any} */ value) => {
    if (value === null || value === undefined) return null;
    return Array.isArray(value) ? value.map((v) => String(index.get(v)).padStart(6)).join() : index.get(value) ?? null;
  };
}

/**
 * "-metric.accuracy,model" as keys; unknown columns are left out.
 * @param {string} text
 * @param {(id: string) => import('./columns.js').Column|null} find
 * @returns {SortKey[]}
 */
export function readSort(text, find) {
  return splitList(text).flatMap((part) => {
    const descending = part.startsWith('-');
    const column = find(descending ? part.slice(1) : part);
    return column ? [{column, descending}] : [];
  });
}

/**
 * Ids joined by commas; commas and backslashes in them are escaped.
 * @param {string[]} parts
 */
export function joinList(parts) {
  return parts.map((part) => part.replace(/[\\,]/g, '\\$&')).join(',');
}

/** @param {string} text */
export function splitList(text) {
  /** @type {string[]} */
  const parts = [];
  let part = '';
  for (let i = 0; i < text.length; ++i) {
    if (text[i] === '\\' && i + 1 < text.length) {
      part += text[++i];
    } else if (text[i] === ',') {
      parts.push(part);
      part = '';
    } else {
      part += text[i];
    }
  }
  if (part !== '' || parts.length > 0) parts.push(part);
  return parts.filter((p) => p !== '');
}
