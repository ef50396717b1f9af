import {ApiError} from '../../../src/web/page/api.js';
import {chosenText} from '../../../src/web/page/columns.js';
import {differenceRows, diffGraphs, diffSamples} from '../../../src/web/page/diff.js';
import {allNodes, buildGraph, isotonic, layered, layoutGraph} from '../../../src/web/page/layout.js';
import {ModelGraphs} from '../../../src/web/page/model_graphs.js';

import {check, equal, test} from './harness.js';
import {sampleTable} from './sample_table.js';

const node = (name, type, inputs, more = {}) => ({
  name,
  type,
  attributes: {},
  inputs,
  shape: [1],
  outputs: [],
  parameters: 0,
  flops: 0,
  depth: 0,
  choice: null,
  ...more
});
const size = () => ({width: 100, height: 40});

function cells() {
  return buildGraph({
    name: 'net',
    parameters: 1,
    flops: 1,
    inputs: [{name: 'x', shape: null}],
    warnings: [],
    nodes: [
      node('stem', 'Conv', ['x'], {attributes: {kernel: 3}}),
      node('cell', 'Cell', ['stem']),
      node('cell.a', 'Conv', ['in'], {depth: 1}),
      node('cell.b', 'ReLU', ['cell.a'], {depth: 1}),
      node('cell.c', 'Add', ['cell.b', 'in'], {depth: 1}),
      node('head', 'Linear', ['cell', 'stem:1']),
    ]
  });
}

test('the list of a graph becomes a tree', () => {
  const graph = cells();
  equal(graph.nodes.map((n) => n.name), ['stem', 'cell', 'head']);
  equal(graph.nodes[1].children.map((n) => n.name), ['a', 'b', 'c']);
  equal(allNodes(graph.nodes).length, 6);
});

function overlaps(boxes) {
  const bad = [];
  boxes.forEach((a, i) => boxes.slice(i + 1).forEach((b) => {
    const inside = (outer, inner) => outer.open && inner.x >= outer.x && inner.y >= outer.y &&
        inner.x + inner.width <= outer.x + outer.width && inner.y + inner.height <= outer.y + outer.height;
    if (a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height && !inside(a, b) &&
        !inside(b, a))
      bad.push([a.id, b.id]);
  }));
  return bad;
}

test('open cells hold their nodes, and nothing else overlaps', () => {
  for (const open of [true, false]) {
    const drawing = layoutGraph(cells(), () => open, size);
    equal(overlaps(drawing.boxes), []);
    equal(drawing.boxes.length, open ? 8 : 4);
    for (const box of drawing.boxes)
      check(
          box.x >= 0 && box.y >= 0 && box.x + box.width <= drawing.width + 1e-6 &&
              box.y + box.height <= drawing.height + 1e-6,
          `${box.id} is outside`);
  }
});

test('edges point down, from the box they leave to the one they reach', () => {
  const drawing = layoutGraph(cells(), () => true, size);
  equal(drawing.lines.length, 8);
  for (const line of drawing.lines) {
    const from = drawing.boxes.find((b) => b.id === line.from);
    const to = drawing.boxes.find((b) => b.id === line.to);
    check(from.y + from.height <= to.y, `${line.from} to ${line.to}`);
    equal(line.points[0][1], from.y + from.height);
    equal(line.points[line.points.length - 1][1], to.y);
  }
});

test('1,000 nodes with long edges are laid out without overlaps', () => {
  const items = Array.from({length: 1000}, (_, i) => ({width: 80 + i % 70, height: 30 + i % 20}));
  const edges = [];
  for (let i = 1; i < 1000; ++i) {
    edges.push([i - 1 - i % 3 < 0 ? 0 : i - 1 - i % 3, i]);
    if (i > 40 && i % 9 === 0) edges.push([i - 40, i]);
  }
  const placed = layered(items, edges);
  equal(overlaps(items.map((item, i) => ({id: i, ...placed.at[i], ...item, open: false}))), []);
});

test('a graph without nodes, and one whose edges name nothing, are drawn', () => {
  equal(layoutGraph(buildGraph({nodes: []}), () => true, size).boxes, []);
  equal(layoutGraph(buildGraph({nodes: [node('a', 'A', ['nowhere', 'a'])]}), () => true, size).lines, []);
});

test('isotonic regression keeps order and the weighted mean', () => {
  equal(isotonic([3, 1, 2], [1, 1, 1]), [2, 2, 2]);
  equal(isotonic([1, 2, 3], [1, 1, 1]), [1, 2, 3]);
  equal(isotonic([4, 0], [3, 1]), [3, 3]);
});

test('planted changes are found: an attribute, a new name, a node on one side', () => {
  const left = cells();
  const right = cells();
  right.nodes[0].attributes = {kernel: 5};
  right.nodes[1].children[1].path = 'cell.renamed';
  right.nodes[1].children[2].inputs = ['cell.renamed', 'in'];
  right.nodes.push(...buildGraph({nodes: [node('extra', 'Softmax', ['head'])]}).nodes);
  const pairs = diffGraphs(left, right);
  const of = (path) => pairs.find((p) => (p.left ?? p.right).path === path);
  equal(of('stem').kind, 'changed');
  equal(of('stem').changes, [{name: 'kernel', left: '3', right: '5'}]);
  equal(of('cell.b').right.path, 'cell.renamed');
  equal(of('cell.b').kind, 'same');
  equal(of('extra').kind, 'right');
  equal(of('head').kind, 'same');
  equal(pairs.length, 7);
  equal(differenceRows(pairs), [['stem', 'kernel', '3', '5'], ['extra', 'only there', '', 'Softmax']]);
});

test('graphs that are the same have no differences, and those with nothing in common no pairs', () => {
  check(diffGraphs(cells(), cells()).every((p) => p.kind === 'same'), 'same');
  const other = buildGraph({nodes: [node('z', 'Z', [])]});
  equal(diffGraphs(cells(), other).map((p) => p.kind).filter((k) => k === 'right').length, 1);
});

test('an operator that was replaced is a change of its type', () => {
  const right = cells();
  right.nodes[1].children[1].type = 'SiLU';
  equal(diffGraphs(cells(), right).filter((p) => p.kind === 'changed').map((p) => p.changes[0].name), ['type']);
});

test('samples side by side mark what differs, inactive choices too', () => {
  const lines = diffSamples(sampleTable(), [0, 1], chosenText);
  equal(
      lines.map((l) => [l.label, l.values, l.differs]),
      [['op', ['conv', 'skip'], true], ['kernel', ['3', null], true], ['inputs', ['[a, c]', '[b, c]'], true]]);
});

test('a graph that could not be had is asked for again: when the head is back, or may have time', async () => {
  /** @param {number} status */
  const asked = async (status) => {
    let count = 0;
    const store = {
      route: {id: 'a'},
      changed() {},
      api: {
        async made() {
          ++count;
          throw new ApiError(status, '');
        }
      }
    };
    const graphs = new ModelGraphs(/** @type {any} */ (store));
    const once = async (/** @type {() => void} */ call) => {
      call();
      count = 0;
      const first = graphs.get(1);
      await Promise.resolve();
      return [count, first === null];
    };
    await once(() => {});
    await new Promise((resolve) => setTimeout(resolve));
    const results = [];
    for (const call of [
             () => graphs.headIsBack(), () => graphs.follow(new Set(['table'])),
             () => graphs.follow(new Set(['theme']))]) {
      results.push((await once(call))[0]);
      await new Promise((resolve) => setTimeout(resolve));
    }
    return results;
  };
  const answers = [];
  for (const status of [0, 503, 500, 404, 409]) answers.push(await asked(status));
  equal(answers, [[1, 0, 0], [1, 1, 0], [1, 0, 0], [0, 0, 0], [0, 0, 0]]);
});

test('a view is told of graphs, and only where something changed', async () => {
  /** @type {string[]} */
  const told = [];
  const document = {name: 'net', nodes: [node('a', 'Conv2d', ['x'])], inputs: [], outputs: ['a'], warnings: []};
  const store = {route: {id: 'a'}, changed: (/** @type {string} */ what) => told.push(what), api: {made: async () => document}};
  const graphs = new ModelGraphs(/** @type {any} */ (store));
  equal(graphs.get(1), null);
  await new Promise((resolve) => setTimeout(resolve));
  equal([/** @type {any} */ (graphs.get(1)).document === document, told], [true, ['graphs']]);
  graphs.headIsBack();
  equal(told, ['graphs']);
});
