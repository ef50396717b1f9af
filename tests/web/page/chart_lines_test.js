import {allColumns} from '../../../src/web/page/columns.js';
import {CurveLines, movedDomain} from '../../../src/web/page/curve_lines.js';
import {ParallelCoordinates} from '../../../src/web/page/parallel_coordinates.js';

import {equal, test} from './harness.js';
import {sampleTable} from './sample_table.js';

/** Curves as they are once drawn: of models 1, 2 and 4. @param {string} metric @returns {any} */
function drawnCurves(metric) {
  const table = sampleTable();
  const of = (/** @type {number[]} */ values) => ({steps: values.map((_, i) => i), values});
  const series = [of([9, 1]), of([9, 3, 2]), of([NaN])];
  return Object.assign(Object.create(CurveLines.prototype), {
    view: {current: () => ({table}), metric: () => metric, byTime: () => false},
    data: {rows: [0, 1, 3], series, xs: series.map(({steps}) => steps)},
    x: (/** @type {number} */ v) => v,
    y: (/** @type {number} */ v) => -v,
    frame: {bottom: 0},
    madePoints: null
  });
}

/** @param {import('../../../src/web/page/chart.js').Point[]} points */
const modelsOf = (points) => points.map(({model}) => model);

test('curves are walked by the goal of the metric that is shown, or by models where it is no objective', () => {
  // The sample's goals are to maximize accuracy and to minimize flops.
  equal(modelsOf(drawnCurves('accuracy').points()), [2, 1, 4]);
  equal(modelsOf(drawnCurves('flops').points()), [1, 2, 4]);
  const odd = drawnCurves('train_loss');
  odd.data.rows.reverse();
  odd.data.series.reverse();
  equal(modelsOf(odd.points()), [1, 2, 4]);
});

test('along a curve one walks through the reports of its model', () => {
  const curves = drawnCurves('accuracy');
  const [last] = curves.points();
  equal([last.place, last.text()], [2, 'model 2, step 2\naccuracy 2']);
  const before = curves.along(last, -1);
  equal([before.x, before.y, before.text()], [1, -3, 'model 2, step 1\naccuracy 3']);
  equal(curves.along(last, 1).place, 2);
  equal(curves.along({...last, model: 5}, 0), null);
});

test('a table of curves has the numbers that were reported', () => {
  const curves = drawnCurves('accuracy');
  curves.data.series[0].values = Float32Array.of(0.9, 1e-30);
  curves.data.series[1].values = Float64Array.of(Math.fround(0.1), 1e300, -2);
  const values = [0.9, 1e-30, 0.1, 1e300, -2, NaN];
  equal(curves.table().rows.map((/** @type {number[]} */ row) => row[2]), values);
  curves.data.xs[0] = Float32Array.of(0.3, 12.345);
  curves.view.byTime = () => true;
  equal(curves.table().rows.slice(0, 2), [[1, 0, 0.3, 0.9], [1, 1, 12.345, 1e-30]]);
});

test('a part of an axis is moved and scaled by its length, in logarithms where it has them', () => {
  equal(movedDomain([0, 10], 1, 0.2, false), [2, 12]);
  equal(movedDomain([0, 10], 0.5, 0, false), [2.5, 7.5]);
  equal(movedDomain([1, 100], 1, 0.5, true).map((v) => Number(v.toPrecision(6))), [10, 1000]);
});

/** Parallel coordinates of an axis of choices and one of values. @param {string} metric @returns {any} */
function drawnCoordinates(metric) {
  const table = sampleTable();
  const axis = {at: [0.1, 0.2, 0.3, 0.4, 0.5], place: [0, 0, 0, 0, 0], kind: 'number', hasOff: false};
  const order = ['choice.kernel', 'metric.accuracy'];
  const columns = allColumns(table, {selected: new Set(), notes: new Map()});
  return Object.assign(Object.create(ParallelCoordinates.prototype), {
    view: {
      current: () => ({table}),
      metric: () => metric,
      order,
      axes: new Map(order.map((id) => [id, axis])),
      brushed: [0, 1, 2, 3]
    },
    store: {selection: () => ({columns})},
    chart: {width: 400, height: 400},
    madePoints: null
  });
}

test('parallel coordinates are walked from model to model, and along their axes', () => {
  const drawn = drawnCoordinates('accuracy');
  equal(modelsOf(drawn.points()), [4, 1, 2, 3]);
  equal(modelsOf(drawnCoordinates('flops').points()), [2, 1, 3, 4]);
  const [, first, second] = drawn.points();
  equal(first.text(), 'model 1\naccuracy 0.9\nkernel 3');
  equal(drawn.along(second, 0).text(), second.text());
  equal(drawn.along(second, 1).text(), 'model 2\naccuracy 0.8\nkernel not chosen');
  equal(drawn.along(drawn.along(second, 1), 1).x, drawn.xOf(1));
  equal(drawn.along(drawn.along(second, 1), -1).place, 0);
  equal(drawn.along({...first, model: 5}, 0), null);
  // An axis was hidden since.
  equal(drawn.along({...first, place: 7}, 0).place, 1);
});
