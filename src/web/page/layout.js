// Where the nodes of a graph stand: layers from top to bottom, cells around their nodes. Pure.
//
// Sugiyama's steps: layers by longest path; edges over several layers get places of their own in between; the order in
// a layer by barycentres, a few sweeps; then positions: each node wants to stand at the mean of its neighbours, and the
// closest positions that keep order and distance are found by pooling (isotonic regression), so nothing overlaps.
// A cell is laid out by itself and is then one large node of the graph around it.

/**
 * A node of the tree that `show-graph` lists.
 * @typedef {Object} GraphNode
 * @property {string} path
 * @property {string} name  the last component
 * @property {string} type
 * @property {Record<string, any>} attributes
 * @property {string[]} inputs  paths of nodes beside it, or names of inputs of the graph around it
 * @property {number[]|null} shape
 * @property {string[]} outputs
 * @property {number|null} parameters
 * @property {number|null} flops
 * @property {string|null} choice
 * @property {number} depth
 * @property {GraphNode[]} children
 *
 * @typedef {Object} Graph
 * @property {string} name
 * @property {number|null} parameters
 * @property {number|null} flops
 * @property {{name: string, shape: number[]|null}[]} inputs
 * @property {GraphNode[]} nodes
 * @property {string[]} warnings
 */

/**
 * The document of `show-graph` as a tree.
 * @param {any} document @returns {Graph}
 */
export function buildGraph(document) {
  /** @type {GraphNode[]} */
  const roots = [];
  /** @type {GraphNode[]} */
  const around = [];
  for (const node of document.nodes ?? []) {
    const depth = Math.min(node.depth ?? 0, around.length);
    around.length = depth;
    const parent = depth > 0 ? around[depth - 1] : null;
    const prefix = parent ? `${parent.path}.` : '';
    /** @type {GraphNode} */
    const one = {
      path: node.name,
      name: prefix && node.name.startsWith(prefix) ? node.name.slice(prefix.length) : node.name,
      type: node.type,
      attributes: node.attributes ?? {},
      inputs: node.inputs ?? [],
      shape: node.shape ?? null,
      outputs: node.outputs ?? [],
      parameters: node.parameters ?? null,
      flops: node.flops ?? null,
      choice: node.choice ?? null,
      depth,
      children: [],
    };
    (parent ? parent.children : roots).push(one);
    around.push(one);
  }
  return {
    name: document.name ?? '',
    parameters: document.parameters ?? null,
    flops: document.flops ?? null,
    inputs: document.inputs ?? [],
    nodes: roots,
    warnings: document.warnings ?? [],
  };
}

/**
 * All nodes, each before what is in it.
 * @param {GraphNode[]} nodes @returns {GraphNode[]}
 */
export function allNodes(nodes) {
  /** @type {GraphNode[]} */
  const list = [];
  const stack = nodes.slice().reverse();
  while (stack.length > 0) {
    const node = /** @type {GraphNode} */ (stack.pop());
    list.push(node);
    for (let i = node.children.length - 1; i >= 0; --i) stack.push(node.children[i]);
  }
  return list;
}

/**
 * @typedef {Object} Placed  a box: its corner, relative to the whole drawing
 * @property {string} id  a node's path, or "input:NAME"
 * @property {GraphNode|null} node  null: an input of the graph
 * @property {number} x
 * @property {number} y
 * @property {number} width
 * @property {number} height
 * @property {boolean} open  a cell that shows what is in it
 * @property {number} depth
 *
 * @typedef {Object} Line
 * @property {string} from
 * @property {string} to
 * @property {[number, number][]} points
 *
 * @typedef {{boxes: Placed[], lines: Line[], width: number, height: number}} Drawing
 */

const GAP_X = 24;
const GAP_Y = 34;
const PADDING = 14;
const TITLE = 26;
const SWEEPS = 8;

/**
 * @param {Graph} graph
 * @param {(path: string) => boolean} isOpen  whether a cell shows what is in it
 * @param {(node: GraphNode|null, name: string) => {width: number, height: number}} sizeOf  of a closed box
 * @returns {Drawing}
 */
export function layoutGraph(graph, isOpen, sizeOf) {
  return layoutLevel(graph.nodes, graph.inputs.map((input) => input.name), '', isOpen, sizeOf);
}

/**
 * @param {GraphNode[]} nodes
 * @param {string[]} inputs  names that are drawn; of a cell: those that its nodes read
 * @param {string} prefix  of ids of inputs
 * @param {(path: string) => boolean} isOpen
 * @param {(node: GraphNode|null, name: string) => {width: number, height: number}} sizeOf
 * @returns {Drawing}
 */
function layoutLevel(nodes, inputs, prefix, isOpen, sizeOf) {
  /** @type {{id: string, node: GraphNode|null, width: number, height: number, inner: Drawing|null}[]} */
  const items = [];
  /** @type {Map<string, number>} */
  const index = new Map();
  for (const name of inputs) {
    index.set(name, items.length);
    items.push({id: `input:${prefix}${name}`, node: null, ...sizeOf(null, name), inner: null});
  }
  for (const node of nodes) {
    index.set(node.path, items.length);
    if (node.children.length > 0 && isOpen(node.path)) {
      const inner = layoutLevel(node.children, readNames(node.children), `${node.path}/`, isOpen, sizeOf);
      const own = sizeOf(node, node.name);
      items.push({
        id: node.path,
        node,
        width: Math.max(own.width, inner.width + 2 * PADDING),
        height: inner.height + TITLE + 2 * PADDING,
        inner
      });
    } else {
      items.push({id: node.path, node, ...sizeOf(node, node.name), inner: null});
    }
  }
  /** @type {[number, number][]} */
  const edges = [];
  const seen = new Set();
  for (const node of nodes) {
    const to = /** @type {number} */ (index.get(node.path));
    for (const input of node.inputs) {
      const from = index.get(input) ?? index.get(input.replace(/:\d+$/, ''));
      if (from === undefined || from === to || seen.has(`${from},${to}`)) continue;
      seen.add(`${from},${to}`);
      edges.push([from, to]);
    }
  }
  const placed = layered(items, edges);
  /** @type {Placed[]} */
  const boxes = [];
  /** @type {Line[]} */
  const lines = [];
  items.forEach((item, i) => {
    const {x, y} = placed.at[i];
    boxes.push({
      id: item.id,
      node: item.node,
      x,
      y,
      width: item.width,
      height: item.height,
      open: item.inner !== null,
      depth: item.node?.depth ?? 0
    });
    if (!item.inner) return;
    const dx = x + (item.width - item.inner.width) / 2;
    const dy = y + TITLE + PADDING;
    for (const box of item.inner.boxes) boxes.push({...box, x: box.x + dx, y: box.y + dy});
    for (const line of item.inner.lines) {
      lines.push(
          {...line, points: line.points.map(([px, py]) => /** @type {[number, number]} */ ([px + dx, py + dy]))});
    }
  });
  edges.forEach(([from, to], e) => {
    lines.push({from: items[from].id, to: items[to].id, points: placed.lines[e]});
  });
  return {boxes, lines, width: placed.width, height: placed.height};
}

/**
 * Names that nodes of a cell read and that are no nodes of it: its inputs.
 * @param {GraphNode[]} nodes
 */
function readNames(nodes) {
  const own = new Set(nodes.map((node) => node.path));
  /** @type {Set<string>} */
  const names = new Set();
  for (const node of nodes) {
    for (const input of node.inputs) {
      const source = input.replace(/:\d+$/, '');
      if (!own.has(input) && !own.has(source)) names.add(source);
    }
  }
  return [...names];
}

/**
 * @param {{width: number, height: number}[]} items
 * @param {[number, number][]} edges  from earlier to later items; others are turned
 */
export function layered(items, edges) {
  const n = items.length;
  /** @type {number[][]} */
  const sources = items.map(() => []);
  for (const [from, to] of edges) {
    if (from < to) sources[to].push(from);
  }
  const layer = new Array(n).fill(0);
  for (let i = 0; i < n; ++i) {
    for (const from of sources[i]) layer[i] = Math.max(layer[i], layer[from] + 1);
  }
  // Places: items first, then those of edges that pass layers.
  const width = items.map((item) => item.width);
  const layerOf = layer.slice();
  /** @type {[number, number][]} */
  const links = [];
  /** @type {number[][]} */
  const chains = edges.map(([from, to]) => {
    const [a, b] = layer[from] <= layer[to] ? [from, to] : [to, from];
    const chain = [a];
    for (let l = layer[a] + 1; l < layer[b]; ++l) {
      chain.push(width.length);
      width.push(8);
      layerOf.push(l);
    }
    chain.push(b);
    for (let i = 0; i + 1 < chain.length; ++i) links.push([chain[i], chain[i + 1]]);
    return a === from ? chain : chain.slice().reverse();
  });
  const count = layerOf.reduce((most, l) => Math.max(most, l + 1), 0);
  /** @type {number[][]} */
  const layers = Array.from({length: count}, () => []);
  layerOf.forEach((l, i) => layers[l].push(i));
  /** @type {number[][]} */
  const above = width.map(() => []);
  /** @type {number[][]} */
  const below = width.map(() => []);
  for (const [a, b] of links) {
    if (layerOf[a] === layerOf[b]) continue;
    above[b].push(a);
    below[a].push(b);
  }

  const rank = new Array(width.length).fill(0);
  const setRanks = () => layers.forEach((list) => list.forEach((i, r) => {
    rank[i] = r;
  }));
  setRanks();
  const sweep = (/** @type {number[]} */ list, /** @type {number[][]} */ neighbours) => {
    const mean = new Map(list.map(
        (i) =>
            [i,
             neighbours[i].length === 0 ? rank[i] :
                                          neighbours[i].reduce((sum, j) => sum + rank[j], 0) / neighbours[i].length]));
    list.sort((a, b) => /** @type {number} */ (mean.get(a)) - /** @type {number} */ (mean.get(b)) || rank[a] - rank[b]);
    list.forEach((i, r) => {
      rank[i] = r;
    });
  };
  for (let s = 0; s < SWEEPS; ++s) {
    for (let l = 1; l < count; ++l) sweep(layers[l], above);
    for (let l = count - 2; l >= 0; --l) sweep(layers[l], below);
  }

  // Centres. A line's place keeps closer to straight than a node does.
  const x = new Array(width.length).fill(0);
  for (const list of layers) {
    let at = 0;
    for (const i of list) {
      x[i] = at + width[i] / 2;
      at += width[i] + GAP_X;
    }
  }
  const settle = (/** @type {number[]} */ list, /** @type {number[][]} */ neighbours) => {
    const wanted = list.map(
        (i) =>
            neighbours[i].length === 0 ? x[i] : neighbours[i].reduce((sum, j) => sum + x[j], 0) / neighbours[i].length);
    const weights = list.map((i) => (i < n ? 1 : 4) * (neighbours[i].length === 0 ? 0.1 : 1));
    const offsets = [0];
    for (let k = 1; k < list.length; ++k) {
      offsets.push(offsets[k - 1] + (width[list[k - 1]] + width[list[k]]) / 2 + GAP_X);
    }
    const fitted = isotonic(wanted.map((w, k) => w - offsets[k]), weights);
    list.forEach((i, k) => {
      x[i] = fitted[k] + offsets[k];
    });
  };
  const both = width.map((_, i) => [...above[i], ...below[i]]);
  for (let s = 0; s < SWEEPS; ++s) {
    for (let l = 1; l < count; ++l) settle(layers[l], above);
    for (let l = count - 2; l >= 0; --l) settle(layers[l], below);
  }
  for (let l = 0; l < count; ++l) settle(layers[l], both);

  let left = Infinity;
  let right = -Infinity;
  x.forEach((centre, i) => {
    left = Math.min(left, centre - width[i] / 2);
    right = Math.max(right, centre + width[i] / 2);
  });
  if (n === 0) left = right = 0;
  const top = new Array(count).fill(0);
  const heights = layers.map((list) => list.reduce((most, i) => i < n ? Math.max(most, items[i].height) : most, 0));
  for (let l = 1; l < count; ++l) top[l] = top[l - 1] + heights[l - 1] + GAP_Y;
  const at = items.map((item, i) => ({x: x[i] - left - item.width / 2, y: top[layer[i]]}));
  const lines = chains.map((chain) => {
    const down = layer[chain[0]] < layer[chain[chain.length - 1]] || chain.length === 2;
    const first = chain[0];
    const last = chain[chain.length - 1];
    /** @type {[number, number][]} */
    const points = [[x[first] - left, at[first].y + (down ? items[first].height : 0)]];
    for (const i of chain.slice(1, -1)) {
      const y = top[layerOf[i]];
      points.push([x[i] - left, y], [x[i] - left, y + heights[layerOf[i]]]);
    }
    points.push([x[last] - left, at[last].y + (down ? 0 : items[last].height)]);
    return points;
  });
  return {at, lines, width: right - left, height: count === 0 ? 0 : top[count - 1] + heights[count - 1]};
}

/**
 * The closest values to `wanted` (least weighted squares) that never fall.
 * @param {number[]} wanted @param {number[]} weights
 */
export function isotonic(wanted, weights) {
  /** @type {{mean: number, weight: number, count: number}[]} */
  const pools = [];
  wanted.forEach((value, i) => {
    let pool = {mean: value, weight: weights[i], count: 1};
    while (pools.length > 0 && pools[pools.length - 1].mean > pool.mean) {
      const before = /** @type {{mean: number, weight: number, count: number}} */ (pools.pop());
      const weight = before.weight + pool.weight;
      pool = {
        mean: (before.mean * before.weight + pool.mean * pool.weight) / weight,
        weight,
        count: before.count + pool.count
      };
    }
    pools.push(pool);
  });
  return pools.flatMap(({mean, count}) => new Array(count).fill(mean));
}
