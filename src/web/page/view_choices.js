// Choices and what they lead to: which axes and models are shown, and the brushes. The drawing is in
// parallel_coordinates.js, importance and boxes are in choice_importance.js.

import {
  brushedRows,
  brushFilter,
  brushText,
  choiceDepths,
  makeAxis,
  OFF_RANGE,
  OFF_SHARE,
  placesIn,
  rangeOf,
  readBrushes,
  writeBrushes
} from './axes.js';
import {ChoiceImportance} from './choice_importance.js';
import {findColumn, measures} from './columns.js';
import {actionButton, announce, button, checkbox, el, fill, refill, select, stateBox} from './dom.js';
import {counted, formatNumber, oneLine} from './format.js';
import {menu} from './menu.js';
import {ParallelCoordinates} from './parallel_coordinates.js';
import {joinList, splitList} from './sort.js';
import {hasEnded} from './stats.js';

export class ChoicesView {
  /** @param {import('./store.js').Store} store */
  constructor(store) {
    this.store = store;
    this.title = 'Choices';
    /** @type {Map<string, import('./axes.js').Axis>} */
    this.axes = new Map();
    this.axesKey = '';
    /** @type {string[]} */
    this.order = [];
    /** @type {number[]} */
    this.rows = [];
    /** @type {number[]} */
    this.brushed = [];
    this.tools = el('div', {class: 'row card'});
    this.axesBar = el('div', {class: 'axes-bar', role: 'group', 'aria-label': 'Axes: order, range, visibility'});
    this.coordinates = new ParallelCoordinates(this);
    this.importance = new ChoiceImportance(this);
    this.state = el('div', {});
    this.element =
        el('div', {class: 'view'}, this.tools, this.state, this.axesBar, this.coordinates.chart.element,
           el('div', {class: 'cards'}, ...this.importance.elements));
    this.toolsKey = '';
    this.axesBarKey = '';
  }

  headIsBack() {
    this.importance.headIsBack();
  }

  destroy() {
    this.coordinates.destroy();
    this.importance.destroy();
  }

  current() {
    return /** @type {import('./store.js').Current} */ (this.store.current);
  }

  /** @param {Set<string>} changes */
  update(changes) {
    if (changes.size === 1 && changes.has('selection')) {
      this.coordinates.chart.redrawTop();
      return;
    }
    const {table} = this.current();
    const none = table.choices.length === 0 || table.model.length === 0;
    fill(
        this.state,
        none ? stateBox(
                   'empty',
                   table.choices.length === 0 ? 'The space is not known yet, or has no choices' : 'No models yet') :
               null);
    for (const one of [this.coordinates.chart.element, ...this.importance.elements, this.axesBar, this.tools]) {
      one.hidden = none;
    }
    if (none) return;
    this.makeAxes();
    this.drawTools();
    this.coordinates.chart.redraw();
    this.importance.update(changes);
  }

  metrics() {
    return [...this.current().table.metrics.keys()];
  }

  /** The metric that colours, boxes and importance are about. */
  metric() {
    const wanted = this.store.param('m', this.current().table.objectives[0].metric);
    return this.metrics().includes(wanted) ? wanted : this.metrics()[0] ?? 'default';
  }

  makeAxes() {
    const {table} = this.current();
    const {columns, kept} = this.store.selection();
    const ids = splitList(this.store.param('axes'));
    const objectives = table.objectives.map((o) => `metric.${o.metric}`).filter((id) => findColumn(columns, id));
    const standard = [...table.choices.slice(0, 12).map((c) => `choice.${c.label}`), ...objectives];
    this.order = (ids.length > 0 ? ids : standard).filter((id) => findColumn(columns, id));
    const key = JSON.stringify([this.order, table.revision, this.current().id]);
    if (key !== this.axesKey) {
      this.axesKey = key;
      const depths = choiceDepths(table.choices);
      this.axes = new Map(this.order.map((id) => {
        const column = /** @type {import('./columns.js').Column} */ (findColumn(columns, id));
        return [
          id,
          makeAxis(table, column, column.choice !== undefined ? depths.get(table.choices[column.choice].label) ?? 0 : 0)
        ];
      }));
    }
    this.rows = this.store.param('all') === '1' ? kept : kept.filter((row) => hasEnded(table.state[row]));
    this.brushed = brushedRows(this.axes, this.brushes(), this.rows);
  }

  brushes() {
    return readBrushes(splitList(this.store.param('brush')));
  }

  /** @param {Map<string, import('./axes.js').Range>} brushes */
  setBrushes(brushes) {
    this.store.setParams({brush: joinList(writeBrushes(brushes))});
  }

  drawTools() {
    const {store} = this;
    const {columns} = store.selection();
    this.drawAxesBar();
    const key = JSON.stringify([this.metrics(), store.route.params, this.order, this.brushed.length]);
    if (key === this.toolsKey) return;
    this.toolsKey = key;
    const brushes = this.brushes();
    const measured = new Set(measures(columns, this.current().table));
    const all = columns.filter((c) => c.group === 'choice' || c.id === 'steps' || measured.has(c));
    const models = () => this.brushed.map((row) => this.current().table.model[row]);
    refill(
        this.tools,
        select(
            'Colour and boxes', this.metrics().map((m) => [m, oneLine(m, 40)]), this.metric(),
            (m) => store.setParams({m})),
        checkbox('with unfinished models', store.param('all') === '1', (on) => store.setParams({all: on ? '1' : null})),
        menu(
            'Axes',
            el('div', {}, button('As at first', () => store.setParams({axes: null})),
               ...all.map((c) => checkbox(oneLine(c.title, 60), this.order.includes(c.id), (on) => store.setParams({
                            axes: joinList(on ? [...this.order, c.id] : this.order.filter((id) => id !== c.id))
                          })))),
            'columns left'),
        el('span', {class: 'muted', role: 'status'},
           brushes.size > 0 ?
               `${formatNumber(this.brushed.length)} of ${counted(this.rows.length, 'model')} within the brushes` :
               ''),
        brushes.size > 0 ? button('Select them', () => store.select(models())) : null,
        brushes.size > 0 ? button(
                               'Make it the filter',
                               () => {
                                 const filter = store.param('f');
                                 const mine = brushFilter(this.axes, brushes);
                                 store.setParams({f: filter ? `(${filter}) and ${mine}` : mine, brush: null});
                               }) :
                           null,
        brushes.size > 0 ? button('Clear brushes', () => this.setBrushes(new Map()), {class: 'quiet'}) : null);
  }

  /** Made anew only where it changes: somebody may be typing a range while models end. */
  drawAxesBar() {
    const brushes = this.brushes();
    const axes = this.order.map((id) => {
      const {title, depth, hasOff, places, domain} = /** @type {any} */ (this.axes.get(id));
      // Models that end lengthen an axis of numbers, of which only what a brush says is shown.
      return [id, title, depth, hasOff, places, brushes.has(id) && domain];
    });
    const key = JSON.stringify([axes, this.store.param('brush')]);
    if (key === this.axesBarKey) return;
    this.axesBarKey = key;
    refill(this.axesBar, ...this.order.map((id, i) => this.axisMenu(id, i)));
  }

  /**
   * What the mouse does by dragging, for the keyboard.
   * @param {string} id @param {number} i
   */
  axisMenu(id, i) {
    const axis = /** @type {import('./axes.js').Axis} */ (this.axes.get(id));
    const {store, order} = this;
    const move = (/** @type {number} */ by) => {
      const next = order.slice();
      next.splice(i, 1);
      next.splice(i + by, 0, id);
      store.setParams({axes: joinList(next)});
      announce(`${oneLine(axis.title, 60)} is axis ${i + by + 1} of ${order.length}`);
    };
    const brush = (/** @type {import('./axes.js').Range|null} */ range) => {
      const brushes = this.brushes();
      if (range) {
        brushes.set(id, range);
      } else {
        brushes.delete(id);
      }
      this.setBrushes(brushes);
    };
    const low = axis.hasOff ? OFF_SHARE : 0;
    const on = this.brushes().get(id);
    let range;
    if (axis.kind === 'choice') {
      const options = /** @type {[string, string][]} */ ([
        ['', 'any'], ...axis.hasOff ? [['-1', 'not chosen']] : [],
        ...axis.places.slice(0, 200).map((p, k) => [String(k), oneLine(p, 40)])
      ]);
      const covered = on ? placesIn(axis, on).map(String) : [];
      const [first, last] = [covered[0] ?? '', covered[covered.length - 1] ?? ''];
      // The end that is set takes the other one along where it passes it.
      const cover = (/** @type {string} */ set, /** @type {string} */ other, /** @type {number} */ side) => {
        const end = other !== '' && side * (Number(other) - Number(set)) > 0 ? other : set;
        brush(set === '' ? null : rangeOf(axis, Number(set), Number(end)));
      };
      range =
          el('span', {class: 'row'}, select('From', options, first, (value) => cover(value, last, 1)),
             select('to', options, last, (value) => cover(value, first, -1)));
    } else {
      const from = el('input', {type: 'number', step: 'any', 'aria-label': 'from'});
      const to = el('input', {type: 'number', step: 'any', 'aria-label': 'to'});
      const share = (/** @type {number} */ v) => {
        // As it is by now.
        const [least, most] = /** @type {import('./axes.js').Axis} */ (this.axes.get(id)).domain;
        return Math.max(0, Math.min(1, low + (1 - low) * (v - least) / (most - least || 1)));
      };
      const apply = () => {
        // Both fields are empty again once one of them is taken: the other end is where the brush has it.
        let [a, b] = this.brushes().get(id) ?? [low, 1];
        if (from.value !== '') {
          a = share(Number(from.value));
          if (b <= a) b = 1;
        }
        if (to.value !== '') {
          b = share(Number(to.value));
          if (a >= b && from.value === '') a = low;
        }
        brush(a < b ? [a, b] : null);
      };
      from.addEventListener('change', apply);
      to.addEventListener('change', apply);
      range =
          el('span', {class: 'row'}, from, 'to', to,
             axis.hasOff ? button('without a value', () => brush(OFF_RANGE)) : null);
    }
    const nested = '› '.repeat(Math.min(axis.depth, 4));
    return menu(
        `${nested}${oneLine(axis.title, 28)}${
            on ? ` = ${brushText(axis, on, (v) => formatNumber(v, 3))}`.slice(0, 40) : ''}`,
        el('div', {class: 'view'},
           el('span', {class: 'row'},
              actionButton('◀ left', () => move(-1), i === 0 ? 'it is the first' : '', {'data-key': 'left'}),
              actionButton(
                  'right ▶', () => move(1), i === order.length - 1 ? 'it is the last' : '', {'data-key': 'right'}),
              button('Hide', () => store.setParams({axes: joinList(order.filter((other) => other !== id))}))),
           range, on ? button('Clear its brush', () => brush(null)) : null),
        'axis-menu left', {class: on ? 'chip-on' : 'quiet', 'data-key': id});
  }
}
