import {curveValue, decodeAttempts, decodeColumns, decodeCurves, isNumber, readJson, updateFronts} from '../../../src/web/page/decode.js';
import {findFronts, findViolation} from '../../../src/web/page/fronts.js';

import {check, equal, test, thrown} from './harness.js';
import {curveBytes, sampleDocument, sampleTable} from './sample_table.js';

test('columns keep null, NaN and infinity apart', () => {
  const table = sampleTable();
  equal(table.metrics.get('default'), [0.9, 0.8, null, NaN, null]);
  equal(table.metrics.get('flops')[3], Infinity);
  equal(table.state, ['SUCCEEDED', 'SUCCEEDED', 'FAILED', 'SUCCEEDED', 'RUNNING']);
  equal(table.rowOf.get(4), 3);
});

test('a table without models and without choices can be read', () => {
  const table = decodeColumns({
    id: 'x',
    number: 0,
    status: 'CREATED',
    objectives: [{metric: 'default', goal: 'MAXIMIZE'}],
    model: [],
    statuses: [],
    status_of: []
  });
  equal(table.model.length, 0);
  equal(table.choices.length, 0);
});

test('what all models have in common is said once', () => {
  const document = sampleDocument();
  const table = decodeColumns(
      {...document, status_of: 0, attempts: 1, steps: 2, metrics: {default: 'NaN'}, latest: 0.5, failure_of: null});
  equal(table.state, new Array(5).fill('SUCCEEDED'));
  equal([table.attempts, table.steps, table.latest], [1, 2, 0.5].map((entry) => new Array(5).fill(entry)));
  equal(table.metrics.get('default'), new Array(5).fill(NaN));
  equal([table.stoppedStep, table.failureOf], [0, 1].map(() => new Array(5).fill(null)));
  // Each has its own lists: an event changes one model.
  table.attempts[0] = 2;
  equal([table.attempts[1], decodeColumns(document).attempts[0]], [1, 1]);
});

test('times count from the start of the experiment and of the model', () => {
  const columns = {model: [1, 2, 3], statuses: ['RUNNING'], status_of: 0};
  const table = decodeColumns({...columns, started: 1000, start: [0, 5, null], end: [7, null, 9], begun: [0, -3, null]});
  equal(table.start, [1000, 1005, null]);
  equal(table.end, [1007, null, 1009]);
  equal(table.begun, [1000, 1002, null]);
  // One that never ran, as far as its journal says.
  equal(decodeColumns({...columns, started: null, start: 5, end: 7, begun: null}).end, [12, 12, 12]);
});

test('decoding copies: the document stays as it was', () => {
  const document = sampleDocument();
  decodeColumns(document).model.push(6);
  equal(document.model.length, 5);
});

test('integers beyond 2^53 keep their digits, and all else is what it was', () => {
  const text = String.raw`{"a": [9007199254740991, 9007199254740992,-9007199254740993], "b": 0.12345678901234567,
      "c": [12345678901234567.0, 1e300, -2e-3], "d": "x\" 9007199254740993, \\", "9007199254740993": null}`;
  const read = readJson(text);
  equal(read, {...JSON.parse(text), a: [9007199254740991, '9007199254740992', '-9007199254740993']});
  equal([...read.a, 0.5, 'skip', '9007199254740991', '3'].map(isNumber), [true, true, true, true, false, false, false]);
  equal(readJson('{"a": [1, 0.12345678901234567]}'), {a: [1, 0.12345678901234567]});
  check(thrown(() => readJson('{"a": 9007199254740993')) instanceof SyntaxError, 'half a document');
  const costs =
      readJson('{"model": [1, 2], "statuses": ["RUNNING"], "status_of": 0, "flops": [9223372036854775807, 7]}');
  equal(decodeColumns(costs).flops, [2 ** 63, 7]);
});

test('curves are read, with steps and without', () => {
  const models = new Map([[7, [[0, 0.5], [2, NaN], [3, Infinity]]], [9, []], [11, [[1, -1]]]]);
  const curves = decodeCurves(curveBytes(models));
  equal(curves.of.get(7).steps, Uint32Array.of(0, 2, 3));
  equal(curves.of.get(7).values, Float32Array.of(0.5, NaN, Infinity));
  equal(curves.of.get(9).values.length, 0);
  equal(decodeCurves(curveBytes(models, true, 2 ** 40 + 3)).number, 2 ** 40 + 3);
  equal(decodeCurves(curveBytes(models, false)).of.get(7).steps, Uint32Array.of(0, 1, 2));
});

test('values that 32 bits cannot hold come in 64', () => {
  const plain = curveBytes(new Map([[7, [[0, 0.5], [1, Infinity]]], [9, [[0, 0], [1, 2]]]]));
  const bytes = new Uint8Array(plain.byteLength + 4 + 2 * 12);
  bytes.set(new Uint8Array(plain));
  const view = new DataView(bytes.buffer);
  view.setUint32(12, 3, true);
  [2, 1, 2].forEach((n, i) => view.setUint32(plain.byteLength + 4 * i, n, true));
  [1e308, -1e-300].forEach((value, i) => view.setFloat64(plain.byteLength + 12 + 8 * i, value, true));
  const {of} = decodeCurves(bytes.buffer);
  equal(of.get(7).values, Float64Array.of(0.5, 1e308));
  equal(of.get(9).values, Float64Array.of(-1e-300, 2));
  check(/have \d+ bytes/.test(thrown(() => decodeCurves(bytes.buffer.slice(0, -8))).message), 'a length');
  check(/have \d+ bytes/.test(thrown(() => decodeCurves(bytes.buffer.slice(0, plain.byteLength))).message), 'no length');
  equal([0.1, 1e308, -1e308, 1e-60, 0, NaN, Infinity].map(curveValue),
        [Math.fround(0.1), 1e308, -1e308, 1e-60, 0, NaN, Infinity]);
});

test('curves that are cut off, or none, are refused', () => {
  const bytes = curveBytes(new Map([[1, [[0, 1], [1, 2]]]]));
  check(/have \d+ bytes/.test(thrown(() => decodeCurves(bytes.slice(0, bytes.byteLength - 4))).message), 'a length');
  check(/no curves/.test(thrown(() => decodeCurves(new ArrayBuffer(8))).message), 'a magic number');
  const lying = bytes.slice(0);
  new DataView(lying).setUint32(28, 99, true);
  check(/add up/.test(thrown(() => decodeCurves(lying)).message), 'counts');
});

test('attempts are found by model and number', () => {
  const attempts = decodeAttempts({
    devices: ['a/cpu:0'],
    model: [1, 1],
    attempt: [1, 2],
    trial: [1, 5],
    device: [0, null],
    start: [10, null],
    end: [20, null],
    outcome: ['LOST', null]
  });
  equal(attempts.indexOf.get('1/2'), 1);
});

test('fronts are those of peeling, for one to three objectives', () => {
  let state = 7;
  const random = () => (state = state * 1103515245 + 12345 & 0x7fffffff) % 12;
  for (let size = 1; size <= 3; ++size) {
    const points = Array.from({length: 120}, () => Array.from({length: size}, random));
    const beats = (a, b) => a.every((v, k) => v >= b[k]) && a.some((v, k) => v > b[k]);
    const expected = points.map(() => -1);
    for (let front = 0; expected.includes(-1); ++front) {
      const left = points.map((_, i) => i).filter((i) => expected[i] === -1);
      for (const i of left)
        if (!left.some((j) => beats(points[j], points[i]))) expected[i] = front;
    }
    equal(findFronts(points), expected);
  }
});

test('fronts leave out what failed, breaks limits or has a NaN', () => {
  const table = sampleTable();
  table.violation[1] = 0.5;
  table.metrics.get('flops')[3] = NaN;
  updateFronts(table);
  equal(table.front, [0, null, null, null, null]);
});

test('violations are counted in units of the limit', () => {
  const values = {a: 150, b: -1};
  const of = (metric) => values[metric];
  equal(findViolation([{metric: 'a', max: 100, min: null}], of), 0.5);
  equal(findViolation([{metric: 'a', max: 200, min: null}, {metric: 'none', max: 1, min: null}], of), 0);
  equal(findViolation([{metric: 'b', max: null, min: 0}, {metric: 'a', max: 100, min: null}], of), 1.5);
});
