import {Grid} from '../../../src/web/page/grid.js';

import {check, equal, test} from './harness.js';

/** Node has no elements. @param {string} name @param {() => void} run */
function testInBrowser(name, run) {
  if (typeof document !== 'undefined') test(name, run);
}

/** A grid of so many rows whose cells say how often they were made. `order` has the keys of rows that are sorted. */
function shownGrid(rows) {
  const made = new Map();
  const selected = new Set();
  /** @type {number[]} */
  const order = [];
  const grid = new Grid({
    label: 'rows',
    cell: (row) => {
      made.set(row, (made.get(row) ?? 0) + 1);
      return `row ${order[row] ?? row}`;
    },
    headerActivated: () => {},
    rowSelected: () => {},
    rowOpened: () => {},
    isSelected: (row) => selected.has(row),
    keyOf: (row) => order[row] ?? row,
    rowOf: (key) => order.length > 0 ? order.indexOf(key) : key,
  });
  Object.assign(grid.element.style, {height: '320px', overflow: 'auto'});
  document.body.append(grid.element);
  grid.set([{id: 'name', title: 'Name', width: 100}], rows);
  return {grid, made, selected, order};
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

testInBrowser('a table that is scrolled makes those rows that come in sight, and keeps the others in their order', () => {
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

testInBrowser('what a table shows is made anew when its contents change', () => {
  const {grid, made, selected} = shownGrid(1000);
  const rows = scrollTo(grid, 320);
  made.clear();
  selected.add(rows[3]);
  grid.set(grid.columns, 1000);
  equal([...made.keys()], rows);
  equal(shownRows(grid), rows);
  equal(grid.body.children[3].getAttribute('aria-selected'), 'true');
  grid.set(grid.columns, 3);
  equal(shownRows(grid), [0, 1, 2]);
  grid.destroy();
  grid.element.remove();
});

testInBrowser('the cell that has the focus keeps it while it is scrolled, and keys go on from it when it is out of sight', () => {
  const {grid} = shownGrid(1000);
  grid.goTo(12);
  const cell = document.activeElement;
  equal([cell.getAttribute('role'), cell.textContent], ['gridcell', 'row 12']);
  scrollTo(grid, grid.element.scrollTop + 64);
  check(document.activeElement === cell, 'the focus has left a cell that is in sight');
  scrollTo(grid, 9600);
  check(document.activeElement === grid.element, 'the focus has left the table');
  equal(grid.at.row, 12);
  grid.element.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowDown'}));
  equal(document.activeElement.textContent, 'row 13');
  // Contents that change take the focus with them.
  grid.set(grid.columns, 1000);
  equal(document.activeElement.textContent, 'row 13');
  grid.goTo(-1);
  grid.set(grid.columns, 1000);
  equal(document.activeElement.getAttribute('role'), 'columnheader');
  grid.destroy();
  grid.element.remove();
});

testInBrowser('the cell that has the focus stays that of its row when rows are sorted anew', () => {
  const {grid, order} = shownGrid(5);
  const sort = (/** @type {number[]} */ keys) => {
    order.splice(0, order.length, ...keys);
    grid.set(grid.columns, keys.length);
    return [document.activeElement?.textContent, grid.at.row];
  };
  grid.goTo(1);
  equal(sort([4, 3, 2, 1, 0]), ['row 1', 3]);
  equal(sort([1, 4, 3, 2, 0]), ['row 1', 0]);
  // One that is gone leaves its place to another.
  equal(sort([4, 3]), ['row 4', 0]);
  equal(sort([3, 4]), ['row 4', 1]);
  grid.destroy();
  grid.element.remove();
});

testInBrowser('a table that is too long for a browser is scrolled in proportion', () => {
  const {grid} = shownGrid(1e6);
  const last = scrollTo(grid, 8e6);
  equal(last[last.length - 1], 999999);
  const below = grid.body.lastElementChild.getBoundingClientRect().bottom - grid.element.getBoundingClientRect().bottom;
  check(below <= 0, `the last row ends ${below} pixels below the table`);
  const half = scrollTo(grid, 4e6);
  equal(Math.abs(half[0] - 5e5) < 100, true);
  // Rows stand where they are in sight.
  for (const top of [4e6 + 10, 4e6 + 20]) {
    scrollTo(grid, top);
    const seen = Math.floor(grid.element.scrollTop * grid.ratio() / 32);
    const line = [...grid.body.children].find((l) => Number(l.getAttribute('data-row')) === seen);
    const shift = grid.element.scrollTop - Number(/translateY\((.*)px\)/.exec(line.style.transform)[1]);
    check(shift >= 0 && shift < 32, `row ${seen} stands ${shift} pixels above the upper edge`);
  }
  grid.destroy();
  grid.element.remove();
});
