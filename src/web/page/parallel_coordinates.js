// Models as lines over the axes of the view of choices: drawn on a canvas, with brushes and handles on top.

import {brushText, OFF_SHARE} from './axes.js';
import {d3, FONT, theme, themeName} from './canvas.js';
import {Chart, walkOrder} from './chart.js';
import {findColumn} from './columns.js';
import {colorOf} from './filter_bar.js';
import {counted, formatCount, formatNumber, oneLine} from './format.js';
import {joinList} from './sort.js';

const COLORS = 16;
/** Lines that are drawn at most; where there are more, the sentence says so. */
const MOST_LINES = 12000;
/** Characters of a model's choices that stand beside it. */
const MOST_TEXT = 300;
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

export class ParallelCoordinates {
  /** @param {import('./view_choices.js').ChoicesView} view */
  constructor(view) {
    this.view = view;
    this.store = view.store;
    this.chart = new Chart({
      title: 'Parallel coordinates',
      height: (w) => w < 600 ? 360 : Math.max(400, Math.min(640, window.innerHeight - 380)),
      draw: (c) => this.draw(c),
      drawTop: (c) => this.drawTop(c),
      sentence: () => this.sentence(),
      table: () => this.table(),
      points: () => this.points(),
      along: (point, by) => this.along(point, by),
      find: (x, y) => this.find(x, y),
      activate: (p) => {
        if (p.model !== undefined) this.store.toggle(p.model);
      },
      overlay: true,
      minWidth: () => 64 * this.view.order.length
    });
    /** @type {import('./chart.js').Point[]|null} made when they are asked for: few pictures are pointed at */
    this.madePoints = null;
    this.overlay = d3.select(this.chart.overlay);
    /** Axes whose brush is being dragged. @type {Set<string>} */
    this.dragged = new Set();
    /** Axes that are being moved. @type {Set<string>} */
    this.moved = new Set();
  }

  destroy() {
    this.chart.destroy();
  }

  /** @param {number} i */
  xOf(i) {
    const {width} = this.chart;
    // At the right there is room for the last axis's labels and slanted title.
    const [left, right] = [Math.min(30, width / 12), Math.min(100, width / 4)];
    return this.view.order.length < 2 ? width / 2 : left + (width - left - right) * i / (this.view.order.length - 1);
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
    const model = this.view.current().table.model[row];
    const low = axis.hasOff ? OFF_SHARE : 0;
    let share = axis.at[row];
    if (axis.place[row] < 0) {
      share += (scatter(model) - 0.5) * OFF_SHARE * 0.5;
    } else if (axis.kind === 'choice') {
      share += (scatter(model) - 0.5) * SPREAD * (1 - low) / axis.places.length;
    }
    return this.yOf(share);
  }

  /** The goal of its metric; undefined: it is no objective. */
  goal() {
    return this.view.current().table.objectives.find(({metric}) => metric === this.view.metric())?.goal;
  }

  lessIsBetter() {
    return this.goal() === 'MINIMIZE';
  }

  /** The colour of each row by its metric, the best last; -1: it has none. */
  colorOfRow() {
    const values = this.view.current().table.metrics.get(this.view.metric()) ?? [];
    const known = this.view.rows.map((row) => values[row])
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
    this.madePoints = null;
    const colors = theme();
    const axes = this.view.order.map((id) => /** @type {import('./axes.js').Axis} */ (this.view.axes.get(id)));
    const inside = new Set(this.view.brushed);
    const brushing = this.view.brushes().size > 0;
    const colorOfRow = this.colorOfRow();
    const {table} = this.view.current();
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
      ctx.globalAlpha = Math.min(0.5, 40 / Math.sqrt(this.view.rows.length + 1) / 8);
      lines(thinned(table, this.view.rows.filter((row) => !inside.has(row))));
    }
    const drawn = thinned(table, this.view.brushed);
    ctx.globalAlpha = Math.max(0.1, Math.min(0.8, 8 / Math.sqrt(drawn.length + 1)));
    const groups = Array.from({length: COLORS + 1}, () => /** @type {number[]} */ ([]));
    for (const row of drawn) groups[colorOfRow(row) + 1].push(row);
    groups.forEach((rows, g) => {
      ctx.strokeStyle = this.color(g - 1);
      lines(rows);
    });
    ctx.globalAlpha = 1;
    axes.forEach((axis, i) => this.drawAxis(ctx, axis, i));
    // Brushes are SVG above; a picture that is saved has them, too.
    ctx.strokeStyle = colors.accent;
    ctx.lineWidth = 1;
    for (const [id, [from, to]] of this.view.brushes()) {
      const i = this.view.order.indexOf(id);
      if (i >= 0) ctx.strokeRect(this.xOf(i) - 11, this.yOf(to), 22, this.yOf(from) - this.yOf(to));
    }
    this.placeBrushes();
    performance.measure('draw choices', {start: begun, end: performance.now()});
  }

  /** @param {CanvasRenderingContext2D} ctx @param {import('./axes.js').Axis} axis @param {number} i */
  drawAxis(ctx, axis, i) {
    const colors = theme();
    const x = Math.round(this.xOf(i)) + 0.5;
    const step = this.view.order.length > 1 ? this.xOf(1) - this.xOf(0) : this.chart.width;
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
      const room = Math.max(24, i === this.view.order.length - 1 ? this.chart.width - x - 8 : step - 12);
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
    const {table} = this.view.current();
    const axes = this.view.order.map((id) => this.view.axes.get(id));
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
    if (py < TOP - 10 || this.view.order.length < 2) return null;
    let i = 0;
    while (i + 2 < this.view.order.length && this.xOf(i + 1) < px) ++i;
    const left = this.view.axes.get(this.view.order[i]);
    const right = this.view.axes.get(this.view.order[i + 1]);
    if (!left || !right) return null;
    const share = (px - this.xOf(i)) / (this.xOf(i + 1) - this.xOf(i));
    if (share < -0.1 || share > 1.1) return null;
    let best = -1;
    let least = 8;
    for (const row of this.view.brushed) {
      const y = this.crossing(left, row) * (1 - share) + this.crossing(right, row) * share;
      const distance = Math.abs(y - py);
      if (distance < least) {
        least = distance;
        best = row;
      }
    }
    if (best < 0) return null;
    const {model} = this.view.current().table;
    return {x: px, y: py, model: model[best], key: model[best], text: this.textOf(best)};
  }

  /** @param {number} row */
  textOf(row) {
    const {table} = this.view.current();
    return `model ${table.model[row]}\n${oneLine(this.view.metric(), 30)} ${
        formatNumber(table.metrics.get(this.view.metric())?.[row])}`;
  }

  /**
   * For the keyboard: a model at one of its axes.
   * @param {number} row @param {number} [place]  of the axis; none: at the first, with what all of them say
   * @returns {import('./chart.js').Point}
   */
  pointOf(row, place) {
    const {axes, order} = this.view;
    const model = this.view.current().table.model[row];
    return {
      x: this.xOf(place ?? 0),
      y: this.crossing(/** @type {import('./axes.js').Axis} */ (axes.get(order[place ?? 0])), row),
      model,
      key: model,
      place,
      text: () => `${this.textOf(row)}\n${this.valuesText(row, place)}`
    };
  }

  /** @param {number} row @param {number} [place]  of the axis; none: of all but the metric's */
  valuesText(row, place) {
    const {order} = this.view;
    const metric = `metric.${this.view.metric()}`;
    const ids = place === undefined ? order.filter((id) => id !== metric) : [order[place]];
    const {columns} = this.store.selection();
    const texts = ids.flatMap((id) => {
      const column = findColumn(columns, id);
      if (!column) return [];
      const absent = column.group === 'choice' && column.raw(row) === null;
      return `${column.title} ${absent ? 'not chosen' : column.text(row)}`;
    });
    return oneLine(texts.join(', '), MOST_TEXT);
  }

  /** Each model within the brushes, the best first; where the metric is no objective, by their numbers. */
  points() {
    const {order, brushed} = this.view;
    if (order.length === 0) return [];
    if (!this.madePoints) {
      const {table} = this.view.current();
      const values = table.metrics.get(this.view.metric());
      const models = brushed.map((row) => table.model[row]);
      this.madePoints = walkOrder(brushed.map((row) => values?.[row]), models, this.goal())
                            .map((i) => this.pointOf(brushed[i]));
    }
    return this.madePoints;
  }

  /**
   * The same model so many axes further.
   * @param {import('./chart.js').Point} point @param {number} by @returns {import('./chart.js').Point|null}
   */
  along({model, place}, by) {
    const {order, brushed} = this.view;
    const row = this.view.current().table.rowOf.get(/** @type {number} */ (model));
    if (row === undefined || order.length === 0 || !brushed.includes(row)) return null;
    const at = by === 0 ? place : (place ?? -1) + by;
    return this.pointOf(row, at === undefined ? at : Math.max(0, Math.min(order.length - 1, at)));
  }

  /** Brushes on every axis, and handles above that reorder. */
  placeBrushes() {
    const [top, bottom] = [this.yOf(1), this.yOf(0)];
    const groups = this.overlay.selectAll('g.axis').data(this.view.order, (/** @type {string} */ id) => id);
    groups.exit().remove();
    const entered = groups.enter().append('g').attr('class', 'axis');
    entered.append('g').attr('class', 'grab brush');
    entered.append('rect').attr('class', 'grab mover');
    const self = this;
    entered.merge(groups).each(function(/** @type {string} */ id) {
      // d3 hands the element as `this`.
      // @ts-ignore
      const group = d3.select(this);
      self.placeAxis(id, group, d3.drag().container(self.overlay.node()));
      self.placeBrush(id, group.select('g.brush'), d3.brushY().extent([[-11, top], [11, bottom]]));
    });
  }

  /**
   * Puts an axis' brush and handle where the address has it. One that is being moved is left alone: it stays under the
   * pointer, and another drag of D3 would not know of the finger that moves it.
   * @param {string} id @param {any} group  of D3 @param {any} drag  of D3
   */
  placeAxis(id, group, drag) {
    if (this.moved.has(id)) return;
    group.attr('transform', `translate(${this.xOf(this.view.order.indexOf(id))},0)`);
    group.select('rect.mover')
        .attr('x', -30)
        .attr('y', 0)
        .attr('width', 60)
        .attr('height', TOP - 8)
        .attr('fill', 'transparent')
        .style('cursor', 'ew-resize')
        .call(drag.on('start', () => this.moved.add(id))
                  .on('drag', () => group.attr('transform', `translate(${d3.event.x},0)`))
                  .on('end', () => this.dropped(id, d3.event.x)));
  }

  /**
   * The reader has let go of an axis.
   * @param {string} id @param {number} x
   */
  dropped(id, x) {
    this.moved.delete(id);
    const others = this.view.order.filter((other) => other !== id);
    const at = others.filter((other) => this.xOf(this.view.order.indexOf(other)) < x).length;
    others.splice(at, 0, id);
    this.store.setParams({axes: joinList(others)});
    this.store.changed('params');
  }

  /**
   * Puts an axis' brush where the address has it. One that is being dragged is left alone: where the pointer rests, D3
   * would end the drag with the range that the brush was given meanwhile.
   * @param {string} id @param {any} place  of D3 @param {any} brush  of D3
   */
  placeBrush(id, place, brush) {
    if (this.dragged.has(id)) return;
    place.call(brush);
    const range = this.view.brushes().get(id);
    place.call(brush.move, range ? [this.yOf(range[1]), this.yOf(range[0])] : null);
    // From here on nobody but the reader moves it.
    brush.on('start', () => this.dragged.add(id)).on('end', () => this.released(id, d3.event.selection));
  }

  /**
   * The reader has let go of an axis' brush.
   * @param {string} id @param {[number, number]|null} area  pixels, from its upper end
   */
  released(id, area) {
    this.dragged.delete(id);
    const next = this.view.brushes();
    if (area) {
      const bottom = this.chart.height - BOTTOM;
      const span = bottom - TOP;
      next.set(id, [Math.max(0, (bottom - area[1]) / span), Math.min(1, (bottom - area[0]) / span)]);
    } else {
      next.delete(id);
    }
    this.view.setBrushes(next);
  }

  sentence() {
    const brushes = this.view.brushes();
    const words = [...brushes].flatMap(([id, range]) => {
      const axis = this.view.axes.get(id);
      return axis ? [`${oneLine(axis.title, 40)}: ${brushText(axis, range, (v) => formatNumber(v, 3))}`] : [];
    });
    return `${counted(this.view.rows.length, 'model')} over ${this.view.order.length} axes${
        this.view.brushed.length > MOST_LINES ? ` (about ${formatNumber(MOST_LINES)} are drawn)` :
                                                ''}; ${themeName() === 'dark' ? 'bright' : 'dark'} lines have a ${
        this.lessIsBetter() ? 'low' : 'high'} ${oneLine(this.view.metric(), 40)}.${
        words.length > 0 ?
            ` ${formatNumber(this.view.brushed.length)} are within ${words.join('; ')}.` :
            ''} Drag along an axis to brush, drag its title to move it; the buttons above do the same by keyboard. "› " marks a choice that depends on another.`;
  }

  table() {
    const {columns} = this.store.selection();
    const list = this.view.order.flatMap((id) => findColumn(columns, id) ?? []);
    const {table} = this.view.current();
    return {
      header: ['model', ...list.map((c) => c.title)],
      rows: this.view.brushed.map(
          (row) => [table.model[row], ...list.map((c) => c.raw(row) ?? (c.group === 'choice' ? 'not chosen' : null))])
    };
  }
}
