// Curves on a canvas: faint lines, the selected ones named, bands, what is not a number, and zoom.

import {d3, drawAxes, drawName, FONT, frameOf, paddedDomain, theme} from './canvas.js';
import {Chart, walkOrder} from './chart.js';
import {colorOf} from './filter_bar.js';
import {asReported, counted, formatDuration, formatNumber, oneLine} from './format.js';
import {OddMarks, STRIP} from './odd_marks.js';
import {quantileBands, quantileBandsOver} from './stats.js';

/** Lines that are one path: where they cross they do not add up, but they are drawn quicker. */
const PATH = 40;
const QUANTILES = [0.1, 0.25, 0.5, 0.75, 0.9];
/** Places at which bands over time are computed. */
const BAND_PLACES = 80;

/**
 * @typedef {Object} CurveData
 * @property {number[]} rows  of the table
 * @property {import('./decode.js').Series[]} series  of each row
 * @property {ArrayLike<number>[]} xs  where each report stands: its step, or seconds
 */

/**
 * A part of an axis, so many times as long about its middle and moved by a share of its length.
 * @param {[number, number]} domain @param {number} factor @param {number} share @param {boolean} log
 * @returns {[number, number]}
 */
export function movedDomain([a, b], factor, share, log) {
  const [low, high] = log ? [Math.log(a), Math.log(b)] : [a, b];
  const middle = (low + high) / 2 + (high - low) * share;
  const half = (high - low) / 2 * factor;
  return log ? [Math.exp(middle - half), Math.exp(middle + half)] : [middle - half, middle + half];
}

export class CurveLines {
  /** @param {import('./view_curves.js').CurvesView} view */
  constructor(view) {
    this.view = view;
    this.store = view.store;
    this.chart = new Chart({
      title: 'Curves',
      height: (width) => width < 600 ? 320 : Math.max(380, Math.min(720, window.innerHeight - 330)),
      draw: (ctx, w, h) => this.draw(ctx, w, h),
      drawTop: (ctx) => this.drawTop(ctx),
      sentence: () => this.sentence(),
      table: () => this.table(),
      points: () => this.points(),
      along: (point, by) => this.along(point, by),
      zoom: {
        by: (factor) => this.zoomBy(factor),
        pan: (right, up) => this.move(1, right, up),
        whole: () => this.store.setParams({z: null})
      },
      find: (x, y) => this.find(x, y),
      activate: (point) => {
        if (point.model !== undefined) this.store.toggle(point.model);
      },
      overlay: true,
    });
    /** @type {CurveData} */
    this.data = {rows: [], series: [], xs: []};
    /** @type {any} */
    this.x = null;
    /** @type {any} */
    this.y = null;
    this.odd = new OddMarks();
    this.hidden = 0;
    /** @type {import('./canvas.js').Frame} */
    this.frame = frameOf(100, 100);
    /** @type {ReturnType<typeof quantileBands>|null} */
    this.bands = null;
    /** @type {import('./chart.js').Point[]|null} made when they are asked for: few pictures are pointed at */
    this.madePoints = null;
    this.installBrush();
  }

  destroy() {
    this.chart.destroy();
  }

  /** @param {CurveData} data  to be drawn from now on */
  show(data) {
    this.data = data;
    this.bands = null;
  }

  /** @returns {[[number, number], [number, number]]} */
  domains() {
    const log = this.store.param('log') === '1';
    const zoom = this.store.param('z').split(',').map(Number);
    if (zoom.length === 4 && zoom.every(Number.isFinite) && zoom[0] < zoom[1] && zoom[2] < zoom[3]) {
      return [[zoom[0], zoom[1]], [zoom[2], zoom[3]]];
    }
    let [x0, x1, y0, y1] = [Infinity, -Infinity, Infinity, -Infinity];
    this.data.series.forEach(({values}, s) => {
      const xs = this.data.xs[s];
      for (let i = 0; i < values.length; ++i) {
        const v = values[i];
        if (xs[i] < x0) x0 = xs[i];
        if (xs[i] > x1) x1 = xs[i];
        if (!Number.isFinite(v) || (log && v <= 0)) continue;
        if (v < y0) y0 = v;
        if (v > y1) y1 = v;
      }
    });
    if (x0 > x1) [x0, x1] = [0, 1];
    if (x0 === x1) x1 = x0 + 1;
    if (y0 > y1) [y0, y1] = log ? [0.1, 1] : [0, 1];
    return [[x0, x1], log ? y0 === y1 ? [y0 / 2, y1 * 2] : [y0, y1] : paddedDomain([y0, y1])];
  }

  /** @param {CanvasRenderingContext2D} ctx @param {number} width @param {number} height */
  draw(ctx, width, height) {
    const begun = performance.now();
    const {store} = this;
    const log = store.param('log') === '1';
    const show = store.param('show', 'all');
    const colors = theme();
    this.frame = frameOf(width, height);
    const frame = this.frame;
    frame.bottom -= STRIP;
    const [dx, dy] = this.domains();
    this.x = d3.scaleLinear().domain(dx).range([frame.left, frame.right]);
    this.y = (log ? d3.scaleLog() : d3.scaleLinear()).domain(dy).range([frame.bottom, frame.top]);
    this.madePoints = null;
    const {x, y} = this;
    drawAxes(ctx, frame, {
      x,
      y,
      xTitle: this.view.byTime() ? 'time since the model\'s start' : 'step',
      yTitle: this.view.metric(),
      xFormat: this.view.byTime() ? formatDuration : (v) => Number.isInteger(v) ? String(v) : '',
      yFormat: log ? y.tickFormat(6, '~g') : undefined,
      below: STRIP
    });
    ctx.save();
    ctx.beginPath();
    ctx.rect(frame.left - 3, frame.top - 6, frame.right - frame.left + 6, frame.bottom - frame.top + 6 + STRIP);
    ctx.clip();
    const count = this.data.series.length;
    const faint = show !== 'bands';
    if (faint) {
      ctx.strokeStyle = colors.faint;
      ctx.lineWidth = 1;
      ctx.globalAlpha = Math.max(0.07, Math.min(0.8, 12 / Math.sqrt(count) / 4));
      // Scales by hand: d3's cost a call for each point.
      const [kx, bx] = [(frame.right - frame.left) / (dx[1] - dx[0]), frame.left];
      const ly = log ? Math.log : (/** @type {number} */ v) => v;
      const [l0, l1] = [ly(dy[0]), ly(dy[1])];
      const ky = (frame.top - frame.bottom) / (l1 - l0);
      for (let s = 0; s < count; s += PATH) {
        ctx.beginPath();
        for (let t = s; t < Math.min(count, s + PATH); ++t) {
          const {values} = this.data.series[t];
          const xs = this.data.xs[t];
          let pen = false;
          for (let i = 0; i < values.length; ++i) {
            const v = values[i];
            if (!(v - v === 0) || (log && v <= 0)) {
              pen = false;
              continue;
            }
            const px = bx + (xs[i] - dx[0]) * kx;
            const py = frame.bottom + ((log ? ly(v) : v) - l0) * ky;
            if (pen) {
              ctx.lineTo(px, py);
            } else {
              ctx.moveTo(px, py);
              pen = true;
            }
          }
        }
        ctx.stroke();
      }
      // A report alone is a dot: a line of one point is not seen.
      ctx.fillStyle = colors.faint;
      ctx.globalAlpha = Math.max(0.3, ctx.globalAlpha);
      this.data.series.forEach(({values}, s) => {
        if (values.length === 1) this.drawDot(ctx, s, log, 2.2);
      });
      ctx.globalAlpha = 1;
    }
    if (show === 'bands' || store.param('bands') === '1') this.drawBands(ctx, log);
    ctx.restore();
    this.drawOdd(ctx, log);
    performance.measure('draw curves', {start: begun, end: performance.now()});
  }

  /**
   * The one report of a series.
   * @param {CanvasRenderingContext2D} ctx @param {number} s @param {boolean} log @param {number} radius
   */
  drawDot(ctx, s, log, radius) {
    const [value] = this.data.series[s].values;
    if (!Number.isFinite(value) || (log && value <= 0)) return;
    ctx.beginPath();
    ctx.arc(this.x(this.data.xs[s][0]), this.y(value), radius, 0, 2 * Math.PI);
    ctx.fill();
  }

  /** @param {CanvasRenderingContext2D} ctx @param {boolean} log */
  drawBands(ctx, log) {
    const {series, xs} = this.data;
    this.bands ??=
        this.view.byTime() ? quantileBandsOver(series, xs, QUANTILES, BAND_PLACES) : quantileBands(series, QUANTILES);
    const colors = theme();
    const {x, y} = this;
    const bands = this.bands.filter((b) => !log || b.values[0] > 0);
    const area = (/** @type {number} */ low, /** @type {number} */ high, /** @type {number} */ alpha) => {
      ctx.globalAlpha = alpha;
      ctx.fillStyle = colors.accent;
      ctx.beginPath();
      bands.forEach(
          (b, i) => i === 0 ? ctx.moveTo(x(b.step), y(b.values[low])) : ctx.lineTo(x(b.step), y(b.values[low])));
      for (let i = bands.length - 1; i >= 0; --i) ctx.lineTo(x(bands[i].step), y(bands[i].values[high]));
      ctx.closePath();
      ctx.fill();
    };
    area(0, 4, 0.16);
    area(1, 3, 0.26);
    ctx.globalAlpha = 1;
    ctx.strokeStyle = colors.text;
    ctx.lineWidth = 2;
    ctx.setLineDash([6, 3]);
    ctx.beginPath();
    bands.forEach((b, i) => i === 0 ? ctx.moveTo(x(b.step), y(b.values[2])) : ctx.lineTo(x(b.step), y(b.values[2])));
    ctx.stroke();
    ctx.setLineDash([]);
  }

  /**
   * What is no finite number, and what the axis cannot show.
   * @param {CanvasRenderingContext2D} ctx @param {boolean} log
   */
  drawOdd(ctx, log) {
    const {x, frame} = this;
    this.odd = new OddMarks();
    this.hidden = 0;
    this.data.series.forEach(({values}, s) => {
      const xs = this.data.xs[s];
      for (let i = 0; i < values.length; ++i) {
        const v = values[i];
        if (!(v - v === 0)) {
          this.odd.add(x(xs[i]), v);
        } else if (log && v <= 0) {
          ++this.hidden;
        }
      }
    });
    this.odd.draw(ctx, frame, theme().mark);
  }

  /** @param {CanvasRenderingContext2D} ctx */
  drawTop(ctx) {
    if (!this.x) return;
    const {store, frame} = this;
    const {table} = this.view.current();
    const log = store.param('log') === '1';
    const line = (/** @type {number} */ s, /** @type {string} */ color, /** @type {number} */ width) => {
      const {values} = this.data.series[s];
      const xs = this.data.xs[s];
      ctx.strokeStyle = ctx.fillStyle = color;
      ctx.lineWidth = width;
      ctx.beginPath();
      let pen = false;
      let end = null;
      for (let i = 0; i < values.length; ++i) {
        if (!Number.isFinite(values[i]) || (log && values[i] <= 0)) {
          pen = false;
          continue;
        }
        const at = [this.x(xs[i]), this.y(values[i])];
        if (pen) {
          ctx.lineTo(at[0], at[1]);
        } else {
          ctx.moveTo(at[0], at[1]);
        }
        pen = true;
        end = at;
      }
      ctx.stroke();
      if (values.length === 1) this.drawDot(ctx, s, log, 2 * width);
      return end;
    };
    ctx.save();
    ctx.beginPath();
    ctx.rect(frame.left - 6, frame.top, frame.right - frame.left + 12, frame.bottom - frame.top);
    ctx.clip();
    /** @type {{text: string, color: string, x: number, y: number}[]} */
    const labels = [];
    const wanted = new Set(store.selected);
    this.data.rows.forEach((row, s) => {
      const model = table.model[row];
      if (!wanted.has(model)) return;
      const color = colorOf(store, model);
      const end = line(s, color, 2.5);
      if (end && wanted.size <= 40) labels.push({text: String(model), color, x: end[0], y: end[1]});
    });
    const pointed = this.chart.pointed?.model;
    if (pointed !== undefined) {
      const s = this.data.rows.findIndex((row) => table.model[row] === pointed);
      if (s >= 0) line(s, theme().text, 2);
    }
    ctx.restore();
    ctx.font = `bold ${FONT}`;
    for (const label of labels) {
      const w = ctx.measureText(label.text).width + 11;
      // Left of the end of its line; where that would cover the axis, right of it.
      const px = label.x - w - 4 < frame.left ? label.x + w + 8 : Math.min(frame.right - 2, label.x);
      ctx.globalAlpha = 0.85;
      ctx.fillStyle = theme().card;
      ctx.fillRect(px - w - 3, label.y - 17, w + 6, 15);
      ctx.globalAlpha = 1;
      drawName(ctx, label.text, label.color, px, label.y - 2);
    }
  }

  /**
   * The series nearest to a place.
   * @param {number} px @param {number} py @returns {import('./chart.js').Point|null}
   */
  find(px, py) {
    const {frame} = this;
    if (!this.x || px < frame.left || px > frame.right || py < frame.top - 8 || py > frame.bottom + STRIP) return null;
    const at = this.x.invert(px);
    let best = -1;
    let place = 0;
    let least = 30;
    this.data.series.forEach(({values}, s) => {
      const i = indexNear(this.data.xs[s], at);
      if (i < 0 || !Number.isFinite(values[i])) return;
      const dx = (this.x(this.data.xs[s][i]) - px) / 3;
      const distance = Math.hypot(dx, this.y(values[i]) - py);
      if (distance < least) {
        least = distance;
        best = s;
        place = i;
      }
    });
    return best < 0 ? null : this.pointOf(best, place);
  }

  /** @param {number} s @param {number} i @returns {import('./chart.js').Point} */
  pointOf(s, i) {
    const model = this.view.current().table.model[this.data.rows[s]];
    const {values, steps} = this.data.series[s];
    const x = this.data.xs[s][i];
    return {
      x: this.x(x),
      y: Number.isFinite(values[i]) ? this.y(values[i]) : this.frame.bottom + 6,
      model,
      key: model,
      place: i,
      text: () => {
        const when = this.view.byTime() ? formatDuration(x) : `step ${steps[i]}`;
        return `model ${model}, ${when}\n${oneLine(this.view.metric(), 30)} ${formatNumber(values[i])}`;
      }
    };
  }

  /**
   * For the keyboard: the last report of each model, the best first; of a metric that is no objective nobody knows
   * which values are better, and models go by their numbers.
   */
  points() {
    if (!this.x) return [];
    if (!this.madePoints) {
      const {table} = this.view.current();
      const {rows, series} = this.data;
      const last = series.map(({values}) => values.length - 1);
      const goal = table.objectives.find(({metric}) => metric === this.view.metric())?.goal;
      const order = walkOrder(series.map(({values}, s) => values[last[s]]), rows.map((row) => table.model[row]), goal);
      this.madePoints = order.map((s) => this.pointOf(s, last[s]));
    }
    return this.madePoints;
  }

  /**
   * The report of the same model that is so many further.
   * @param {import('./chart.js').Point} point @param {number} by @returns {import('./chart.js').Point|null}
   */
  along({model, place = 0}, by) {
    const {table} = this.view.current();
    const s = this.data.rows.findIndex((row) => table.model[row] === model);
    if (!this.x || s < 0) return null;
    return this.pointOf(s, Math.max(0, Math.min(this.data.series[s].values.length - 1, place + by)));
  }

  sentence() {
    const points = this.data.series.reduce((sum, {values}) => sum + values.length, 0);
    const odd = [
      ...this.odd.texts(),
      this.hidden > 0 ? `${counted(this.hidden, 'report')} of 0 or less, which a log axis cannot show` : ''
    ].filter(Boolean);
    return `${oneLine(this.view.metric(), 60)} of ${counted(this.data.series.length, 'model')}, ${
        counted(points, 'report')}.${
        odd.length > 0 ? ` ${odd.join('; ')}.` :
                         ''} Click a line to select its model; drag to zoom, double click for the whole.`;
  }

  table() {
    const {table} = this.view.current();
    const rows = [];
    for (let s = 0; s < this.data.series.length; ++s) {
      const {values, steps} = this.data.series[s];
      for (let i = 0; i < values.length; ++i) {
        rows.push([
          table.model[this.data.rows[s]], steps[i], ...this.view.byTime() ? [asReported(this.data.xs[s][i])] : [],
          asReported(values[i])
        ]);
      }
    }
    return {header: ['model', 'step', ...this.view.byTime() ? ['seconds'] : [], this.view.metric()], rows};
  }

  /** @param {number} factor */
  zoomBy(factor) {
    this.move(factor, 0, 0);
  }

  /**
   * Shows so many times as much, and another part by shares of what is shown.
   * @param {number} factor @param {number} right @param {number} up
   */
  move(factor, right, up) {
    const [dx, dy] = this.domains();
    const log = this.store.param('log') === '1';
    this.store.setParams({
      z: [...movedDomain(dx, factor, right, false), ...movedDomain(dy, factor, up, log)]
             .map((v) => Number(v.toPrecision(6)))
             .join(',')
    });
  }

  installBrush() {
    const svg = d3.select(this.chart.overlay);
    const place = svg.append('g').attr('class', 'grab');
    const brush = d3.brush().extent(() => [[this.frame.left, this.frame.top], [this.frame.right, this.frame.bottom]]);
    brush.on('end', () => {
      const area = d3.event.selection;
      if (!area) return;
      place.call(brush.move, null);
      const [[x0, y0], [x1, y1]] = area;
      if (x1 - x0 < 6 || y1 - y0 < 6) return;
      this.store.setParams({
        z: [this.x.invert(x0), this.x.invert(x1), this.y.invert(y1), this.y.invert(y0)]
               .map((v) => Number(v.toPrecision(6)))
               .join(',')
      });
    });
    const install = () => place.call(brush);
    new ResizeObserver(install).observe(this.chart.plot);
    install();
    this.chart.plot.addEventListener('dblclick', () => this.store.setParams({z: null}));
  }
}

/**
 * The index of the value nearest to `at` in an ascending list; -1: it is empty.
 * @param {ArrayLike<number>} list @param {number} at
 */
function indexNear(list, at) {
  let low = 0;
  let high = list.length - 1;
  if (high < 0) return -1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] < at) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low > 0 && at - list[low - 1] < list[low] - at ? low - 1 : low;
}
