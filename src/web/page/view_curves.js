// What models reported while they trained: which models and which metric are shown. The drawing is in curve_lines.js.

import {curveMetrics} from './columns.js';
import {CurveLines} from './curve_lines.js';
import {CurvesLoad} from './curves_load.js';
import {button, checkbox, el, fill, refill, select, stateBox} from './dom.js';
import {oneLine} from './format.js';
import {isBetter, isCandidate} from './stats.js';

/**
 * The K best models of those that have the metric, by their final values.
 * @param {import('./decode.js').Table} table @param {number[]} rows @param {number} k
 */
export function topRows(table, rows, k) {
  const {metric, goal} = table.objectives[0];
  const values = table.metrics.get(metric);
  const known = rows.filter((row) => isCandidate(table, row) && Number.isFinite(values?.[row] ?? NaN));
  known.sort((a, b) => {
    const x = /** @type {number} */ (values?.[a]);
    const y = /** @type {number} */ (values?.[b]);
    return x === y ? a - b : isBetter(x, y, goal) ? -1 : 1;
  });
  return known.slice(0, k);
}

export class CurvesView {
  /** @param {import('./store.js').Store} store */
  constructor(store) {
    this.store = store;
    this.title = 'Curves';
    this.tools = el('div', {class: 'row card'});
    this.lines = new CurveLines(this);
    this.state = el('div', {});
    this.element = el('div', {class: 'view'}, this.tools, this.state, this.lines.chart.element);
    this.toolsKey = '';
    this.load = new CurvesLoad(store, this.state);
  }

  destroy() {
    this.lines.destroy();
  }

  current() {
    return /** @type {import('./store.js').Current} */ (this.store.current);
  }

  metric() {
    return this.store.param('m', curveMetrics(this.current().table)[0]);
  }

  byTime() {
    return this.store.param('x') === 'time';
  }

  /** @param {Set<string>} changes */
  update(changes) {
    if (changes.size === 1 && changes.has('selection')) {
      this.lines.chart.redrawTop();
      return;
    }
    this.drawTools();
    const metric = this.metric();
    const {current} = this.store;
    if (!current) return;
    if (!this.load.has(metric, this.byTime())) {
      this.lines.chart.element.hidden = true;
      return;
    }
    const curves = /** @type {import('./decode.js').Curves} */ (current.curves.get(metric));
    this.gather(curves, current.times.get(metric));
    const none = this.lines.data.series.length === 0;
    fill(
        this.state,
        none ? stateBox(
                   'empty',
                   curves.of.size === 0 ? `No model has reported ${oneLine(metric, 60)} yet` :
                                          'No model that the filter keeps has reported it',
                   'Evaluators report while they train; a model without reports has its final metrics only.') :
                                          null);
    this.lines.chart.element.hidden = none;
    this.lines.chart.redraw();
  }

  headIsBack() {
    this.load.headIsBack();
    this.update(new Set());
  }

  drawTools() {
    const {store} = this;
    // What an address names is offered, too.
    const metrics = [...new Set([...curveMetrics(this.current().table), this.metric()])];
    const key = JSON.stringify([metrics, store.route.params]);
    if (this.toolsKey === key) return;
    this.toolsKey = key;
    const show = store.param('show', 'all');
    refill(
        this.tools,
        select('Metric', metrics.map((m) => [m, oneLine(m, 40)]), this.metric(), (m) => store.setParams({m, z: null})),
        select(
            'Over', [['step', 'step'], ['time', 'time']], store.param('x', 'step'),
            (x) => store.setParams({x, z: null})),
        select(
            'Show',
            [
              ['all', 'all models'], ['5', 'the best 5'], ['10', 'the best 10'], ['25', 'the best 25'],
              ['100', 'the best 100'], ['selected', 'selected only'], ['bands', 'bands only']
            ],
            show, (value) => store.setParams({show: value === 'all' ? null : value})),
        checkbox('quantile bands', store.param('bands') === '1', (on) => store.setParams({bands: on ? '1' : null})),
        checkbox('log axis', store.param('log') === '1', (on) => store.setParams({log: on ? '1' : null, z: null})),
        el('span', {class: 'row'}, button('Zoom in', () => this.lines.zoomBy(0.5), {class: 'quiet'}),
           button('Zoom out', () => this.lines.zoomBy(2), {class: 'quiet'}),
           button(
               'Whole', () => store.setParams({z: null}), {class: 'quiet', title: 'show all of it (double click)'})));
  }

  /** @param {import('./decode.js').Curves} curves @param {import('./decode.js').Curves|undefined} times */
  gather(curves, times) {
    const {store} = this;
    const {table} = this.current();
    const show = store.param('show', 'all');
    let rows = store.selection().kept;
    const k = Number(show);
    if (k > 0) rows = topRows(table, rows, k);
    if (show === 'selected') rows = rows.filter((row) => store.selected.has(table.model[row]));
    /** @type {import('./curve_lines.js').CurveData} */
    const data = {rows: [], series: [], xs: []};
    for (const row of rows) {
      const series = curves.of.get(table.model[row]);
      if (!series || series.values.length === 0) continue;
      const xs = this.byTime() ? times?.of.get(table.model[row])?.values : series.steps;
      if (!xs) continue;
      data.rows.push(row);
      data.series.push(series);
      data.xs.push(xs);
    }
    this.lines.show(data);
  }
}
