// What filter, sort and columns make of a table. Pure but for the last answer, which is kept.

import {allColumns, defaultColumns, findColumn} from './columns.js';
import {settle} from './events.js';
import {compileFilter, FilterError, filterRows} from './filter.js';
import {readSort, sortRows, splitList} from './sort.js';

/**
 * What filter, sort and selection make of the table.
 * @typedef {Object} Selected
 * @property {import('./columns.js').Column[]} columns
 * @property {number[]} kept  rows that the filter keeps, in the table's order
 * @property {number[]} rows  the same, sorted
 * @property {import('./sort.js').SortKey[]} sort
 * @property {string[]} shown  ids of columns
 * @property {FilterError|null} error
 */

export class SelectedRows {
  constructor() {
    /** @type {{key: string, value: Selected}|null} */
    this.memo = null;
    this.memoTable = null;
  }

  /**
   * What filter, sort and columns of the address make of the table; computed when one of them changed.
   * @param {import('./store.js').Current} current
   * @param {Record<string, string>} params  of the address
   * @param {Set<number>} selected  models
   * @returns {Selected}
   */
  of(current, params, selected) {
    const {table} = current;
    settle(table);
    const {f = '', s = '', c = ''} = params;
    const key = JSON.stringify([
      table.revision, f, s, c, [f, s, c].some((part) => /selected/.test(part)) ? [...selected] : 0,
      [...current.notes.keys()].length
    ]);
    if (this.memo && this.memo.key === key && this.memoTable === table) return this.memo.value;
    const columns = allColumns(table, {selected, notes: current.notes});
    const find = (/** @type {string} */ id) => findColumn(columns, id);
    let error = null;
    let filter = (/** @type {number} */ _) => true;
    try {
      filter = compileFilter(f, columns);
    } catch (e) {
      if (!(e instanceof FilterError)) throw e;
      error = e;
    }
    const kept = filterRows(table.model.length, filter);
    const sort = readSort(s, find);
    const shown = (c === '' ? defaultColumns(table) : splitList(c)).filter((id) => find(id));
    const value = {columns, kept, rows: sort.length === 0 ? kept : sortRows(kept, sort), sort, shown, error};
    this.memo = {key, value};
    this.memoTable = /** @type {any} */ (table);
    return value;
  }
}
