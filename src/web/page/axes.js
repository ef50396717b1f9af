// The axes of parallel coordinates: where a model crosses each of them. Pure.

import {choosesSeveral, chosenText} from './columns.js';
import {quoteForFilter} from './filter.js';
import {oneLine, valueText} from './format.js';

/** Share of an axis that "not chosen" and "no value" take, at its bottom. */
export const OFF_SHARE = 0.1;

/**
 * @typedef {Object} Axis
 * @property {string} id  of the column
 * @property {string} title
 * @property {'choice'|'number'} kind
 * @property {string[]} places  of a choice: what may be chosen, from the bottom
 * @property {boolean} hasOff  there are models without it
 * @property {[number, number]} domain  of numbers
 * @property {number} depth  how many conditions are above it in the space's tree
 * @property {Float32Array} at  for each row 0 (bottom) to 1 (top); a choice's: the middle of its place
 * @property {Int32Array} place  for each row its place; -1: not chosen, no value
 */

/**
 * How deep a choice lies in the space's tree.
 * @param {import('./decode.js').Choice[]} choices  in any order @returns {Map<string, number>}
 */
export function choiceDepths(choices) {
  const byLabel = new Map(choices.map((choice) => [choice.label, choice]));
  /** @type {Map<string, number>} */
  const depths = new Map();
  const depthOf = (/** @type {string} */ label) => {
    const known = depths.get(label);
    if (known !== undefined) return known;
    // Conditions in a circle end here.
    depths.set(label, 0);
    const above = (byLabel.get(label)?.activeIf ?? []).flat().map((term) => depthOf(term.label));
    const depth = above.reduce((most, one) => Math.max(most, one + 1), 0);
    depths.set(label, depth);
    return depth;
  };
  for (const {label} of choices) depthOf(label);
  return depths;
}

/**
 * An axis for a column, of all rows of the table.
 * @param {import('./decode.js').Table} table
 * @param {import('./columns.js').Column} column
 * @param {number} depth
 * @returns {Axis}
 */
export function makeAxis(table, column, depth) {
  const n = table.model.length;
  const at = new Float32Array(n);
  const place = new Int32Array(n).fill(-1);
  if (column.choice !== undefined) {
    const choice = table.choices[column.choice];
    /** @type {string[]} */
    let places;
    if (choosesSeveral(choice)) {
      // Several at once: each combination that there is has a place.
      const texts = choice.chosen.map((_, row) => chosenText(choice, row));
      places = [...new Set(texts.flatMap((t) => t === null ? [] : [t]))].sort();
      const index = new Map(places.map((text, i) => [text, i]));
      texts.forEach((text, row) => {
        if (text !== null) place[row] = index.get(text) ?? -1;
      });
    } else {
      places = choice.candidates.map((c) => valueText(c));
      choice.chosen.forEach((chosen, row) => {
        if (typeof chosen === 'number') place[row] = chosen;
      });
    }
    // A choice that may be inactive has its place for that, whether or not a model shown is there.
    const hasOff = choice.activeIf.length > 0 || place.includes(-1);
    const low = hasOff ? OFF_SHARE : 0;
    for (let row = 0; row < n; ++row) {
      at[row] = place[row] < 0 ? OFF_SHARE / 2 : low + (1 - low) * (place[row] + 0.5) / places.length;
    }
    return {id: column.id, title: column.title, kind: 'choice', places, hasOff, domain: [0, 1], depth, at, place};
  }
  let least = Infinity;
  let most = -Infinity;
  let hasOff = false;
  for (let row = 0; row < n; ++row) {
    const value = column.value(row);
    if (!Number.isFinite(value)) {
      hasOff = true;
      continue;
    }
    least = Math.min(least, value);
    most = Math.max(most, value);
  }
  if (least > most) [least, most] = [0, 1];
  const span = most - least || 1;
  const low = hasOff ? OFF_SHARE : 0;
  for (let row = 0; row < n; ++row) {
    const value = column.value(row);
    const known = Number.isFinite(value);
    place[row] = known ? 0 : -1;
    at[row] = known ? low + (1 - low) * (value - least) / span : OFF_SHARE / 2;
  }
  return {
    id: column.id,
    title: column.title,
    kind: 'number',
    places: [],
    hasOff,
    domain: [least, most],
    depth,
    at,
    place
  };
}

/**
 * A share of an axis that is brushed: what it means.
 * @typedef {[number, number]} Range
 */

/**
 * Places of a choice that a range covers (their middles); -1: "not chosen".
 * @param {Axis} axis @param {Range} range
 */
export function placesIn(axis, [from, to]) {
  const low = axis.hasOff ? OFF_SHARE : 0;
  const found = axis.places.map((_, i) => i).filter((i) => {
    const middle = low + (1 - low) * (i + 0.5) / axis.places.length;
    return middle >= from && middle <= to;
  });
  if (axis.hasOff && OFF_SHARE / 2 >= from && OFF_SHARE / 2 <= to) found.unshift(-1);
  return found;
}

/**
 * The range that covers these places of a choice and those between them; -1: "not chosen".
 * @param {Axis} axis @param {number} one @param {number} other @returns {Range}
 */
export function rangeOf(axis, one, other) {
  const low = axis.hasOff ? OFF_SHARE : 0;
  const begin = (/** @type {number} */ place) => place < 0 ? 0 : low + (1 - low) * place / axis.places.length;
  // Within the edges, which belong to the next place, too.
  const inside = Math.min(0.0005, 0.25 / axis.places.length);
  return [begin(Math.min(one, other)) + inside, begin(Math.max(one, other) + 1) - inside];
}

/**
 * The range of those without a value, of an axis that has a place for them.
 * @type {Range}
 */
export const OFF_RANGE = [0.0005, OFF_SHARE - 0.0005];

/**
 * Numbers that a range covers, and whether it covers those without a value.
 * @param {Axis} axis @param {Range} range
 */
export function numbersIn(axis, [from, to]) {
  const low = axis.hasOff ? OFF_SHARE : 0;
  const number = (/** @type {number} */ share) =>
      axis.domain[0] + (Math.max(0, Math.min(1, (share - low) / (1 - low)))) * (axis.domain[1] - axis.domain[0] || 1);
  return {
    from: number(from),
    to: number(to),
    some: to >= low,
    off: axis.hasOff && OFF_SHARE / 2 >= from && OFF_SHARE / 2 <= to
  };
}

/**
 * The rows within all brushes.
 * @param {Map<string, Axis>} axes @param {Map<string, Range>} brushes @param {number[]} rows
 */
export function brushedRows(axes, brushes, rows) {
  const tests = [...brushes].flatMap(([id, range]) => {
    const axis = axes.get(id);
    if (!axis) return [];
    if (axis.kind === 'choice') {
      const places = new Set(placesIn(axis, range));
      return [(/** @type {number} */ row) => places.has(axis.place[row])];
    }
    const {off} = numbersIn(axis, range);
    return [
      (/** @type {number} */ row) => axis.place[row] < 0 ? off : axis.at[row] >= range[0] && axis.at[row] <= range[1]
    ];
  });
  return tests.length === 0 ? rows : rows.filter((row) => tests.every((test) => test(row)));
}

/**
 * Brushes as a filter says it.
 * @param {Map<string, Axis>} axes @param {Map<string, Range>} brushes
 */
export function brushFilter(axes, brushes) {
  const parts = [];
  for (const [id, range] of brushes) {
    const axis = axes.get(id);
    if (!axis) continue;
    const name = quoteForFilter(id);
    // Of a brush that covers no place: no model passes it.
    const none = `${name} is missing and ${name} is not missing`;
    if (axis.kind === 'choice') {
      const places = placesIn(axis, range);
      const values = places.filter((p) => p >= 0).map((p) => quoteForFilter(axis.places[p]));
      const terms = [];
      if (values.length > 0) terms.push(`${name} in (${values.join(', ')})`);
      if (places.includes(-1)) terms.push(`${name} is missing`);
      parts.push(terms.length === 2 ? `(${terms.join(' or ')})` : terms[0] ?? none);
    } else {
      const {some, off} = numbersIn(axis, range);
      const terms = [];
      if (some) terms.push(boundsOf(axis, range, name));
      if (off) terms.push(`not ${name} is finite`);
      parts.push(terms.length === 2 ? `(${terms.join(' or ')})` : terms[0] ?? none);
    }
  }
  return parts.join(' and ');
}

/**
 * The numbers that a range covers, as a filter says it. An end of the axis is no bound: models to come may be better.
 * @param {Axis} axis @param {Range} range @param {string} name  of the column, in a filter
 */
function boundsOf(axis, range, name) {
  const {from, to} = numbersIn(axis, range);
  const [least, most] = axis.domain;
  // Bounds are as fine as the shares of an address, and rounded outwards: those models stay that are within the brush.
  const scale = 10 ** Math.max(0, Math.ceil(6 - Math.log10(most - least || 1)));
  const bounds = [];
  if (from > least) bounds.push(`${name} >= ${Math.floor(from * scale) / scale}`);
  if (range[1] < 1) bounds.push(`${name} <= ${Math.ceil(to * scale) / scale}`);
  // Infinities are not on the axis.
  if (bounds.length < 2) bounds.unshift(`${name} is finite`);
  return bounds.join(' and ');
}

/**
 * What a brush says, in words.
 * @param {Axis} axis @param {Range} range @param {(v: number) => string} format
 */
export function brushText(axis, range, format) {
  if (axis.kind === 'choice') {
    return placesIn(axis, range).map((p) => p < 0 ? 'not chosen' : oneLine(axis.places[p], 40)).join(', ') || 'nothing';
  }
  const {from, to, some, off} = numbersIn(axis, range);
  return `${some ? `${format(from)} to ${format(to)}` : ''}${some && off ? ' or ' : ''}${off ? 'no value' : ''}`;
}

/**
 * "id:0.1:0.5,..." as brushes, and back.
 * @param {string[]} parts
 * @returns {Map<string, Range>}
 */
export function readBrushes(parts) {
  /** @type {Map<string, Range>} */
  const brushes = new Map();
  for (const part of parts) {
    const match = /^(.*):([\d.]+):([\d.]+)$/.exec(part);
    if (match && Number(match[2]) < Number(match[3])) brushes.set(match[1], [Number(match[2]), Number(match[3])]);
  }
  return brushes;
}

/** @param {Map<string, Range>} brushes */
export function writeBrushes(brushes) {
  return [...brushes].map(([id, [from, to]]) => `${id}:${Number(from.toFixed(6))}:${Number(to.toFixed(6))}`);
}
