// What an address keeps of the drawing of a graph: which cells are open, and the zoom. Pure.

import {joinList, splitList} from './sort.js';

/**
 * Open cells as text; null: as at first.
 * @param {Set<string>} open  paths @param {string[]} cells  all that fold @param {Set<string>} initial
 */
export function writeOpen(open, cells, initial) {
  if (open.size === initial.size && [...open].every((path) => initial.has(path))) return null;
  if (open.size === 0) return 'none';
  if (open.size === cells.length) return 'all';
  return joinList([...open].sort());
}

/**
 * What writeOpen wrote; cells that this graph has not are left out.
 * @param {string} text  empty: as at first @param {string[]} cells @param {Set<string>} initial
 */
export function readOpen(text, cells, initial) {
  if (text === '') return new Set(initial);
  if (text === 'all') return new Set(cells);
  const wanted = new Set(splitList(text));
  return new Set(cells.filter((path) => wanted.has(path)));
}

/** Where the address of a comparison keeps the cells and the zoom of each side. */
export const SIDES = [{open: 'ol', zoom: 'zl'}, {open: 'or', zoom: 'zr'}];

/**
 * What the address still keeps of a model whose place in a comparison another one has, or none: for Store.setParams.
 * @param {number[]|null} before  the models at the left and at the right; null: nothing was drawn yet, and what the
 *     address keeps is about those that come
 * @param {number[]} now
 */
export function keptOfOthers(before, now) {
  /** @type {Record<string, null>} */
  const params = {};
  SIDES.forEach(({open, zoom}, side) => {
    if (before === null || before[side] === now[side]) return;
    params[open] = null;
    params[zoom] = null;
  });
  return params;
}

/** @typedef {{x: number, y: number, k: number}} Zoom  as d3's transforms */

/** @param {Zoom} zoom */
export function writeZoom({x, y, k}) {
  return [Math.round(x), Math.round(y), Number(k.toPrecision(3))].join(',');
}

/** @param {string} text @returns {Zoom|null} null: none, or one that nobody can have set */
export function readZoom(text) {
  const parts = text.split(',').map(Number);
  if (parts.length !== 3 || !parts.every(Number.isFinite)) return null;
  const [x, y, k] = parts;
  return k >= 0.02 && k <= 4 ? {x, y, k} : null;
}
