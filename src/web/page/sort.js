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
    const {chosen} = column;
    // Candidates that are no numbers sort in the order of the space.
    const inOrder = chosen !== undefined && column.type !== 'number';
    for (const row of rows) {
      const value = inOrder ? chosen(row) : column.value(row);
      values[row] = !Array.isArray(value) ? value : inOrder ? orderText(value) : value.join(',');
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
 * Candidates that are chosen together, by their numbers, as a text that sorts as these do.
 * @param {number[]} chosen
 */
function orderText(chosen) {
  return chosen.map((index) => String(index).padStart(6)).join();
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
