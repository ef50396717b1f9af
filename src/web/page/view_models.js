// The table of models: any column, sorted by several, drawn by window.

import {button, checkbox, el, fill, refill, saveButtons, stateBox, statusBadge, timeWithUtc} from './dom.js';
import {fileName} from './exports.js';
import {oneLine} from './format.js';
import {Grid} from './grid.js';
import {menu} from './menu.js';
import {otherView, writeRoute} from './route.js';
import {joinList} from './sort.js';

/** @type {Record<string, number>} */
const WIDTHS = {
  model: 92,
  status: 140,
  duration: 120,
  start: 340,
  end: 340,
  message: 320,
  note: 220,
  reason: 150,
  star: 64
};

export class ModelsView {
  /** @param {import('./store.js').Store} store */
  constructor(store) {
    this.store = store;
    this.title = 'Models';
    this.grid = new Grid({
      label: 'Models',
      cell: (row, column) => this.cell(row, column),
      headerActivated: (column, event) => this.sortBy(column.id, event.shiftKey),
      rowSelected: (row, event) => this.selectRow(row, event),
      rowOpened: (row) => store.go(otherView(store.route, 'model', this.modelAt(row))),
      isSelected: (row) => store.selected.has(this.modelAt(row)),
      keyOf: (row) => this.modelAt(row),
      rowOf: (model) => this.rowOf(model),
    });
    /** @type {number[]} rows of the table, as the grid shows them until the next update */
    this.rows = [];
    this.jump = el('input', {
      type: 'text',
      inputmode: 'numeric',
      size: '6',
      id: 'jump',
      'aria-label': 'Jump to model',
      placeholder: 'model',
      on: {
        keydown: (/** @type {KeyboardEvent} */ event) => {
          if (event.key === 'Enter') this.jumpTo(Number(this.jump.value));
        }
      }
    });
    this.jumpNote = el('span', {class: 'filter-error', role: 'status'});
    this.columnsPlace = el('span', {class: 'menu'});
    this.sortPlace = el('span', {class: 'row'});
    this.tools =
        el('div', {class: 'row spread'},
           el('div', {class: 'row'}, el('label', {class: 'field'}, el('span', {}, 'Go to'), this.jump), this.jumpNote,
              this.sortPlace),
           el('div', {class: 'row'}, this.columnsPlace,
              button(
                  'Select all shown', () => store.select(store.selection().kept.map((row) => this.table().model[row])),
                  {class: 'quiet'}),
              ...saveButtons('Models', () => `${fileName(this.table().id)}_models`, () => this.content())));
    this.empty = el('div', {});
    this.element = el(
        'div', {class: 'view'}, this.tools, this.grid.element, this.empty,
        el('p', {class: 'sentence'},
           'Click a title to sort, with Shift to sort by more columns. Click a row to select it (Shift: up to it, Ctrl: in addition), double click or Enter to open the model.'));
    this.key = '';
    /** The model from which on Shift selects; -1: none yet. */
    this.anchor = -1;
  }

  destroy() {
    this.grid.destroy();
  }

  table() {
    return /** @type {import('./store.js').Current} */ (this.store.current).table;
  }

  /** @param {number} row  shown */
  modelAt(row) {
    return this.table().model[this.rows[row]];
  }

  /** Where a model is shown; -1: nowhere. @param {number} model */
  rowOf(model) {
    const {model: models} = this.table();
    return this.rows.findIndex((index) => models[index] === model);
  }

  /** @param {Set<string>} changes */
  update(changes) {
    const {rows, columns, sort, shown} = this.store.selection();
    const key = JSON.stringify([shown, sort.map((k) => [k.column.id, k.descending]), columns.map((c) => c.id)]);
    if (key !== this.key || changes.has('all')) {
      this.key = key;
      this.fillColumns();
    }
    this.rows = rows;
    this.byId = new Map(columns.map((c) => [c.id, c]));
    const marks =
        new Map(sort.map((k, i) => [k.column.id, `${k.descending ? '▼' : '▲'}${sort.length > 1 ? i + 1 : ''}`]));
    this.grid.set(
        shown.map((id) => {
          const column = /** @type {import('./columns.js').Column} */ (
              this.byId?.get(id) ?? columns.find((c) => c.id.endsWith(`.${id}`)) ?? columns[0]);
          const sorted = sort.find((k) => k.column.id === column.id);
          return {
            id: column.id,
            title: oneLine(column.title, 60),
            width: WIDTHS[column.id] ?? Math.min(240, Math.max(104, 40 + column.title.length * 8)),
            numeric: column.type === 'number' || column.type === 'duration',
            note: marks.get(column.id),
            sorted: sorted ? sorted.descending ? 'descending' : 'ascending' : 'none'
          };
        }),
        rows.length);
    fill(
        this.empty,
        rows.length > 0 ? null :
            this.table().model.length === 0 ?
                          stateBox('empty', 'No models yet', 'They show here as soon as the strategy proposes them.') :
                          stateBox('empty', 'No model passes the filter'));
  }

  fillColumns() {
    const {columns, sort, shown} = this.store.selection();
    const toggle = (/** @type {string} */ id) => (/** @type {boolean} */ on) => {
      const {shown: now} = this.store.selection();
      this.store.setParams({c: joinList(on ? [...now, id] : now.filter((other) => other !== id))});
    };
    const groups =
        /** @type {[string, string][]} */ ([['model', 'Model'], ['metric', 'Metrics'], ['choice', 'Choices']]);
    if (!this.columnsPlace.firstChild) {
      this.columnList = el('div', {});
      this.columnsPlace.append(menu('Columns', this.columnList, 'columns'));
    }
    refill(
        /** @type {Element} */ (this.columnList), button('As at first', () => this.store.setParams({c: null})),
        ...groups.flatMap(
            ([group, title]) =>
                [el('h3', {}, title),
                 ...columns.filter((c) => c.group === group)
                     .map((c) => checkbox(oneLine(c.title, 60), shown.includes(c.id), toggle(c.id)))]));
    fill(
        this.sortPlace,
        sort.length > 0 ?
            el('span', {class: 'muted'},
               `sorted by ${
                   sort.map((k) => `${oneLine(k.column.title, 40)} ${k.descending ? '▼' : '▲'}`).join(', then ')}`) :
            null,
        sort.length > 0 ? button('Unsort', () => this.store.setParams({s: null}), {class: 'quiet'}) : null);
  }

  /** @param {number} row @param {import('./grid.js').GridColumn} gridColumn */
  cell(row, gridColumn) {
    const index = this.rows[row];
    const table = this.table();
    if (gridColumn.id === 'model') {
      const star = this.store.current?.notes.get(table.model[index])?.star;
      return el(
          'span', {},
          el('a', {href: writeRoute(otherView(this.store.route, 'model', table.model[index])), tabindex: '-1'},
             String(table.model[index])),
          star ? el('span', {class: 'star', title: 'starred'}, ' ★') : null);
    }
    if (gridColumn.id === 'status') return statusBadge(table.state[index]);
    if (gridColumn.id === 'start') return timeWithUtc(table.start[index]);
    if (gridColumn.id === 'end') return timeWithUtc(table.end[index]);
    const column = this.byId?.get(gridColumn.id);
    if (!column) return '';
    const text = column.text(index);
    if (column.value(index) === null && column.group === 'choice')
      return el('span', {class: 'off', title: 'not chosen'}, text);
    return text;
  }

  /**
   * Ascending, descending, not at all.
   * @param {string} id @param {boolean} more
   */
  sortBy(id, more) {
    const {sort} = this.store.selection();
    const now = sort.find((k) => k.column.id === id);
    const objective = this.table().objectives.find((o) => id === `metric.${o.metric}`);
    const first = objective?.goal === 'MAXIMIZE';
    const others = more ? sort.filter((k) => k.column.id !== id) : [];
    const write = (/** @type {string} */ column, /** @type {boolean} */ descending) =>
        `${descending ? '-' : ''}${column}`;
    const parts = others.map((k) => write(k.column.id, k.descending));
    if (!now) {
      parts.push(write(id, first));
    } else if (now.descending === first) {
      parts.push(write(id, !first));
    }
    this.store.setParams({s: joinList(parts)});
  }

  /** @param {number} row @param {{shiftKey: boolean, ctrlKey: boolean}} event */
  selectRow(row, event) {
    const {store} = this;
    const model = this.modelAt(row);
    // Rows may have been sorted anew since it was clicked.
    const anchor = event.shiftKey ? this.rowOf(this.anchor) : -1;
    if (anchor >= 0) {
      const [from, to] = [Math.min(anchor, row), Math.max(anchor, row)];
      const next = new Set(store.selected);
      for (let r = from; r <= to; ++r) next.add(this.modelAt(r));
      store.select(next);
    } else if (event.ctrlKey || /** @type {any} */ (event).metaKey) {
      store.toggle(model);
    } else {
      store.select(store.selected.size === 1 && store.selected.has(model) ? [] : [model]);
    }
    this.anchor = model;
  }

  /** @param {number} model */
  jumpTo(model) {
    const row = this.rowOf(model);
    this.jumpNote.textContent = row >= 0 ? '' :
        this.table().rowOf.has(model)    ? `the filter hides model ${model}` :
                                           `there is no model ${this.jump.value}`;
    if (row >= 0) this.grid.goTo(row);
  }

  /** What is shown, as files have it. */
  content() {
    const {rows, shown} = this.store.selection();
    const columns = shown.flatMap((id) => this.byId?.get(id) ?? []);
    const header = columns.map((c) => c.title);
    return {header, rows: rows.map((row) => columns.map((c) => c.raw(row)))};
  }
}
