// A table of many rows as an ARIA grid: only the rows in sight are elements. Arrow keys move the cell that has the
// focus.

import {announce, el, fill} from './dom.js';

const ROW_HEIGHT = 32;
/** Rows above and below those in sight. */
const MARGIN = 6;
/** Tallest place for rows that browsers keep exact, pixels. */
const MAX_HEIGHT = 8e6;

/**
 * @typedef {Object} GridColumn
 * @property {string} id
 * @property {string} title
 * @property {number} width  pixels
 * @property {boolean} [numeric]
 * @property {string} [note]  behind the title: sort marks
 * @property {'ascending'|'descending'|'none'} [sorted]
 *
 * @typedef {Object} GridOptions
 * @property {string} label
 * @property {(row: number, column: GridColumn) => Node|string} cell  `row` counts shown rows
 * @property {(column: GridColumn, event: {shiftKey: boolean}) => void} headerActivated
 * @property {(row: number, event: {shiftKey: boolean, ctrlKey: boolean}) => void} rowSelected
 * @property {(row: number) => void} rowOpened
 * @property {(row: number) => boolean} isSelected
 * @property {(row: number) => number} keyOf  what names a row, also when rows are sorted anew
 * @property {(key: number) => number} rowOf  where it is by now; -1: it is not shown
 */

export class Grid {
  /** @param {GridOptions} options */
  constructor(options) {
    this.options = options;
    /** @type {GridColumn[]} */
    this.columns = [];
    this.rows = 0;
    this.head = el('div', {class: 'grid-head', role: 'rowgroup'});
    this.body = el('div', {class: 'grid-body', role: 'rowgroup'});
    this.element =
        el('div', {
          class: 'grid',
          role: 'grid',
          'aria-label': options.label,
          'aria-multiselectable': 'true',
          tabindex: '-1',
          on: {
            scroll: () => this.draw(),
            keydown: (/** @type {KeyboardEvent} */ event) => this.key(event),
            click: (/** @type {MouseEvent} */ event) => this.click(event),
            dblclick: (/** @type {MouseEvent} */ event) => {
              const row = this.rowAt(event.target);
              if (row >= 0) this.options.rowOpened(row);
            },
            focusin: (/** @type {FocusEvent} */ event) => this.focused(event),
          }
        },
           this.head, this.body);
    // The cell that has, or would get, the focus; row -1 is the header. `key` names its row.
    this.at = {row: -1, column: 0, key: -1};
    /** The rows that have elements: from the first one up to `last`, which has none. -1: all are to be made anew. */
    this.first = -1;
    this.last = -1;
    /** @type {Map<number, HTMLElement>} by row; scrolling keeps those that go on being drawn */
    this.lines = new Map();
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.element);
  }

  destroy() {
    this.observer.disconnect();
  }

  /** @param {GridColumn[]} columns @param {number} rows */
  set(columns, rows) {
    const headHadFocus = this.head.contains(document.activeElement);
    this.columns = columns;
    this.rows = rows;
    const row = this.at.row < 0 ? -1 : this.options.rowOf(this.at.key);
    this.moveTo(row < 0 ? Math.min(this.at.row, rows - 1) : row);
    this.at.column = Math.min(this.at.column, Math.max(0, columns.length - 1));
    this.element.setAttribute('aria-rowcount', String(rows + 1));
    this.element.setAttribute('aria-colcount', String(columns.length));
    const width = columns.reduce((sum, column) => sum + column.width, 0);
    fill(this.head, el('div', {role: 'row', 'aria-rowindex': '1', class: 'grid-row'}, ...columns.map((column, i) => {
           const cell =
               el('div', {
                 role: 'columnheader',
                 class: `grid-cell${column.numeric ? ' numeric' : ''}`,
                 'aria-colindex': String(i + 1),
                 'aria-sort': column.sorted ?? 'none',
                 'data-column': String(i),
                 tabindex: '-1',
                 title: column.title
               },
                  el('span', {class: 'clip'}, column.title),
                  column.note ? el('span', {class: 'sort-note'}, column.note) : null);
           cell.style.width = `${column.width}px`;
           return cell;
         })));
    this.head.style.width = `${width}px`;
    this.body.style.width = `${width}px`;
    this.body.style.height = `${Math.min(rows * ROW_HEIGHT, MAX_HEIGHT)}px`;
    this.first = -1;
    this.draw();
    if (headHadFocus) this.mark(true);
  }

  /** Pixels of rows by pixels scrolled: very long tables are scrolled in proportion, to their last row. */
  ratio() {
    const height = this.rows * ROW_HEIGHT;
    if (height <= MAX_HEIGHT) return 1;
    const seen = this.element.clientHeight - this.head.offsetHeight;
    return (height - seen) / (MAX_HEIGHT - seen);
  }

  draw() {
    const hadFocus = this.body.contains(document.activeElement);
    // Old rows below the new end would still be scrolled to.
    if (this.first < 0) this.keepRows(0, 0);
    const height = this.element.clientHeight;
    // Read before rows change: behind that, the browser would lay all out for the answer.
    const scrolled = this.element.scrollTop;
    const top = scrolled * this.ratio();
    const first = Math.max(0, Math.floor(top / ROW_HEIGHT) - MARGIN);
    const last = Math.min(this.rows, Math.ceil((top + height) / ROW_HEIGHT) + MARGIN);
    if (first === this.first && last === this.last) return;
    this.first = first;
    this.last = last;
    this.keepRows(first, last);
    const shift = top - scrolled;
    let next = this.body.firstElementChild;
    for (let row = first; row < last; ++row) {
      let line = this.lines.get(row);
      if (line) {
        next = line.nextElementSibling;
      } else {
        line = this.line(row);
        this.lines.set(row, line);
        this.body.insertBefore(line, next);
      }
      line.style.transform = `translateY(${row * ROW_HEIGHT - shift}px)`;
    }
    const lost = hadFocus && !this.body.contains(document.activeElement);
    if (lost && this.at.row >= 0 && !this.lines.has(this.at.row)) {
      // The cell is out of sight: keys go on from it.
      this.element.focus({preventScroll: true});
    } else {
      this.mark(lost);
    }
  }

  /** Removes the elements of other rows. @param {number} first @param {number} last  the one behind the last one */
  keepRows(first, last) {
    for (const [row, line] of this.lines) {
      if (row >= first && row < last) continue;
      line.remove();
      this.lines.delete(row);
    }
  }

  /** The element of a row. @param {number} row */
  line(row) {
    const selected = this.options.isSelected(row);
    return el('div', {
      role: 'row',
      class: `grid-row${selected ? ' selected' : ''}`,
      'aria-rowindex': String(row + 2),
      'aria-selected': String(selected),
      'data-row': String(row)
    },
              ...this.columns.map((column, i) => {
                const cell =
                    el('div', {
                      role: 'gridcell',
                      class: `grid-cell${column.numeric ? ' numeric' : ''}`,
                      'aria-colindex': String(i + 1),
                      'data-column': String(i),
                      tabindex: '-1'
                    },
                       this.options.cell(row, column));
                cell.style.width = `${column.width}px`;
                return cell;
              }));
  }

  /** @param {boolean} focus */
  mark(focus) {
    for (const cell of this.element.querySelectorAll('[tabindex="0"]')) cell.setAttribute('tabindex', '-1');
    const line = this.at.row < 0 ?
        this.head.firstElementChild :
        this.body.querySelector(`[data-row="${this.at.row}"]`) ?? this.head.firstElementChild;
    const cell = /** @type {HTMLElement|undefined} */ (line?.children[this.at.column]);
    if (!cell) return;
    cell.setAttribute('tabindex', '0');
    if (focus) cell.focus({preventScroll: true});
  }

  /** @param {FocusEvent} event */
  focused(event) {
    const cell = /** @type {HTMLElement} */ (event.target).closest('[data-column]');
    if (!cell) return;
    const row = cell.closest('[data-row]');
    this.moveTo(row ? Number(row.getAttribute('data-row')) : -1);
    this.at.column = Number(cell.getAttribute('data-column'));
    this.mark(false);
  }

  /** @param {EventTarget|null} target */
  rowAt(target) {
    const row = /** @type {Element} */ (target).closest('[data-row]');
    return row ? Number(row.getAttribute('data-row')) : -1;
  }

  /** @param {MouseEvent} event */
  click(event) {
    const target = /** @type {Element} */ (event.target);
    if (target.closest('a, button, input')) return;
    const row = this.rowAt(target);
    const cell = target.closest('[data-column]');
    if (!cell) return;
    if (row >= 0) {
      this.options.rowSelected(row, event);
    } else {
      this.options.headerActivated(this.columns[Number(cell.getAttribute('data-column'))], event);
    }
  }

  /** @param {number} row */
  moveTo(row) {
    this.at.row = row;
    this.at.key = row < 0 ? -1 : this.options.keyOf(row);
  }

  /** @param {number} row @param {boolean} [focus] */
  goTo(row, focus = true) {
    this.moveTo(Math.max(-1, Math.min(this.rows - 1, row)));
    if (this.at.row >= 0) {
      const ratio = this.ratio();
      const top = this.at.row * ROW_HEIGHT;
      const seen = this.element.scrollTop * ratio;
      const space = this.element.clientHeight - 2 * ROW_HEIGHT;
      if (top < seen) this.element.scrollTop = top / ratio;
      if (top > seen + space) this.element.scrollTop = (top - space) / ratio;
    }
    this.draw();
    this.mark(focus);
    const cell = this.element.querySelector('[tabindex="0"]');
    if (focus) cell?.scrollIntoView({block: 'nearest', inline: 'nearest'});
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const page = Math.max(1, Math.floor(this.element.clientHeight / ROW_HEIGHT) - 2);
    const {row, column} = this.at;
    const all = event.ctrlKey || event.metaKey;
    switch (event.key) {
      case 'ArrowDown':
        this.goTo(row + 1);
        break;
      case 'ArrowUp':
        this.goTo(row - 1);
        break;
      case 'PageDown':
        this.goTo(row + page);
        break;
      case 'PageUp':
        this.goTo(Math.max(0, row - page));
        break;
      case 'ArrowRight':
        this.at.column = Math.min(this.columns.length - 1, column + 1);
        this.goTo(row);
        break;
      case 'ArrowLeft':
        this.at.column = Math.max(0, column - 1);
        this.goTo(row);
        break;
      case 'Home':
        this.at.column = 0;
        this.goTo(all ? 0 : row);
        break;
      case 'End':
        this.at.column = this.columns.length - 1;
        this.goTo(all ? this.rows - 1 : row);
        break;
      case ' ':
        if (row >= 0) {
          this.options.rowSelected(row, {shiftKey: event.shiftKey, ctrlKey: true});
          announce(`${this.options.isSelected(row) ? 'selected' : 'not selected'}`);
        } else {
          this.options.headerActivated(this.columns[column], event);
        }
        break;
      case 'Enter':
        if (row >= 0) {
          this.options.rowOpened(row);
        } else {
          this.options.headerActivated(this.columns[column], event);
        }
        break;
      default:
        return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}
