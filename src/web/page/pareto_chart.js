// The models that no other beats in two columns, which the reader chooses.

import {d3, drawAxes, drawMark, frameOf, paddedDomain, theme, themeName} from './canvas.js';
import {Chart} from './chart.js';
import {findColumn, measures} from './columns.js';
import {el, refill, select} from './dom.js';
import {DrawnDots} from './drawn_dots.js';
import {colorOf} from './filter_bar.js';
import {counted, formatCount, formatDuration, formatNumber, oneLine} from './format.js';
import {statusStyle} from './palette.js';
import {hasEnded, paretoFront} from './stats.js';

/** Which way a column is better, in words. */
const GOALS = {MAXIMIZE: 'more is better', MINIMIZE: 'less is better'};

/**
 * Which way a column is better: what the reader has chosen; else an objective's goal; else what its name suggests.
 * @param {string} chosen  of the address; empty: nothing @param {string|undefined} id  of the column
 * @param {{metric: string, goal: import('./stats.js').Goal}[]} objectives
 * @returns {import('./stats.js').Goal}
 */
export function goalOf(chosen, id, objectives) {
  if (chosen === 'MAXIMIZE' || chosen === 'MINIMIZE') return chosen;
  const objective = objectives.find((o) => id === `metric.${o.metric}`);
  if (objective) return objective.goal;
  return /duration|flops|params|loss|error|latency|memory/i.test(id ?? '') ? 'MINIMIZE' : 'MAXIMIZE';
}

/**
 * Rings the selected models among the points of a chart.
 * @param {import('./store.js').Store} store @param {CanvasRenderingContext2D} ctx
 * @param {() => import('./chart.js').Point[]} points
 */
export function drawSelected(store, ctx, points) {
  if (store.selected.size === 0) return;
  for (const point of points()) {
    if (point.model === undefined || !store.selected.has(point.model)) continue;
    ctx.strokeStyle = colorOf(store, point.model);
    ctx.lineWidth = 2.5;
    ctx.beginPath();
    ctx.arc(point.x, point.y, 6, 0, 2 * Math.PI);
    ctx.stroke();
    ctx.fillStyle = theme().text;
    ctx.textAlign = 'left';
    ctx.textBaseline = 'bottom';
    ctx.fillText(String(point.model), point.x + 8, point.y - 4);
  }
}

export class ParetoChart {
  /** @param {import('./store.js').Store} store */
  constructor(store) {
    this.store = store;
    /** @type {import('./chart.js').Point[]|null} made when they are asked for: few pictures are pointed at */
    this.madePoints = null;
    /** Where the models of `drawn` are. @type {{x: number, y: number}[]} */
    this.places = [];
    /** @type {ReturnType<ParetoChart['data']>|null} what is drawn */
    this.drawn = null;
    this.chart = new Chart({
      title: 'Pareto front',
      height: (w) => w < 600 ? 240 : 300,
      draw: (c, w, h) => this.draw(c, w, h),
      drawTop: (c) => drawSelected(this.store, c, () => this.points()),
      sentence: () => this.sentence(),
      table: () => this.table(),
      points: () => this.points(),
      activate: (point) => {
        if (point.model !== undefined) store.toggle(point.model);
      }
    });
    this.tools = el('span', {class: 'row'});
    this.chart.tools.append(this.tools);
  }

  destroy() {
    this.chart.destroy();
  }

  current() {
    return /** @type {import('./store.js').Current} */ (this.store.current);
  }

  /** @param {[string, string][]} named  the columns that may be chosen: id and title */
  drawTools(named) {
    const {store} = this;
    const {x, y, goalX, goalY} = this.pair();
    const goal =
        (/** @type {string} */ label, /** @type {string} */ value, /** @type {(value: string) => void} */ change) => {
          const field = select('', Object.entries(GOALS), value, change);
          field.querySelector('select').setAttribute('aria-label', label);
          return field;
        };
    refill(
        this.tools,
        el('span', {class: 'row'}, select('x', named, x?.id ?? '', (value) => store.setParams({x: value, gx: null})),
           goal('goal of x', goalX, (gx) => store.setParams({gx}))),
        el('span', {class: 'row'}, select('y', named, y?.id ?? '', (value) => store.setParams({y: value, gy: null})),
           goal('goal of y', goalY, (gy) => store.setParams({gy}))));
  }

  /** The two columns of the front, and which way they are better. */
  pair() {
    const {store} = this;
    const {columns} = store.selection();
    const {table} = this.current();
    const numbers = measures(columns, table);
    const of = (/** @type {string} */ id) => numbers.find((c) => c.id === id) ?? null;
    const objective = (/** @type {number} */ i) => of(`metric.${table.objectives[i]?.metric}`);
    const first = objective(0) ?? numbers[0] ?? null;
    // A metric that is no mere repetition is there for more models.
    const second =
        objective(1) ?? of('metric.flops') ?? of('flops') ?? of('metric.params') ?? of('params') ?? of('duration');
    const x = findColumn(columns, store.param('x')) ?? second;
    const y = findColumn(columns, store.param('y')) ?? first;
    return {
      x,
      y,
      goalX: goalOf(store.param('gx'), x?.id, table.objectives),
      goalY: goalOf(store.param('gy'), y?.id, table.objectives)
    };
  }

  data() {
    const {table} = this.current();
    const {x, y, goalX, goalY} = this.pair();
    const rows = x && y ?
        this.store.selection().kept.filter(
            (row) => hasEnded(table.state[row]) && Number.isFinite(x.value(row)) && Number.isFinite(y.value(row))) :
        [];
    const points = rows.map((row) => ({x: x?.value(row), y: y?.value(row)}));
    const counts = rows.map((row) => table.state[row] === 'SUCCEEDED' && !((table.violation[row] ?? 0) > 0));
    const candidates = rows.map((_, i) => i).filter((i) => counts[i]);
    const onFront = paretoFront(candidates.map((i) => points[i]), goalX, goalY);
    const front = new Set(candidates.filter((_, k) => onFront[k]));
    return {x, y, goalX, goalY, rows, points, front};
  }

  sentence() {
    const {x, y, goalX, goalY, rows, front} = this.drawn ?? this.data();
    if (!x || !y || rows.length === 0) return 'No model has both values yet.';
    return `${counted(front.size, 'model')} of ${formatNumber(rows.length)} that no other beats in ${
        oneLine(y.title, 40)} (${GOALS[goalY]}) and ${oneLine(x.title, 40)} (${
        GOALS[goalX]}); filled marks succeeded within the limits.`;
  }

  table() {
    const {x, y, rows, points, front} = this.data();
    const {table} = this.current();
    const order =
        rows.map((_, i) => i).sort((a, b) => Number(front.has(b)) - Number(front.has(a)) || points[a].x - points[b].x);
    return {
      header: ['model', x?.title ?? 'x', y?.title ?? 'y', 'on the front', 'status'],
      rows: order.map(
          (i) => [table.model[rows[i]], points[i].x, points[i].y, front.has(i) ? 'yes' : 'no', table.state[rows[i]]])
    };
  }

  /** @returns {import('./chart.js').Point[]} */
  points() {
    if (this.madePoints || !this.drawn) return this.madePoints ?? [];
    const {table} = this.current();
    const {x, y, rows, front} = this.drawn;
    return this.madePoints = this.places.map(
               (place, i) => ({
                 ...place,
                 model: table.model[rows[i]],
                 key: table.model[rows[i]],
                 text: () => `model ${table.model[rows[i]]}${front.has(i) ? ', on the front' : ''}\n${
                     oneLine(x?.title, 30)} ${x?.text(rows[i])}\n${oneLine(y?.title, 30)} ${y?.text(rows[i])}`
               }));
  }

  /** @param {CanvasRenderingContext2D} ctx @param {number} width @param {number} height */
  draw(ctx, width, height) {
    const {table} = this.current();
    const colors = theme();
    this.drawn = this.data();
    const {x: cx, y: cy, rows, points, front} = this.drawn;
    const frame = frameOf(width, height);
    const x = d3.scaleLinear().domain(paddedDomain(points.map((p) => p.x))).range([frame.left, frame.right]);
    const y = d3.scaleLinear().domain(paddedDomain(points.map((p) => p.y))).range([frame.bottom, frame.top]);
    const format = (/** @type {import('./columns.js').Column|null} */ c) => c?.type === 'duration' ? formatDuration :
        /flops|params/.test(c?.id ?? '')                                                           ? formatCount :
                                                                                                     undefined;
    drawAxes(
        ctx, frame, {x, y, xTitle: cx?.title ?? '', yTitle: cy?.title ?? '', xFormat: format(cx), yFormat: format(cy)});
    this.madePoints = null;
    this.places = points.map((p) => ({x: x(p.x), y: y(p.y)}));
    const name = themeName();
    const drawn = new DrawnDots();
    ctx.lineWidth = 1;
    this.places.forEach((place, i) => {
      const state = table.state[rows[i]];
      const inFront = front.has(i);
      if (!drawn.add(inFront ? 'front' : state, place.x, place.y)) return;
      ctx.globalAlpha = inFront ? 1 : points.length > 1000 ? 0.35 : 0.6;
      ctx.fillStyle = ctx.strokeStyle = inFront ? colors.accent :
          state === 'SUCCEEDED'                 ? colors.faint :
                                                  statusStyle(state)[name];
      drawMark(ctx, state, place.x, place.y, inFront ? 4.5 : points.length > 1000 ? 1.8 : 2.6);
    });
    ctx.globalAlpha = 1;
    const line = [...front].sort((a, b) => points[a].x - points[b].x);
    ctx.strokeStyle = colors.accent;
    ctx.lineWidth = 1.5;
    ctx.setLineDash([5, 3]);
    ctx.beginPath();
    line.forEach(
        (i, k) => k === 0 ? ctx.moveTo(x(points[i].x), y(points[i].y)) : ctx.lineTo(x(points[i].x), y(points[i].y)));
    ctx.stroke();
    ctx.setLineDash([]);
  }
}
