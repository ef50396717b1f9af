// Choices and what they lead to: parallel coordinates, importance, a box for each candidate.

import {experimentPath} from './api.js';
import {brushedRows, brushFilter, brushText, choiceDepths, makeAxis, OFF_SHARE, readBrushes, writeBrushes} from './axes.js';
import {Chart, d3, drawAxes, FONT, frameOf, paddedDomain, theme, themeName} from './chart.js';
import {findColumn} from './columns.js';
import {announce, button, checkbox, el, fill, refill, select, stateBox} from './dom.js';
import {colorOf} from './filter_bar.js';
import {counted, formatCount, formatNumber, oneLine, valueText} from './format.js';
import {menu} from './menu.js';
import {joinList, splitList} from './sort.js';
import {boxesByCandidate, hasEnded} from './stats.js';

const COLORS = 16;
/** Lines that are drawn at most; where there are more, the sentence says so. */
const MOST_LINES = 12000;
const TOP = 78;
const BOTTOM = 30;
/** Share of a place over which its lines spread, so that one sees how many there are. */
const SPREAD = 0.62;

/**
 * A number from 0 to 1 that a model always has.
 * @param {number} model
 */
function scatter(model) {
  const x = Math.imul(model ^ 0x9e3779b9, 0x85ebca6b) >>> 0;
  return ((x ^ (x >>> 13)) >>> 0) / 4294967296;
}

/**
 * At most MOST_LINES of the rows, always the same ones.
 * @param {import('./decode.js').Table} table @param {number[]} rows
 */
function thinned(table, rows) {
  if (rows.length <= MOST_LINES) return rows;
  const share = MOST_LINES / rows.length;
  return rows.filter((row) => scatter(table.model[row] * 31 + 7) < share);
}

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
    this.chart = new Chart({
      title: 'Parallel coordinates',
      height: (w) => w < 600 ? 360 : Math.max(400, Math.min(640, window.innerHeight - 380)),
      draw: (c) => this.draw(c),
      drawTop: (c) => this.drawTop(c),
      sentence: () => this.sentence(),
      table: () => this.table(),
      find: (x, y) => this.find(x, y),
      activate: (p) => {
        if (p.model !== undefined) store.toggle(p.model);
      },
      overlay: true,
      minWidth: () => 64 * this.order.length
    });
    this.importance = el('section', {class: 'card view', 'aria-label': 'Importance'});
    /** @type {import('./stats.js').Box[]} */
    this.boxes = [];
    this.boxChart = new Chart({
      title: 'Values by candidate',
      height: 320,
      draw: (c, w, h) => this.drawBoxes(c, w, h),
      sentence: () => this.boxSentence(),
      table: () => ({
        header: ['candidate', 'models', 'least', 'first quartile', 'median', 'third quartile', 'most'],
        rows: this.boxes.map((b) => [b.label, b.count, b.least, b.low, b.median, b.high, b.most])
      }),
      points: () => this.boxPoints
    });
    /** @type {import('./chart.js').Point[]} */
    this.boxPoints = [];
    this.state = el('div', {});
    this.element =
        el('div', {class: 'view'}, this.tools, this.state, this.axesBar, this.chart.element,
           el('div', {class: 'cards'}, this.importance, this.boxChart.element));
    this.overlay = d3.select(this.chart.overlay);
    this.drawing = false;
    this.toolsKey = '';
    this.importanceKey = '';
    this.importanceDrawn = '';
    /** @type {any} */
    this.importanceDocument = null;
    /** @type {ReturnType<typeof setTimeout>|number} */
    this.importanceTimer = 0;
  }

  destroy() {
    clearTimeout(this.importanceTimer);
    this.chart.destroy();
    this.boxChart.destroy();
  }

  current() {
    return /** @type {import('./store.js').Current} */ (this.store.current);
  }

  /** @param {Set<string>} changes */
  update(changes) {
    if (changes.size === 1 && changes.has('selection')) {
      this.chart.redrawTop();
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
    this.chart.element.hidden = this.boxChart.element.hidden = this.importance.hidden = this.axesBar.hidden =
        this.tools.hidden = none;
    if (none) return;
    this.makeAxes();
    this.drawTools();
    this.chart.redraw();
    this.drawImportance(changes);
    this.makeBoxes();
    this.boxChart.redraw();
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
    const key = JSON.stringify([this.metrics(), store.route.params, this.order, this.brushed.length]);
    if (key === this.toolsKey) return;
    this.toolsKey = key;
    const brushes = this.brushes();
    const all = columns.filter((c) => c.group !== 'model' || ['duration', 'steps'].includes(c.id));
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
    let range;
    if (axis.kind === 'choice') {
      const share = (/** @type {number} */ k) => low + (1 - low) * k / axis.places.length;
      const options = /** @type {[string, string][]} */ ([
        ['', 'any'], ...axis.hasOff ? [['off', 'not chosen']] : [],
        ...axis.places.slice(0, 200).map((p, k) => [String(k), oneLine(p, 40)])
      ]);
      range = select(
          'Only', options, '',
          (value) => brush(
              value === ''        ? null :
                  value === 'off' ? [0.001, OFF_SHARE * 0.9] :
                                    [share(Number(value)) + 0.0005, share(Number(value) + 1) - 0.0005]));
    } else {
      const from = el('input', {type: 'number', step: 'any', 'aria-label': 'from'});
      const to = el('input', {type: 'number', step: 'any', 'aria-label': 'to'});
      const span = axis.domain[1] - axis.domain[0] || 1;
      const share = (/** @type {number} */ v) =>
          Math.max(0, Math.min(1, low + (1 - low) * (v - axis.domain[0]) / span));
      const apply = () => {
        const a = from.value === '' ? low : share(Number(from.value));
        const b = to.value === '' ? 1 : share(Number(to.value));
        brush(a < b ? [a, b] : null);
      };
      from.addEventListener('change', apply);
      to.addEventListener('change', apply);
      range = el('span', {class: 'row'}, from, 'to', to);
    }
    const nested = '› '.repeat(Math.min(axis.depth, 4));
    const on = this.brushes().get(id);
    return menu(
        `${nested}${oneLine(axis.title, 28)}${
            on ? ` = ${brushText(axis, on, (v) => formatNumber(v, 3))}`.slice(0, 40) : ''}`,
        el('div', {class: 'view'},
           el('span', {class: 'row'}, button('◀ left', () => move(-1), {hidden: i === 0}),
              button('right ▶', () => move(1), {hidden: i === order.length - 1}),
              button('Hide', () => store.setParams({axes: joinList(order.filter((other) => other !== id))}))),
           range, on ? button('Clear its brush', () => brush(null)) : null),
        'axis-menu left', {class: on ? 'chip-on' : 'quiet'});
  }

  /** @param {number} i */
  xOf(i) {
    const {width} = this.chart;
    // At the right there is room for the last axis's labels and slanted title.
    const [left, right] = [Math.min(30, width / 12), Math.min(100, width / 4)];
    return this.order.length < 2 ? width / 2 : left + (width - left - right) * i / (this.order.length - 1);
  }

  /** @param {number} share */
  yOf(share) {
    return this.chart.height - BOTTOM - share * (this.chart.height - BOTTOM - TOP);
  }

  /**
   * Where a model crosses an axis: within its place, spread by its number.
   * @param {import('./axes.js').Axis} axis @param {number} row
   */
  crossing(axis, row) {
    const model = this.current().table.model[row];
    const low = axis.hasOff ? OFF_SHARE : 0;
    let share = axis.at[row];
    if (axis.place[row] < 0) {
      share += (scatter(model) - 0.5) * OFF_SHARE * 0.5;
    } else if (axis.kind === 'choice') {
      share += (scatter(model) - 0.5) * SPREAD * (1 - low) / axis.places.length;
    }
    return this.yOf(share);
  }

  lessIsBetter() {
    return this.current().table.objectives.some((o) => o.metric === this.metric() && o.goal === 'MINIMIZE');
  }

  /** The colour of each row by its metric, the best last; -1: it has none. */
  colorOfRow() {
    const values = this.current().table.metrics.get(this.metric()) ?? [];
    const known = this.rows.map((row) => values[row])
                      .filter((v) => v !== null && Number.isFinite(v))
                      .map(Number)
                      .sort((a, b) => a - b);
    // By rank in part: a few outliers do not take all colours.
    const low = d3.quantile(known, 0.02) ?? 0;
    const high = d3.quantile(known, 0.98) ?? 1;
    const less = this.lessIsBetter();
    return (/** @type {number} */ row) => {
      const v = values[row];
      if (v === null || v === undefined || !Number.isFinite(v)) return -1;
      const t = (v - low) / (high - low || 1);
      return Math.max(0, Math.min(COLORS - 1, Math.floor((less ? 1 - t : t) * COLORS)));
    };
  }

  /** @param {number} i */
  color(i) {
    if (i < 0) return theme().muted;
    // Cividis: the same for colour-blind eyes. What is better stands out: bright on dark cards, dark on light ones.
    const t = i / (COLORS - 1);
    return d3.interpolateCividis(themeName() === 'dark' ? 0.3 + 0.7 * t : 0.92 * (1 - t));
  }

  /** @param {CanvasRenderingContext2D} ctx */
  draw(ctx) {
    const begun = performance.now();
    const colors = theme();
    const axes = this.order.map((id) => /** @type {import('./axes.js').Axis} */ (this.axes.get(id)));
    const inside = new Set(this.brushed);
    const brushing = this.brushes().size > 0;
    const colorOfRow = this.colorOfRow();
    const {table} = this.current();
    const lines = (/** @type {number[]} */ rows) => {
      for (let s = 0; s < rows.length; s += 50) {
        ctx.beginPath();
        for (let t = s; t < Math.min(rows.length, s + 50); ++t) {
          axes.forEach((axis, i) => {
            const y = this.crossing(axis, rows[t]);
            if (i === 0) {
              ctx.moveTo(this.xOf(i), y);
            } else {
              ctx.lineTo(this.xOf(i), y);
            }
          });
        }
        ctx.stroke();
      }
    };
    ctx.lineWidth = 1;
    if (brushing) {
      ctx.strokeStyle = colors.line;
      ctx.globalAlpha = Math.min(0.5, 40 / Math.sqrt(this.rows.length + 1) / 8);
      lines(thinned(table, this.rows.filter((row) => !inside.has(row))));
    }
    const drawn = thinned(table, this.brushed);
    ctx.globalAlpha = Math.max(0.1, Math.min(0.8, 8 / Math.sqrt(drawn.length + 1)));
    const groups = Array.from({length: COLORS + 1}, () => /** @type {number[]} */ ([]));
    for (const row of drawn) groups[colorOfRow(row) + 1].push(row);
    groups.forEach((rows, g) => {
      ctx.strokeStyle = this.color(g - 1);
      lines(rows);
    });
    ctx.globalAlpha = 1;
    axes.forEach((axis, i) => this.drawAxis(ctx, axis, i));
    this.placeBrushes();
    performance.measure('draw choices', {start: begun, end: performance.now()});
  }

  /** @param {CanvasRenderingContext2D} ctx @param {import('./axes.js').Axis} axis @param {number} i */
  drawAxis(ctx, axis, i) {
    const colors = theme();
    const x = Math.round(this.xOf(i)) + 0.5;
    const step = this.order.length > 1 ? this.xOf(1) - this.xOf(0) : this.chart.width;
    ctx.strokeStyle = colors.text;
    ctx.lineWidth = 1;
    ctx.beginPath();
    ctx.moveTo(x, this.yOf(1));
    ctx.lineTo(x, this.yOf(axis.hasOff ? OFF_SHARE : 0));
    ctx.stroke();
    if (axis.hasOff) {
      ctx.setLineDash([2, 3]);
      ctx.beginPath();
      ctx.moveTo(x, this.yOf(OFF_SHARE * 0.85));
      ctx.lineTo(x, this.yOf(OFF_SHARE * 0.1));
      ctx.stroke();
      ctx.setLineDash([]);
    }
    const text = (/** @type {string} */ label, /** @type {number} */ y, /** @type {boolean} */ italic = false) => {
      ctx.font = italic ? `italic ${FONT}` : FONT;
      ctx.textAlign = 'left';
      ctx.textBaseline = 'middle';
      const room = Math.max(24, i === this.order.length - 1 ? this.chart.width - x - 8 : step - 12);
      let shown = oneLine(label, 60);
      while (shown.length > 2 && ctx.measureText(shown).width > room) shown = `${shown.slice(0, -2)}…`;
      const at = x + 6;
      ctx.lineWidth = 3;
      ctx.strokeStyle = colors.card;
      ctx.strokeText(shown, at, y);
      ctx.fillStyle = colors.text;
      ctx.fillText(shown, at, y);
    };
    const low = axis.hasOff ? OFF_SHARE : 0;
    if (axis.kind === 'choice') {
      const every = Math.max(1, Math.ceil(axis.places.length * 15 / (this.chart.height - TOP - BOTTOM)));
      axis.places.forEach((place, p) => {
        const a = this.yOf(low + (1 - low) * p / axis.places.length);
        ctx.strokeStyle = colors.line;
        ctx.lineWidth = 1;
        if (p > 0) {
          ctx.beginPath();
          ctx.moveTo(x - 5, a);
          ctx.lineTo(x + 5, a);
          ctx.stroke();
        }
        if (p % every === 0) text(place, this.yOf(low + (1 - low) * (p + 0.5) / axis.places.length));
      });
    } else {
      const scale = d3.scaleLinear()
                        .domain(axis.domain[0] === axis.domain[1] ? [axis.domain[0], axis.domain[0] + 1] : axis.domain)
                        .range([this.yOf(low), this.yOf(1)]);
      for (const tick of scale.ticks(6))
        text(Math.abs(tick) >= 1e4 ? formatCount(tick) : formatNumber(tick, 3), scale(tick));
    }
    if (axis.hasOff) text(axis.kind === 'choice' ? 'not chosen' : 'no value', this.yOf(OFF_SHARE / 2), true);
    // Titles slope where they would not fit beside each other; nested ones start lower, under a bracket.
    ctx.save();
    ctx.translate(x, TOP - 14);
    ctx.font = axis.kind === 'number' ? `bold ${FONT}` : FONT;
    ctx.textBaseline = 'bottom';
    const title = `${'› '.repeat(Math.min(axis.depth, 4))}${oneLine(axis.title, 30)}`;
    const slanted = step < 110;
    ctx.fillStyle = colors.text;
    ctx.textAlign = slanted || i === 0 ? 'left' : 'center';
    if (slanted) ctx.rotate(-0.55);
    ctx.fillText(title, 0, 0);
    ctx.restore();
  }

  /** @param {CanvasRenderingContext2D} ctx */
  drawTop(ctx) {
    const {table} = this.current();
    const axes = this.order.map((id) => this.axes.get(id));
    if (axes.some((axis) => axis === undefined)) return;
    const line = (/** @type {number} */ row, /** @type {string} */ color) => {
      ctx.strokeStyle = color;
      ctx.lineWidth = 2.5;
      ctx.beginPath();
      axes.forEach((axis, i) => {
        const y = this.crossing(/** @type {import('./axes.js').Axis} */ (axis), row);
        if (i === 0) {
          ctx.moveTo(this.xOf(i), y);
        } else {
          ctx.lineTo(this.xOf(i), y);
        }
      });
      ctx.stroke();
    };
    let drawn = 0;
    for (const model of this.store.selected) {
      const row = table.rowOf.get(model);
      if (row !== undefined && ++drawn <= 200) line(row, colorOf(this.store, model));
    }
    const pointed = this.chart.pointed?.model;
    const row = pointed === undefined ? undefined : table.rowOf.get(pointed);
    if (row !== undefined) line(row, theme().text);
  }

  /** @param {number} px @param {number} py @returns {import('./chart.js').Point|null} */
  find(px, py) {
    if (py < TOP - 10 || this.order.length < 2) return null;
    let i = 0;
    while (i + 2 < this.order.length && this.xOf(i + 1) < px) ++i;
    const left = this.axes.get(this.order[i]);
    const right = this.axes.get(this.order[i + 1]);
    if (!left || !right) return null;
    const share = (px - this.xOf(i)) / (this.xOf(i + 1) - this.xOf(i));
    if (share < -0.1 || share > 1.1) return null;
    let best = -1;
    let least = 8;
    for (const row of this.brushed) {
      const y = this.crossing(left, row) * (1 - share) + this.crossing(right, row) * share;
      const distance = Math.abs(y - py);
      if (distance < least) {
        least = distance;
        best = row;
      }
    }
    if (best < 0) return null;
    const {table} = this.current();
    return {
      x: px,
      y: py,
      model: table.model[best],
      text: `model ${table.model[best]}\n${oneLine(this.metric(), 30)} ${
          formatNumber(table.metrics.get(this.metric())?.[best])}`
    };
  }

  /** Brushes on every axis, and handles above that reorder. */
  placeBrushes() {
    const brushes = this.brushes();
    const height = this.chart.height;
    const [top, bottom] = [this.yOf(1), this.yOf(0)];
    const groups = this.overlay.selectAll('g.axis').data(this.order, (/** @type {string} */ id) => id);
    groups.exit().remove();
    const entered = groups.enter().append('g').attr('class', 'axis');
    entered.append('g').attr('class', 'grab brush');
    entered.append('rect').attr('class', 'grab mover');
    const self = this;
    this.drawing = true;
    entered.merge(groups).each(function(/** @type {string} */ id) {
      // d3 hands the element as `this`.
      // @ts-ignore
      const group = d3.select(this);
      const i = self.order.indexOf(id);
      group.attr('transform', `translate(${self.xOf(i)},0)`);
      const brush = d3.brushY().extent([[-11, top], [11, bottom]]);
      const place = group.select('g.brush');
      place.call(brush);
      const range = brushes.get(id);
      place.call(brush.move, range ? [self.yOf(range[1]), self.yOf(range[0])] : null);
      brush.on('end', () => {
        if (self.drawing || !d3.event.sourceEvent) return;
        const area = d3.event.selection;
        const next = self.brushes();
        if (area) {
          const span = height - BOTTOM - TOP;
          next.set(
              id, [Math.max(0, (height - BOTTOM - area[1]) / span), Math.min(1, (height - BOTTOM - area[0]) / span)]);
        } else {
          next.delete(id);
        }
        self.setBrushes(next);
      });
      group.select('rect.mover')
          .attr('x', -30)
          .attr('y', 0)
          .attr('width', 60)
          .attr('height', TOP - 8)
          .attr('fill', 'transparent')
          .style('cursor', 'ew-resize')
          .call(d3.drag()
                    .container(self.overlay.node())
                    .on('drag',
                        () => {
                          group.attr('transform', `translate(${d3.event.x},0)`);
                        })
                    .on('end', () => {
                      const others = self.order.filter((other) => other !== id);
                      const at = others.filter((other) => self.xOf(self.order.indexOf(other)) < d3.event.x).length;
                      others.splice(at, 0, id);
                      self.store.setParams({axes: joinList(others)});
                      self.store.changed('params');
                    }));
    });
    this.drawing = false;
  }

  sentence() {
    const brushes = this.brushes();
    const words = [...brushes].flatMap(([id, range]) => {
      const axis = this.axes.get(id);
      return axis ? [`${oneLine(axis.title, 40)}: ${brushText(axis, range, (v) => formatNumber(v, 3))}`] : [];
    });
    return `${counted(this.rows.length, 'model')} over ${this.order.length} axes${
        this.brushed.length > MOST_LINES ? ` (about ${formatNumber(MOST_LINES)} are drawn)` :
                                           ''}; ${themeName() === 'dark' ? 'bright' : 'dark'} lines have a ${
        this.lessIsBetter() ? 'low' : 'high'} ${oneLine(this.metric(), 40)}.${
        words.length > 0 ?
            ` ${formatNumber(this.brushed.length)} are within ${words.join('; ')}.` :
            ''} Drag along an axis to brush, drag its title to move it; the buttons above do the same by keyboard. "› " marks a choice that depends on another.`;
  }

  table() {
    const {columns} = this.store.selection();
    const list = this.order.flatMap((id) => findColumn(columns, id) ?? []);
    const {table} = this.current();
    return {
      header: ['model', ...list.map((c) => c.title)],
      rows: this.brushed.map(
          (row) => [table.model[row], ...list.map((c) => c.raw(row) ?? (c.group === 'choice' ? 'not chosen' : null))])
    };
  }

  /** @param {Set<string>} changes */
  drawImportance(changes) {
    const top = this.store.param('top', '0.1');
    const key = `${this.current().id} ${this.metric()} ${top}`;
    if (key !== this.importanceKey || (changes.has('table') && !this.importanceTimer)) {
      const wait = key !== this.importanceKey ? 0 : 10000;
      this.importanceKey = key;
      clearTimeout(this.importanceTimer);
      this.importanceTimer = setTimeout(() => {
        this.importanceTimer = 0;
        this.loadImportance(key, top);
      }, wait);
    }
    this.fillImportance();
  }

  /** @param {string} key @param {string} top */
  async loadImportance(key, top) {
    const {current} = this.store;
    if (!current) return;
    try {
      const document = await this.store.api.json(`${experimentPath(current.id)}/importance?metric=${
          encodeURIComponent(this.metric())}&top=${encodeURIComponent(top)}`);
      if (key === this.importanceKey) this.importanceDocument = document;
    } catch (error) {
      if (key === this.importanceKey) this.importanceDocument = {error: /** @type {Error} */ (error).message};
    }
    this.fillImportance();
    // Where nobody has chosen another one, the boxes are about the most important choice.
    this.makeBoxes();
    this.boxChart.redraw();
  }

  fillImportance() {
    const document = this.importanceDocument;
    const key = JSON.stringify([document, this.boxLabel(), this.metric(), this.store.param('top')]);
    if (key === this.importanceDrawn) return;
    this.importanceDrawn = key;
    const tools =
        el('div', {class: 'chart-head'}, el('h2', {}, 'Importance'),
           select(
               'for the best', [['0.05', '5 %'], ['0.1', '10 %'], ['0.25', '25 %'], ['0.5', '50 %']],
               this.store.param('top', '0.1'), (top) => this.store.setParams({top})));
    if (!document) {
      fill(this.importance, tools, stateBox('loading', 'Computing …'));
    } else if (document.error) {
      fill(this.importance, tools, stateBox('error', 'There is no importance', document.error));
    } else if (document.too_few) {
      fill(
          this.importance, tools,
          stateBox(
              'empty', 'Too few models',
              `${counted(document.models, 'model')} with ${
                  oneLine(document.metric, 40)}: below 30 an importance would be chance.`));
    } else {
      const choices = document.choices.slice().sort(
          (/** @type {any} */ a, /** @type {any} */ b) => (b.importance ?? -1) - (a.importance ?? -1));
      const most = Math.max(1e-12, ...choices.map((/** @type {any} */ c) => c.importance ?? 0));
      refill(
          this.importance, tools,
          el('div', {class: 'bars', role: 'list'}, ...choices.slice(0, 40).map((/** @type {any} */ one) => {
            const bar = el('div', {class: 'bar-fill'});
            bar.style.width = `${100 * (one.importance ?? 0) / most}%`;
            const value = one.importance === null ? 'unknown' : formatNumber(one.importance, 3);
            return el(
                'div', {role: 'listitem'},
                el('button', {
                  type: 'button',
                  class: 'bar-line',
                  'aria-pressed': String(one.label === this.boxLabel()),
                  on: {click: () => this.store.setParams({box: one.label})}
                },
                   el('span', {class: 'clip', title: oneLine(one.label)}, oneLine(one.label, 60)),
                   el('span', {class: 'bar-track', 'aria-hidden': 'true'}, bar),
                   el('span', {class: 'numeric'}, value)));
          })),
          el('p', {class: 'sentence'},
             `Conditional PED-ANOVA of ${
                 counted(
                     document.models, 'model')}: how differently the best choose. A click shows a choice's values.`));
    }
  }

  boxLabel() {
    const {table} = this.current();
    const best = this.importanceDocument?.choices?.reduce?.(
        (/** @type {any} */ a, /** @type {any} */ b) => (b.importance ?? -1) > (a?.importance ?? -1) ? b : a, null);
    const wanted = this.store.param('box', best?.label ?? table.choices[0].label);
    return table.choices.some((c) => c.label === wanted) ? wanted : table.choices[0].label;
  }

  makeBoxes() {
    const {table} = this.current();
    const choice = table.choices.find((c) => c.label === this.boxLabel());
    const values = table.metrics.get(this.metric());
    this.boxes = choice && values ? boxesByCandidate(choice, values, this.brushed, (c) => valueText(c)) : [];
  }

  boxSentence() {
    const known = this.boxes.filter((b) => b.count > 0).sort((a, b) => b.median - a.median);
    if (known.length === 0) return 'No model has a value.';
    return `${oneLine(this.metric(), 40)} by ${oneLine(this.boxLabel(), 60)}: the highest median is ${
        formatNumber(
            known[0].median)} with ${oneLine(known[0].label, 40)} (${counted(known[0].count, 'model')}), the lowest ${
        formatNumber(known[known.length - 1].median)} with ${oneLine(known[known.length - 1].label, 40)}.`;
  }

  /** @param {CanvasRenderingContext2D} ctx @param {number} width @param {number} height */
  drawBoxes(ctx, width, height) {
    const colors = theme();
    const frame = frameOf(width, height);
    const known = this.boxes.filter((b) => b.count > 0);
    const y = d3.scaleLinear()
                  .domain(paddedDomain(known.flatMap((b) => [b.least, b.most])))
                  .range([frame.bottom, frame.top])
                  .nice();
    const x = d3.scaleLinear().domain([0, Math.max(1, this.boxes.length)]).range([frame.left, frame.right]);
    drawAxes(ctx, frame, {
      x: Object.assign((/** @type {number} */ v) => x(v), {ticks: () => [], tickFormat: () => String}),
      y,
      xTitle: oneLine(this.boxLabel(), 60),
      yTitle: this.metric()
    });
    this.boxPoints = [];
    const step = (frame.right - frame.left) / Math.max(1, this.boxes.length);
    this.boxes.forEach((box, i) => {
      const middle = x(i + 0.5);
      const half = Math.min(36, step * 0.32);
      ctx.textAlign = 'center';
      ctx.textBaseline = 'top';
      ctx.fillStyle = box.candidate < 0 ? colors.muted : colors.text;
      ctx.font = box.candidate < 0 ? `italic ${FONT}` : FONT;
      let label = oneLine(box.label, 40);
      while (label.length > 2 && ctx.measureText(label).width > step - 6) label = `${label.slice(0, -2)}…`;
      ctx.fillText(label, middle, frame.bottom + 5);
      ctx.fillStyle = colors.muted;
      ctx.font = FONT;
      if (step > 30) ctx.fillText(`n=${formatNumber(box.count)}`, middle, frame.top - 16);
      if (box.count === 0) return;
      ctx.strokeStyle = colors.accent;
      ctx.lineWidth = 1.5;
      ctx.beginPath();
      ctx.moveTo(middle, y(box.least));
      ctx.lineTo(middle, y(box.low));
      ctx.moveTo(middle, y(box.high));
      ctx.lineTo(middle, y(box.most));
      ctx.moveTo(middle - half / 2, y(box.least));
      ctx.lineTo(middle + half / 2, y(box.least));
      ctx.moveTo(middle - half / 2, y(box.most));
      ctx.lineTo(middle + half / 2, y(box.most));
      ctx.stroke();
      ctx.globalAlpha = 0.2;
      ctx.fillStyle = colors.accent;
      ctx.fillRect(middle - half, y(box.high), 2 * half, Math.max(1, y(box.low) - y(box.high)));
      ctx.globalAlpha = 1;
      ctx.strokeRect(middle - half, y(box.high), 2 * half, Math.max(1, y(box.low) - y(box.high)));
      ctx.strokeStyle = colors.text;
      ctx.lineWidth = 2.5;
      ctx.beginPath();
      ctx.moveTo(middle - half, y(box.median));
      ctx.lineTo(middle + half, y(box.median));
      ctx.stroke();
      this.boxPoints.push({
        x: middle,
        y: y(box.median),
        text: `${oneLine(box.label, 60)}: ${counted(box.count, 'model')}\nmedian ${
            formatNumber(box.median)}, quartiles ${formatNumber(box.low)} to ${formatNumber(box.high)}\nfrom ${
            formatNumber(box.least)} to ${formatNumber(box.most)}`
      });
    });
  }
}
