// What differs between models: their samples, and their graphs. Pure.

import {allNodes} from './layout.js';

/**
 * Samples side by side, in the order of the space.
 * @param {import('./decode.js').Table} table
 * @param {number[]} rows
 * @param {(choice: import('./decode.js').Choice, row: number) => string|null} textOf
 * @returns {{label: string, values: (string|null)[], differs: boolean}[]} null: not chosen
 */
export function diffSamples(table, rows, textOf) {
  return table.choices.map((choice) => {
    const values = rows.map((row) => textOf(choice, row));
    return {label: choice.label, values, differs: values.some((value) => value !== values[0])};
  });
}

/** @typedef {import('./layout.js').GraphNode} GraphNode */

/**
 * @typedef {Object} NodePair
 * @property {GraphNode|null} left
 * @property {GraphNode|null} right
 * @property {'same'|'changed'|'left'|'right'} kind
 * @property {{name: string, left: string, right: string}[]} changes  which attribute, and the type where it differs
 */

/**
 * Matches the nodes of two graphs: first those of the same path and type; then, among what is left, those of the same
 * type that have most matched neighbours (at least one, or the same place in the tree); then those of the same path
 * with another type.
 * @param {import('./layout.js').Graph} left
 * @param {import('./layout.js').Graph} right
 * @returns {NodePair[]} in the order of the left graph; what only the right one has comes behind its predecessor
 */
export function diffGraphs(left, right) {
  const a = allNodes(left.nodes);
  const b = allNodes(right.nodes);
  /** @type {Map<GraphNode, GraphNode>} */
  const match = new Map();
  /** @type {Set<GraphNode>} */
  const taken = new Set();
  const pair = (/** @type {GraphNode} */ x, /** @type {GraphNode} */ y) => {
    match.set(x, y);
    taken.add(y);
  };
  const byPath = new Map(b.map((node) => [node.path, node]));
  for (const node of a) {
    const same = byPath.get(node.path);
    if (same && same.type === node.type) pair(node, same);
  }

  const neighboursA = neighboursOf(a);
  const neighboursB = neighboursOf(b);
  /** @type {Map<string, GraphNode[]>} */
  const freeByType = new Map();
  for (const node of b) {
    if (taken.has(node)) continue;
    freeByType.set(node.type, [...freeByType.get(node.type) ?? [], node]);
  }
  // A pair that is found gives its neighbours one more: until nothing changes.
  for (let found = true; found;) {
    found = false;
    for (const node of a) {
      if (match.has(node)) continue;
      const images = new Set((neighboursA.get(node) ?? []).map((m) => match.get(m)).filter(Boolean));
      let best = null;
      let most = 0;
      for (const other of freeByType.get(node.type) ?? []) {
        if (taken.has(other)) continue;
        let shared = 0;
        for (const m of neighboursB.get(other) ?? []) shared += images.has(m) ? 1 : 0;
        if (shared > most) {
          most = shared;
          best = other;
        }
      }
      if (best) {
        pair(node, best);
        found = true;
      }
    }
  }
  for (const node of a) {
    const same = byPath.get(node.path);
    if (!match.has(node) && same && !taken.has(same)) pair(node, same);
  }

  /** @type {NodePair[]} */
  const result = [];
  const only = new Set(b.filter((node) => !taken.has(node)));
  let next = 0;
  const flush = (/** @type {GraphNode|null} */ until) => {
    // What only the right graph has, up to the node that has just been listed.
    const end = until === null ? b.length : b.indexOf(until);
    for (; next < end; ++next) {
      if (only.has(b[next])) result.push({left: null, right: b[next], kind: 'right', changes: []});
    }
  };
  for (const node of a) {
    const other = match.get(node);
    if (!other) {
      result.push({left: node, right: null, kind: 'left', changes: []});
      continue;
    }
    flush(other);
    const changes = changesBetween(node, other);
    result.push({left: node, right: other, kind: changes.length > 0 ? 'changed' : 'same', changes});
  }
  flush(null);
  return result;
}

/**
 * All that differs, a row each: node, what of it, and both sides.
 * @param {NodePair[]} pairs
 * @returns {string[][]}
 */
export function differenceRows(pairs) {
  return pairs.flatMap(({left, right, kind, changes}) => {
    const path = (left ?? right)?.path ?? '';
    if (kind === 'changed') return changes.map((change) => [path, change.name, change.left, change.right]);
    return kind === 'same' ? [] : [[path, 'only there', left?.type ?? '', right?.type ?? '']];
  });
}

/** @param {GraphNode[]} nodes */
function neighboursOf(nodes) {
  const byPath = new Map(nodes.map((node) => [node.path, node]));
  /** @type {Map<GraphNode, GraphNode[]>} */
  const neighbours = new Map(nodes.map((node) => [node, []]));
  for (const node of nodes) {
    for (const input of node.inputs) {
      const source = byPath.get(input) ?? byPath.get(input.replace(/:\d+$/, ''));
      if (!source) continue;
      neighbours.get(node)?.push(source);
      neighbours.get(source)?.push(node);
    }
    for (const child of node.children) {
      neighbours.get(node)?.push(child);
      neighbours.get(child)?.push(node);
    }
  }
  return neighbours;
}

/** @param {GraphNode} left @param {GraphNode} right */
function changesBetween(left, right) {
  /** @type {{name: string, left: string, right: string}[]} */
  const changes = [];
  const compare = (/** @type {string} */ name, /** @type {unknown} */ x, /** @type {unknown} */ y) => {
    const l = x === undefined ? '' : JSON.stringify(x);
    const r = y === undefined ? '' : JSON.stringify(y);
    if (l !== r) changes.push({name, left: l, right: r});
  };
  compare('type', left.type, right.type);
  for (const name of new Set([...Object.keys(left.attributes), ...Object.keys(right.attributes)])) {
    compare(name, left.attributes[name], right.attributes[name]);
  }
  compare('shape', left.shape, right.shape);
  return changes;
}
