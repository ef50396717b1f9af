import {brushedRows, brushFilter, choiceDepths, makeAxis, OFF_SHARE, placesIn, rangeOf, readBrushes, writeBrushes} from '../../../src/web/page/axes.js';
import {allColumns, findColumn} from '../../../src/web/page/columns.js';
import {decodeAttempts, updateFronts} from '../../../src/web/page/decode.js';
import {compileFilter, filterRows} from '../../../src/web/page/filter.js';
import {barsOf, bestSoFar, boxesByCandidate, busyShare, countStates, endAfter, findBest, groupFailures, paretoFront, quantile, quantileBands, quantileBandsOver, secondsOfModels, secondsRun, timeLeft} from '../../../src/web/page/stats.js';

import {check, equal, test} from './harness.js';
import {sampleTable} from './sample_table.js';

const all = [0, 1, 2, 3, 4];

test('the best so far goes by the time of the ends, and NaN, failures and broken limits do not count', () => {
  const table = sampleTable();
  const line = bestSoFar(table, all, 'accuracy', 'MAXIMIZE');
  equal(
      line.map((p) => [table.model[p.row], p.best, p.improved]),
      [[1, 0.9, true], [3, 0.9, false], [4, 0.95, true], [2, 0.95, false]]);
  table.violation[3] = 1;
  equal(bestSoFar(table, all, 'accuracy', 'MAXIMIZE').map((p) => p.best), [0.9, 0.9, 0.9, 0.9]);
  equal(bestSoFar(table, all, 'flops', 'MINIMIZE').map((p) => p.best), [100, 100, 100, 50]);
});

test('the best model is one that no other beats, by the first objective, and has finite values', () => {
  const table = sampleTable();
  table.metrics.set('accuracy', [0.9, 0.9, null, 0.95, Infinity]);
  table.state[4] = 'SUCCEEDED';
  updateFronts(table);
  // The fourth has infinite flops; the second needs less of them than the first.
  equal(findBest(table), 1);
  table.metrics.set('accuracy', [NaN, NaN, null, 0.95, Infinity]);
  updateFronts(table);
  equal(findBest(table), null);
});

test('quantiles interpolate, and bands leave NaN and infinity out', () => {
  equal(quantile([1, 2, 3, 4], 0.5), 2.5);
  equal(quantile([7], 0.9), 7);
  const bands = quantileBands(
      [{steps: [0, 1], values: [1, NaN]}, {steps: [0, 1], values: [3, 5]}, {steps: [0], values: [Infinity]}], [0.5]);
  equal(bands, [{step: 0, count: 2, values: [2]}, {step: 1, count: 1, values: [5]}]);
});

test('bands over time interpolate between the reports of each series, and no further', () => {
  const series = [{steps: [], values: [0, 4]}, {steps: [], values: [10, NaN, 10]}, {steps: [], values: [7]}];
  const bands = quantileBandsOver(series, [[0, 4], [2, 3, 4], [1]], [0, 0.5, 1], 5);
  equal(bands.map((b) => [b.step, b.count]), [[0, 1], [1, 2], [2, 2], [3, 2], [4, 2]]);
  equal(bands.map((b) => b.values[0]), [0, 1, 2, 3, 4]);
  equal(bands[1].values, [1, 4, 7]);
  equal(bands[3].values, [3, 6.5, 10]);
  equal(quantileBandsOver([], [], [0.5], 5), []);
  equal(quantileBandsOver([{steps: [], values: [3]}], [[2]], [0.5], 5), [{step: 2, count: 1, values: [3]}]);
  // A clock that is set back ends nothing.
  equal(quantileBandsOver([{steps: [], values: [1, 2, 3]}], [[0, -1, 1]], [0.5], 3).length, 2);
});

test('boxes by candidate have a place for those that did not choose', () => {
  const table = sampleTable();
  const boxes = boxesByCandidate(table.choices[1], table.metrics.get('accuracy'), all, String);
  equal(boxes.map((b) => [b.label, b.count, b.median]), [['3', 1, 0.9], ['5', 1, 0.95], ['not chosen', 1, 0.8]]);
  const several = boxesByCandidate(table.choices[2], table.metrics.get('accuracy'), all, String);
  equal(several.map((b) => b.count), [2, 1, 3]);
});

test('the front of two columns, by goals, with equal points', () => {
  const points = [{x: 1, y: 1}, {x: 2, y: 3}, {x: 3, y: 2}, {x: 2, y: 3}, {x: 4, y: 4}];
  equal(paretoFront(points, 'MINIMIZE', 'MAXIMIZE'), [true, true, false, true, true]);
  equal(paretoFront(points, 'MAXIMIZE', 'MAXIMIZE'), [false, false, false, false, true]);
  equal(paretoFront(points, 'MINIMIZE', 'MINIMIZE'), [true, false, false, false, false]);
  equal(paretoFront([], 'MINIMIZE', 'MINIMIZE'), []);
});

test('failures are grouped by reason and message', () => {
  const table = sampleTable();
  equal(
      groupFailures(table, all), [{reason: 'OUT_OF_MEMORY', count: 1, messages: [{message: 'too big', models: [3]}]}]);
  equal([...countStates(table)], [['SUCCEEDED', 3], ['FAILED', 1], ['RUNNING', 1]]);
});

const leftOf = (table, limits, ran, now) =>
    timeLeft(table, limits, ran, secondsOfModels(table, limits.maxModels, ran, now));

test('time left goes by the pace, the limit of time ends it earlier, and nobody guesses from nothing', () => {
  const table = sampleTable();
  equal(leftOf(table, {maxModels: 13, maxSeconds: null}, 5, 6000), 6);
  equal(leftOf(table, {maxModels: 14, maxSeconds: 6}, 5, 6000), 1);
  equal(leftOf(table, {maxModels: null, maxSeconds: null}, 5, 6000), null);
  table.status = 'DONE';
  equal(leftOf(table, {maxModels: 14, maxSeconds: null}, 5, 6000), null);
});

test('the end is a time as long as dates go that far', () => {
  equal(endAfter(1000, 2.5), 3500);
  equal(endAfter(1000, null), null);
  // 2^31 models of two hours each.
  equal(endAfter(Date.UTC(2026, 0), 2147483647 * 7200), null);
});

test('the time before a resume is no part of the time that an experiment ran, nor of its pace', () => {
  const day = 86400000;
  equal(secondsRun({show: {seconds: 7}, shownAt: day}, day + 2000), 9);
  const table = sampleTable();
  // The last model ended on the next day, one second after the resume.
  table.end[1] = 4500 + day;
  equal(leftOf(table, {maxModels: null, maxSeconds: 20}, 9, 10000 + day), 11);
  equal(leftOf(table, {maxModels: 6, maxSeconds: null}, 9, 10000 + day), 1);
});

test('infeasible models do not count towards the limit', () => {
  const table = sampleTable();
  equal(leftOf(table, {maxModels: 5, maxSeconds: null}, 5, 6000), 2 / 3);
  table.state[0] = 'INFEASIBLE';
  equal(leftOf(table, {maxModels: 5, maxSeconds: null}, 5, 6000), 1);
});

test('overlaps are busy once', () => {
  equal(busyShare([[0, 4], [2, 6], [8, 20]], 0, 10), 0.8);
  equal(busyShare([], 0, 0), 0);
});

test('merged trials are one bar', () => {
  const bars = barsOf(decodeAttempts({
    devices: ['d'],
    model: [1, 2, 3, 4],
    attempt: [1, 1, 1, 1],
    trial: [7, 7, 8, 9],
    device: [0, 0, 0, null],
    start: [10, 10, 30, null],
    end: [20, 25, null, null],
    outcome: ['SUCCEEDED', 'UNMERGED', null, null]
  }));
  equal(
      bars.map((b) => [b.trial, b.models, b.start, b.end, b.outcome]),
      [[7, [1, 2], 10, 25, 'MIXED'], [8, [3], 30, null, null]]);
});

const table = sampleTable();
table.choices[1].activeIf = [[{label: 'op', chosen: 0}]];
const columns = allColumns(table, {selected: new Set(), notes: new Map()});
const axis = (id) => makeAxis(table, findColumn(columns, id), 0);

test('an inactive choice has a place of its own, below all candidates', () => {
  const kernel = axis('choice.kernel');
  check(kernel.hasOff, 'a place for not chosen');
  equal(kernel.place, Int32Array.of(0, -1, 1, 1, -1));
  check(kernel.at[1] < OFF_SHARE && kernel.at[0] > OFF_SHARE && kernel.at[3] > kernel.at[0], 'order');
  equal(placesIn(kernel, [0, OFF_SHARE]), [-1]);
  equal(placesIn(kernel, [0, 1]), [-1, 0, 1]);
  for (const [one, other, places] of [[-1, -1, [-1]], [0, 0, [0]], [1, 1, [1]], [1, -1, [-1, 0, 1]], [0, 1, [0, 1]]])
    equal(placesIn(kernel, rangeOf(kernel, one, other)), places);
});

test('one of very many candidates can be brushed, and the address keeps it', () => {
  for (const count of [600, 1200, 20000]) {
    const many = /** @type {any} */ ({hasOff: true, places: Array.from({length: count}, String)});
    for (const place of [-1, 0, 5, count - 1]) {
      const brushes = readBrushes(writeBrushes(new Map([['choice.many', rangeOf(many, place, place)]])));
      equal(placesIn(many, brushes.get('choice.many') ?? [0, 0]), [place]);
    }
  }
});

test('several candidates together are one place', () => {
  equal(axis('choice.inputs').places, ['[a, b]', '[a, c]', '[b, c]']);
});

test('numbers that are missing, NaN or infinite share a place below the others', () => {
  const flops = axis('metric.flops');
  equal(flops.domain, [50, 100]);
  equal([...flops.place], [0, 0, -1, -1, -1]);
});

test('brushes as a filter keep the same models', () => {
  const axes = new Map(
      ['choice.kernel', 'choice.op', 'metric.accuracy', 'metric.flops', 'choice.inputs'].map((id) => [id, axis(id)]));
  for (const brushes
           of [[['choice.kernel', [0, 0.09]]],
               [['choice.kernel', [0, 0.6]]],
               [['choice.op', [0.1, 0.6]], ['metric.accuracy', [0.05, 0.7]]],
               [['metric.flops', [0, 0.05]]],
               [['metric.flops', [0, 0.6]]],
               [['metric.flops', [0, 1]]],
               [['metric.flops', [0.1, 1]]],
               [['metric.flops', [0.1, 0.6]]],
               [['metric.flops', [0.01, 0.03]]],
               [['metric.flops', [0.06, 0.09]]],
               [['choice.inputs', [0.1, 0.6]]],
               [['choice.inputs', [0.11, 0.12]]],
  ]) {
    const map = new Map(brushes);
    const filter = compileFilter(brushFilter(axes, map), columns);
    equal(filterRows(5, filter), brushedRows(axes, map, all));
    equal([...readBrushes(writeBrushes(map))], brushes);
  }
});

test('a filter keeps every model that is within the brush, however many digits its value has', () => {
  const accuracies = [0.9137342, 0.9137338, 0.7123456, 0.1, 0.3333333333];
  for (const [scale, offset] of [[1, 0], [1e-9, 0], [1e9, 0], [1e-3, 12345], [-1, 0.25]]) {
    const values = accuracies.map((value) => scale * value + offset);
    const odd = {...table, metrics: new Map([['accuracy', [...values.slice(0, 4), Infinity]]])};
    const all = allColumns(odd, {selected: new Set(), notes: new Map()});
    const axes = new Map([['metric.accuracy', makeAxis(odd, findColumn(all, 'metric.accuracy'), 0)]]);
    for (const range of [[0.95, 1], [0.1, 1], [0.1, 0.9], [0.05, 0.95], [0.3, 0.999999], [0.999999, 1]]) {
      const map = new Map([['metric.accuracy', range]]);
      const filter = brushFilter(axes, map);
      equal([filter, filterRows(5, compileFilter(filter, all))], [filter, brushedRows(axes, map, [0, 1, 2, 3, 4])]);
    }
  }
});

test('an end of an axis bounds nothing: a better model to come passes the filter', () => {
  const accuracy = axis('metric.accuracy');
  const filterOf = (range) => brushFilter(new Map([['accuracy', accuracy]]), new Map([['accuracy', range]]));
  equal(filterOf([0.55, 1]), 'accuracy is finite and accuracy >= 0.875');
  equal(filterOf([0.1, 0.55]), 'accuracy is finite and accuracy <= 0.875');
  equal(filterOf([0.55, 0.775]), 'accuracy >= 0.875 and accuracy <= 0.9125');
  equal(filterOf([0.1, 1]), 'accuracy is finite');
});

test('the depth of a choice is that of its conditions', () => {
  const choices = [
    {label: 'a', activeIf: []}, {label: 'b', activeIf: [[{label: 'a', chosen: 0}]]},
    {label: 'c', activeIf: [[{label: 'b', chosen: 1}], [{label: 'a', chosen: 1}]]}
  ];
  equal([...choiceDepths(choices)], [['a', 0], ['b', 1], ['c', 2]]);
  // Whatever stands first.
  const depths = choiceDepths(choices.reverse());
  equal(['a', 'b', 'c'].map((label) => depths.get(label)), [0, 1, 2]);
  // A damaged document does not hang the page.
  equal(choiceDepths([{label: 'a', activeIf: [[{label: 'a', chosen: 0}]]}]).size, 1);
});
