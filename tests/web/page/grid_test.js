import {Grid} from '../../../src/web/page/grid.js';

import {check, equal, test} from './harness.js';

/** Node has no elements: these run in the browser alone. */
const inBrowser = typeof document !== 'undefined';

/** A grid of so many rows whose cells say how often they were made. */
function shownGrid(rows) {
  const made = new Map();
  const selected = new Set();
  const grid = new Grid({
    label: 'rows',
    cell: (row) => {
      made.set(row, (made.get(row) ?? 0) + 1);
      return `row ${row}`;
    },
    headerActivated: () => {},
    rowSelected: () => {},
    rowOpened: () => {},
    isSelected: (row) => selected.has(row),
  });
  Object.assign(grid.element.style, {height: '320px', overflow: 'auto'});
  document.body.append(grid.element);
  grid.set([{id: 'name', title: 'Name', width: 100}], rows);
  return {grid, made, selected};
}

/** @param {Grid} grid */
function shownRows(grid) {
  return [...grid.body.children].map((line) => Number(line.getAttribute('data-row')));
}

/** @param {Grid} grid @param {number} top */
function scrollTo(grid, top) {
  grid.element.scrollTop = top;
  grid.draw();
  const rows = shownRows(grid);
  equal(rows, rows.map((_, i) => rows[0] + i));
  equal([...grid.body.children].map((line) => line.textContent), rows.map((row) => `row ${row}`));
  const first = Math.floor(grid.element.scrollTop * grid.ratio() / 32);
  check(rows.includes(first) && rows.includes(first + 7), `rows ${first} to ${first + 7} are in sight, not ${rows}`);
  return rows;
}

test('a table that is scrolled makes those rows that come in sight, and keeps the others in their order', () => {
  if (!inBrowser) return;
  const {grid, made} = shownGrid(1000);
  for (const top of [0, 160, 320, 96, 9600, 9440, 31680, 0]) scrollTo(grid, top);
  made.clear();
  const before = new Set(shownRows(grid));
  const after = scrollTo(grid, 160);
  equal([...made.keys()], after.filter((row) => !before.has(row)));
  equal([...made.values()].every((times) => times === 1), true);
  grid.destroy();
  grid.element.remove();
});

test('what a table shows is made anew when its contents change', () => {
  if (!inBrowser) return;
  const {grid, made, selected} = shownGrid(1000);
  const rows = scrollTo(grid, 320);
  made.clear();
  selected.add(rows[3]);
  grid.refresh();
  equal([...made.keys()], rows);
  equal(shownRows(grid), rows);
  equal(grid.body.children[3].getAttribute('aria-selected'), 'true');
  grid.set(grid.columns, 3);
  equal(shownRows(grid), [0, 1, 2]);
  grid.destroy();
  grid.element.remove();
});

test('a table that is too long for a browser is scrolled in proportion', () => {
  if (!inBrowser) return;
  const {grid} = shownGrid(1e6);
  const last = scrollTo(grid, 8e6);
  equal(last[last.length - 1], 999999);
  const half = scrollTo(grid, 4e6);
  equal(Math.abs(half[0] - 5e5) < 100, true);
  // Rows stand where they are in sight.
  for (const top of [4e6 + 10, 4e6 + 20]) {
    scrollTo(grid, top);
    const seen = Math.floor(grid.element.scrollTop * grid.ratio() / 32);
    const line = [...grid.body.children].find((l) => Number(l.getAttribute('data-row')) === seen);
    const shift = grid.element.scrollTop - Number(/translateY\((.*)px\)/.exec(line.style.transform)[1]);
    check(shift >= 0 && shift < 33, `row ${seen} stands ${shift} pixels above the upper edge`);
  }
  grid.destroy();
  grid.element.remove();
});
