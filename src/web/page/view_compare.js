// Two to eight models side by side: samples, metrics, curves, architectures.

import {ApiError, isAbsent} from './api.js';
import {d3, drawAxes, drawDot, drawName, frameOf, paddedDomain, theme} from './canvas.js';
import {Chart} from './chart.js';
import {chosenText, curveMetrics, measures} from './columns.js';
import {CurvesLoad} from './curves_load.js';
import {differenceRows, diffGraphs, diffSamples} from './diff.js';
import {
  button,
  checkbox,
  el,
  fill,
  plainTable,
  pngOf,
  refill,
  saveButton,
  saveButtons,
  select,
  stateBox,
  statusBadge,
  tableRegion
} from './dom.js';
import {colorOf} from './filter_bar.js';
import {asReported, counted, formatCount, formatNumber, oneLine} from './format.js';
import {GraphDrawing} from './graph_drawing.js';
import {keptOfOthers, SIDES} from './graph_state.js';
import {allNodes} from './layout.js';
import {ModelGraphs} from './model_graphs.js';
import {OddMarks, STRIP} from './odd_marks.js';
import {otherView, writeRoute} from './route.js';

const MOST = 8;
/** Nodes whose differences are listed. */
const LISTED = 300;

export class CompareView {
  /** @param {import('./store.js').Store} store */
  constructor(store) {
    this.store = store;
    this.title = 'Compare';
    this.state = el('div', {});
    this.samples = el('section', {class: 'card view', 'aria-label': 'Samples'});
    this.tools = el('span', {class: 'row'});
    this.odd = new OddMarks();
    /** @type {import('./chart.js').Point[]} */
    this.points = [];
    this.chart = new Chart({
      title: 'Curves together',
      height: 340,
      draw: (c, w, h) => this.draw(c, w, h),
      sentence: () => this.sentence(),
      table: () => this.table(),
      points: () => this.points
    });
    this.chart.tools.append(this.tools);
    /** Of the curves. */
    this.trouble = el('div', {});
    this.load = new CurvesLoad(store, this.trouble);
    this.graphs = el('section', {class: 'card view', 'aria-label': 'Architectures'});
    this.element = el('div', {class: 'view'}, this.state, this.samples, this.trouble, this.chart.element, this.graphs);
    this.made = new ModelGraphs(store);
    /** @type {GraphDrawing[]} */
    this.drawings = [];
    /** @type {number[]|null} the models whose graphs stand at the left and at the right; null: none yet */
    this.pair = null;
    this.key = '';
    this.toolsKey = '';
  }

  destroy() {
    this.chart.destroy();
    this.made.destroy();
    for (const drawing of this.drawings) drawing.destroy();
  }

  models() {
    const {table} = /** @type {import('./store.js').Current} */ (this.store.current);
    return [...this.store.selected].filter((model) => table.rowOf.has(model)).slice(0, MOST);
  }

  metric() {
    const {current} = this.store;
    return this.store.param('m', current ? curveMetrics(current.table)[0] : 'default');
  }

  /** @param {Set<string>} changes */
  update(changes) {
    // What a new address keeps is about its own models.
    if (changes.has('route')) this.pair = null;
    const models = this.models();
    const few = models.length < 2;
    this.samples.hidden = this.trouble.hidden = this.chart.element.hidden = this.graphs.hidden = few;
    fill(
        this.state,
        few ? stateBox(
                  'empty', 'Select two to eight models to compare',
                  'In the table (Space, or a click with Ctrl) or by a click in any chart.') :
            this.store.selected.size > MOST ?
              el('p', {class: 'muted'}, `The first ${MOST} of ${this.store.selected.size} selected models.`) :
              null);
    if (few) {
      if (this.pair) this.setPair([]);
      // The same graphs are drawn anew when they come back, as the address has them then.
      this.key = '';
      return;
    }
    this.made.follow(changes);
    this.drawSamples(models);
    const {current} = this.store;
    // What an address names is offered, too.
    const metrics = [...new Set([...(current ? curveMetrics(current.table) : []), this.metric()])];
    const toolsKey = JSON.stringify([metrics, this.store.route.params]);
    if (toolsKey !== this.toolsKey) {
      this.toolsKey = toolsKey;
      refill(
          this.tools,
          select('Metric', metrics.map((m) => [m, oneLine(m, 40)]), this.metric(), (m) => this.store.setParams({m})));
    }
    if (this.load.has(this.metric(), false)) fill(this.trouble);
    this.chart.redraw();
    this.drawGraphs(models);
  }

  /** @param {number[]} models */
  drawSamples(models) {
    const {table} = /** @type {import('./store.js').Current} */ (this.store.current);
    const rows = models.map((model) => /** @type {number} */ (table.rowOf.get(model)));
    const onlyDifferences = this.store.param('diff') === '1';
    const sample = diffSamples(table, rows, chosenText).filter((line) => line.differs || !onlyDifferences);
    const cell = (/** @type {string|null} */ value, /** @type {boolean} */ differs) =>
        el('td', {class: `${differs ? 'differs' : ''}${value === null ? ' none' : ''}`}, value ?? 'not chosen');
    const measured = measures(this.store.selection().columns, table);
    const measure = (/** @type {import('./columns.js').Column} */ column, /** @type {number} */ row) =>
        column.type === 'duration' ? column.text(row) : formatNumber(column.value(row), 6);
    const plain = (/** @type {string} */ name, /** @type {(row: number) => string|Node} */ text) =>
        el('tr', {}, el('th', {scope: 'row'}, name), ...rows.map((row) => el('td', {}, text(row))));
    const differing = diffSamples(table, rows, chosenText).filter((line) => line.differs).length;
    refill(
        this.samples,
        el('div', {class: 'row spread'},
           el('h2', {}, `${counted(differing, 'choice')} of ${table.choices.length} differ`),
           el('div', {class: 'row'},
              checkbox('only differences', onlyDifferences, (on) => this.store.setParams({diff: on ? '1' : null})),
              ...this.saveButtons('Samples', () => ({
                                                header: ['what', ...models.map((model) => `model ${model}`)],
                                                rows: [
                                                  ['status', ...rows.map((row) => table.state[row])],
                                                  ...measured.map((c) => [c.title, ...rows.map((row) => c.raw(row))]),
                                                  ...sample.map((line) => [line.label, ...line.values])
                                                ]
                                              })))),
        el('div', {class: 'scroll'},
           el('table', {}, el('caption', {class: 'hidden-text'}, 'Models side by side; ≠ marks what differs'),
              el('thead', {}, el('tr', {}, el('th', {scope: 'col'}, 'What'), ...models.map((model) => {
                   const dot = el('span', {class: 'dot', 'aria-hidden': 'true'});
                   dot.style.background = colorOf(this.store, model);
                   return el(
                       'th', {scope: 'col'},
                       el('span', {class: 'chip'}, dot,
                          el('a', {href: writeRoute(otherView(this.store.route, 'model', model))}, `model ${model}`),
                          button('×', () => this.store.toggle(model), {'aria-label': `Leave out model ${model}`})));
                 }))),
              el('tbody', {}, plain('status', (row) => statusBadge(table.state[row])),
                 ...measured.map((c) => plain(oneLine(c.title, 60), (row) => measure(c, row))),
                 ...sample.map(
                     (line) => el(
                         'tr', {class: line.differs ? '' : 'same'}, el('th', {scope: 'row'}, oneLine(line.label, 80)),
                         ...line.values.map((value) => cell(value, line.differs))))))));
  }

  /** @param {string} what  a part of the view @param {() => {header: string[], rows: unknown[][]}} content */
  saveButtons(what, content) {
    return saveButtons(what, () => `${what.toLowerCase()}_of_models_${this.models().join('_')}`, content);
  }

  series() {
    const curves = this.store.current?.curves.get(this.metric());
    return this.models().flatMap((model) => {
      const series = curves?.of.get(model);
      return series && series.values.length > 0 ? [{model, series}] : [];
    });
  }

  sentence() {
    const list = this.series();
    if (list.length === 0)
      return this.store.current?.curves.has(this.metric()) ? 'None of them has reported it.' : 'Loading …';
    return `${
        list.map(
                ({model, series}) =>
                    `model ${model} ends at ${formatNumber(series.values[series.values.length - 1])} after ${
                        counted(series.values.length, 'report')}`)
            .join('; ')}.${this.odd.texts().map((text) => ` ${text}.`).join('')}`;
  }

  table() {
    return {
      header: ['model', 'step', this.metric()],
      rows: this.series().flatMap(
          ({model, series}) => Array.from(series.values, (value, i) => [model, series.steps[i], asReported(value)]))
    };
  }

  /** @param {CanvasRenderingContext2D} ctx @param {number} width @param {number} height */
  draw(ctx, width, height) {
    const list = this.series();
    const frame = frameOf(width, height);
    frame.bottom -= STRIP;
    const finite = list.flatMap(({series}) => Array.from(series.values).filter(Number.isFinite));
    const steps = list.flatMap(({series}) => Array.from(series.steps));
    const x = d3.scaleLinear()
                  .domain(steps.length > 0 ? [d3.min(steps), Math.max(d3.min(steps) + 1, d3.max(steps))] : [0, 1])
                  .range([frame.left, frame.right]);
    const y = d3.scaleLinear().domain(paddedDomain(finite)).range([frame.bottom, frame.top]);
    drawAxes(ctx, frame, {
      x,
      y,
      xTitle: 'step',
      yTitle: this.metric(),
      xFormat: (v) => Number.isInteger(v) ? String(v) : '',
      below: STRIP
    });
    this.points = [];
    this.odd = new OddMarks();
    list.forEach(({model, series}, k) => {
      ctx.strokeStyle = ctx.fillStyle = colorOf(this.store, model);
      ctx.lineWidth = 2;
      ctx.setLineDash([[], [6, 3], [2, 3], [9, 3, 2, 3]][k % 4]);
      ctx.beginPath();
      let pen = false;
      let last = null;
      for (let i = 0; i < series.values.length; ++i) {
        if (!Number.isFinite(series.values[i])) {
          this.odd.add(x(series.steps[i]), series.values[i]);
          pen = false;
          continue;
        }
        last = [x(series.steps[i]), y(series.values[i])];
        if (pen) {
          ctx.lineTo(last[0], last[1]);
        } else {
          ctx.moveTo(last[0], last[1]);
        }
        pen = true;
        this.points.push({
          x: last[0],
          y: last[1],
          model,
          text: `model ${model}, step ${series.steps[i]}\n${formatNumber(series.values[i], 6)}`
        });
      }
      ctx.stroke();
      ctx.setLineDash([]);
      // A line of one point is not seen.
      if (last && series.values.length === 1) drawDot(ctx, last[0], last[1], 3);
      if (last)
        drawName(ctx, String(model), colorOf(this.store, model), Math.min(frame.right - 4, last[0]), last[1] - 4);
    });
    this.odd.draw(ctx, frame, theme().mark);
  }

  /** @param {number[]} models */
  drawGraphs(models) {
    const [left, right] = this.graphPair(models);
    this.setPair([left, right]);
    const a = this.made.get(left);
    const b = this.made.get(right);
    const key = JSON.stringify([left, right, models, a === null, b === null]);
    if (key === this.key) return;
    this.key = key;
    for (const drawing of this.drawings) drawing.destroy();
    this.drawings = [];
    const options = models.map((m) => /** @type {[string, string]} */ ([String(m), `model ${m}`]));
    const head =
        el('div', {class: 'row'}, el('h2', {}, 'Architectures'),
           select('left', options, String(left), (gl) => this.store.setParams({gl})),
           select('right', options, String(right), (gr) => this.store.setParams({gr})));
    const failed = [a, b].find((made) => made instanceof ApiError);
    if (failed instanceof ApiError) {
      fill(
          this.graphs, head,
          stateBox(
              isAbsent(failed) ? 'empty' : 'error', 'There are no graphs to compare',
              `${failed.message}. Their samples are compared above.`));
      return;
    }
    if (!a || !b) {
      fill(this.graphs, head, stateBox('loading', 'The graphs are being made …'));
      return;
    }
    const {graph: leftGraph} = /** @type {import('./model_graphs.js').ModelGraph} */ (a);
    const {graph: rightGraph} = /** @type {import('./model_graphs.js').ModelGraph} */ (b);
    const pairs = diffGraphs(leftGraph, rightGraph);
    const count = (/** @type {string} */ kind) => pairs.filter((p) => p.kind === kind).length;
    const differing = pairs.filter((p) => p.kind !== 'same');
    fill(
        this.graphs, head,
        el('div', {class: 'row'},
           ...this.saveButtons(
               'Differences',
               () => ({
                 header: ['node', 'difference', `model ${left}`, `model ${right}`],
                 rows: differenceRows(pairs)
               }))),
        el('p', {},
           `${counted(count('same'), 'node')} the same, ${formatNumber(count('changed'))} changed, ${
               formatNumber(
                   count('left'))} only in model ${left}, ${formatNumber(count('right'))} only in model ${right}.`),
        differing.length > 0 ? differencesTable(differing.slice(0, LISTED), left, right) : null,
        differing.length > LISTED ?
            el('p', {class: 'muted'}, `${counted(differing.length - LISTED, 'more node')} in the CSV.`) :
            null,
        el('div', {class: 'cards'}, this.pane(leftGraph, 'left', left, pairs),
           this.pane(rightGraph, 'right', right, pairs)));
  }

  /**
   * One of the two architectures, with its differences marked.
   * @param {import('./layout.js').Graph} graph @param {'left'|'right'} side @param {number} model
   * @param {import('./diff.js').NodePair[]} pairs
   */
  pane(graph, side, model, pairs) {
    const {open: o, zoom: z} = SIDES[side === 'left' ? 0 : 1];
    const drawing = new GraphDrawing(graph, {
      label: `Architecture of model ${model}`,
      kinds: new Map(pairs.flatMap((pair) => {
        const node = pair[side];
        return node ? [/** @type {[string, string]} */ ([node.path, pair.kind])] : [];
      })),
      kept: {open: this.store.param(o), zoom: this.store.param(z)},
      moved: ({open, zoom}) => this.store.setParams({[o]: open, [z]: zoom})
    });
    drawing.makeReachable();
    this.drawings.push(drawing);
    return el(
        'div', {class: 'view'},
        el('div', {class: 'row spread'},
           el('h3', {},
              `model ${model}: ${counted(allNodes(graph.nodes).length, 'node')}, ${
                  formatCount(graph.parameters)} parameters, ${formatCount(graph.flops)} FLOPs`),
           saveButton(
               `Architecture of model ${model}`, 'PNG', () => `model_${model}_compared`,
               () => pngOf(drawing.toCanvas()))),
        drawing.element);
  }

  /**
   * A zoom and open cells are those of one model: where another one comes to its side, the address forgets them.
   * @param {number[]} pair  left and right; empty: no graphs are shown
   */
  setPair(pair) {
    const stale = keptOfOthers(this.pair, pair);
    this.pair = pair;
    if (Object.keys(stale).length > 0) this.store.setParams(stale);
  }

  /** @param {number[]} models */
  graphPair(models) {
    const wanted = (/** @type {string} */ name, /** @type {number} */ fallback) => {
      const model = Number(this.store.param(name));
      return models.includes(model) ? model : fallback;
    };
    return [wanted('gl', models[0]), wanted('gr', models[1])];
  }

  headIsBack() {
    this.made.headIsBack();
    this.load.headIsBack();
    this.update(new Set());
  }
}

/**
 * Each changed attribute of a node, and each node of one side only, on a line.
 * @param {import('./diff.js').NodePair[]} pairs @param {number} left @param {number} right  the models
 */
function differencesTable(pairs, left, right) {
  const mono = (/** @type {string|undefined} */ text, /** @type {number} */ limit) =>
      el('span', {class: 'mono'}, oneLine(text ?? '', limit));
  const rows = pairs.flatMap(({kind, left: a, right: b, changes}) => {
    if (kind !== 'changed') {
      return [[
        `${kind === 'left' ? '−' : '+'} ${oneLine((a ?? b)?.path, 120)}`,
        `only in model ${kind === 'left' ? left : right}`, mono(a?.type, 60), mono(b?.type, 60)
      ]];
    }
    const renamed = b?.path === a?.path ? '' : ` / ${oneLine(b?.path, 120)}`;
    return changes.map((change) => [
      `≠ ${oneLine(a?.path, 120)}${renamed}`, oneLine(change.name, 60), mono(change.left, 120), mono(change.right, 120)
    ]);
  });
  const header = ['Node', 'Difference', `model ${left}`, `model ${right}`];
  return tableRegion('Differences', {}, plainTable('Differences between the graphs', header, rows));
}
