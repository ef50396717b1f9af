// What all charts have: a canvas that fits its place, a tooltip, the keyboard, the same as a table, CSV, JSON and PNG.

import {FONT, theme} from './canvas.js';
import {announce, button, el, fill, plainTable, pngOf, saveButton, saveButtons} from './dom.js';
import {fileName} from './exports.js';
import {oneLine} from './format.js';

/** Rows of a chart's table that stand in the page; CSV has all. */
const TABLE_ROWS = 500;
/** How near the pointer has to be, pixels. */
const REACH = 18;
/** How far a key leads through the points. @type {Record<string, number>} */
const STEPS = {
  ArrowRight: 1,
  ArrowDown: 1,
  ArrowLeft: -1,
  ArrowUp: -1,
  PageDown: 10,
  PageUp: -10,
  Home: -Infinity,
  End: Infinity
};
/** Where a key with Shift moves what is shown: right and up. @type {Record<string, [number, number]>} */
const PANS = {
  ArrowRight: [1, 0],
  ArrowLeft: [-1, 0],
  ArrowUp: [0, 1],
  ArrowDown: [0, -1]
};
/** Of what is shown, that a key moves. */
const PAN_SHARE = 0.2;
/** How long what is shown becomes with a key that zooms in. */
const ZOOM = 0.7;

/**
 * @typedef {Object} Point  something of a chart that can be pointed at
 * @property {number} x  pixels
 * @property {number} y
 * @property {string|(() => string)} text  of thousands of points few are read: these make theirs when they are
 * @property {number} [model]
 * @property {number|string} [key]  what has the same key in another drawing is the same; without keys, what has
 *     the same model and text is
 * @property {number} [place]  which point of its line it is
 * @property {() => void} [open]
 *
 * @typedef {Object} Zoom
 * @property {(factor: number) => void} by  so many times as much is shown
 * @property {(right: number, up: number) => void} pan  by shares of what is shown
 * @property {() => void} whole
 *
 * @typedef {Object} ChartOptions
 * @property {string} title
 * @property {number|((width: number) => number)} [height]
 * @property {(ctx: CanvasRenderingContext2D, width: number, height: number) => void} draw
 * @property {(ctx: CanvasRenderingContext2D, width: number, height: number) => void} [drawTop]  what changes with
 * selection
 * @property {() => string} sentence  what the chart shows, in words
 * @property {() => {header: string[], rows: unknown[][]}} table
 * @property {() => Point[]} [points]  what the keyboard walks through
 * @property {(point: Point, by: number) => Point|null} [along]  of a chart of lines, where `points` has one of each:
 *     the point that is so many further on the same line, and with 0 the same one where it is now; null: the line is
 *     gone
 * @property {Zoom} [zoom]
 * @property {(x: number, y: number) => Point|null} [find]  instead of the nearest of `points`
 * @property {(point: Point) => void} [activate]  on click or Enter
 * @property {() => number} [minWidth]  a chart that is wider than its place is scrolled
 * @property {boolean} [overlay]  an SVG above the canvas, for brushes and zoom
 */

/** @param {Point} point */
function textOf({text}) {
  return typeof text === 'string' ? text : text();
}

/**
 * In which order the keyboard walks through models: the best first and those without a finite value last, or by their
 * numbers where nothing says which values are better.
 * @param {ArrayLike<number|null|undefined>} values @param {ArrayLike<number>} models
 * @param {import('./stats.js').Goal} [goal]
 * @returns {number[]} indices
 */
export function walkOrder(values, models, goal) {
  const sign = goal === 'MINIMIZE' ? 1 : -1;
  const cost = Array.from(models, (_, i) => {
    const value = values[i];
    return goal && typeof value === 'number' && Number.isFinite(value) ? sign * value : Infinity;
  });
  return Array.from(cost.keys())
      .sort((a, b) => cost[a] === cost[b] ? models[a] - models[b] : cost[a] < cost[b] ? -1 : 1);
}

/**
 * Where something of an earlier drawing is among the points of this one; -1: it is gone.
 * @param {Point[]} points @param {Point} before
 */
export function indexOfSame(points, before) {
  const at = points.indexOf(before);
  if (at >= 0) return at;
  if (before.key !== undefined) return points.findIndex(({key}) => key === before.key);
  const text = textOf(before);
  return points.findIndex((point) => point.model === before.model && textOf(point) === text);
}

/**
 * What one can do with a chart by keyboard, in words.
 * @param {Pick<ChartOptions, 'points'|'along'|'zoom'>} options
 */
export function keysSentence({points, along, zoom}) {
  const walk = along ? 'Up and down arrows walk from line to line, left and right ones along a line; ' :
      points         ? 'Arrow keys walk through it; ' :
                       '';
  const move = zoom ? 'plus and minus zoom, 0 shows the whole, arrows with Shift move what is shown; ' : '';
  return `${walk}${move}the button Table has it as a table.`;
}

export class Chart {
  /** @param {ChartOptions} options */
  constructor(options) {
    this.options = options;
    this.base = el('canvas', {'aria-hidden': 'true'});
    this.top = el('canvas', {
      class: 'top',
      role: 'img',
      tabindex: '0',
      'aria-label': options.title,
      on: {
        keydown: (/** @type {KeyboardEvent} */ event) => this.key(event),
        blur: () => this.point(null),
      }
    });
    this.overlay = options.overlay ? document.createElementNS('http://www.w3.org/2000/svg', 'svg') : null;
    this.tip = el('div', {class: 'tip', hidden: true});
    this.plot =
        el('div', {
          class: 'plot',
          on: {
            pointermove: (/** @type {PointerEvent} */ event) => this.hover(event),
            pointerleave: () => this.point(null),
            click: (/** @type {PointerEvent} */ event) => this.click(event),
          }
        },
           this.base, this.top, this.overlay, this.tip);
    this.tablePlace = el('div', {
      class: 'chart-table',
      hidden: true,
      tabindex: '0',
      role: 'region',
      'aria-label': `${options.title} as a table`
    });
    this.tableButton = button('Table', () => this.toggleTable(), {'aria-pressed': 'false', class: 'quiet'});
    this.tools = el('div', {class: 'tools'});
    this.caption = el('p', {class: 'sentence'});
    this.element =
        el('figure', {class: 'chart card', 'aria-label': options.title},
           el('div', {class: 'chart-head'}, el('h2', {}, options.title),
              el('div', {class: 'tools'}, this.tableButton,
                 ...saveButtons(options.title, () => this.fileName(), () => this.options.table()),
                 saveButton(options.title, 'PNG', () => this.fileName(), () => pngOf(this.picture())))),
           this.tools,
           options.minWidth ?
               el('div', {class: 'plot-scroll', tabindex: '0', role: 'group', 'aria-label': options.title}, this.plot) :
               this.plot,
           this.tablePlace, el('figcaption', {}, this.caption));
    this.width = 0;
    this.height = 0;
    /** @type {Point|null} */
    this.pointed = null;
    /** What the keyboard has pointed at last. @type {Point|null} */
    this.walked = null;
    /** Where the pointer has pointed; null: the keyboard has. @type {[number, number]|null} */
    this.pointer = null;
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.plot);
  }

  destroy() {
    this.observer.disconnect();
  }

  resize() {
    const width = Math.floor(this.plot.clientWidth);
    if (width === 0 || width === this.width) return;
    this.width = width;
    this.redraw();
  }

  /** Draws everything anew. */
  redraw() {
    if (this.width === 0) return;
    if (this.options.minWidth) {
      this.plot.style.minWidth = `${this.options.minWidth()}px`;
      this.width = Math.floor(this.plot.clientWidth);
    }
    const {height = 280} = this.options;
    this.height = typeof height === 'function' ? height(this.width) : height;
    const scale = Math.min(devicePixelRatio || 1, 3);
    for (const canvas of [this.base, this.top]) {
      canvas.width = Math.round(this.width * scale);
      canvas.height = Math.round(this.height * scale);
      canvas.style.width = `${this.width}px`;
      canvas.style.height = `${this.height}px`;
    }
    this.plot.style.height = `${this.height}px`;
    if (this.overlay) {
      this.overlay.setAttribute('width', String(this.width));
      this.overlay.setAttribute('height', String(this.height));
    }
    const before = this.pointed;
    this.pointed = null;
    this.paint(this.base, this.options.draw);
    this.pointed = before && this.again(before);
    this.redrawTop();
    this.showTip();
    this.describe();
  }

  /** Draws what lies above: selection and what is pointed at. */
  redrawTop() {
    if (this.width === 0) return;
    this.paint(this.top, (ctx, width, height) => {
      this.options.drawTop?.(ctx, width, height);
      if (this.pointed) {
        ctx.beginPath();
        ctx.arc(this.pointed.x, this.pointed.y, 6, 0, 2 * Math.PI);
        ctx.lineWidth = 2;
        ctx.strokeStyle = theme().text;
        ctx.stroke();
      }
    });
  }

  describe() {
    const sentence = this.options.sentence();
    this.caption.textContent = sentence;
    this.top.setAttribute('aria-label', `${this.options.title}. ${sentence} ${keysSentence(this.options)}`);
    if (!this.tablePlace.hidden) this.fillTable();
  }

  /** @param {HTMLCanvasElement} canvas @param {(ctx: CanvasRenderingContext2D, w: number, h: number) => void} draw */
  paint(canvas, draw) {
    const ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
    const scale = canvas.width / this.width;
    ctx.setTransform(scale, 0, 0, scale, 0, 0);
    ctx.clearRect(0, 0, this.width, this.height);
    ctx.font = FONT;
    ctx.lineJoin = 'round';
    draw(ctx, this.width, this.height);
  }

  toggleTable() {
    this.tablePlace.hidden = !this.tablePlace.hidden;
    this.tableButton.setAttribute('aria-pressed', String(!this.tablePlace.hidden));
    if (!this.tablePlace.hidden) this.fillTable();
  }

  fillTable() {
    const {header, rows} = this.options.table();
    const shown = rows.slice(0, TABLE_ROWS).map((row) => row.map((cell) => oneLine(cell ?? '–', 120)));
    fill(
        this.tablePlace, plainTable(this.options.title, header.map((h) => oneLine(h, 120)), shown),
        rows.length > TABLE_ROWS ? el('p', {}, `${rows.length - TABLE_ROWS} more rows are in the CSV.`) : null);
  }

  /** Without an ending. */
  fileName() {
    return fileName(this.options.title.toLowerCase());
  }

  /** Both layers, on the card's colour. */
  picture() {
    const whole = document.createElement('canvas');
    whole.width = this.base.width;
    whole.height = this.base.height;
    const ctx = /** @type {CanvasRenderingContext2D} */ (whole.getContext('2d'));
    ctx.fillStyle = theme().card;
    ctx.fillRect(0, 0, whole.width, whole.height);
    ctx.drawImage(this.base, 0, 0);
    ctx.drawImage(this.top, 0, 0);
    return whole;
  }

  /** @param {number} x @param {number} y @returns {Point|null} */
  nearest(x, y) {
    if (this.options.find) return this.options.find(x, y);
    let best = null;
    let least = REACH * REACH;
    for (const point of this.options.points?.() ?? []) {
      const distance = (point.x - x) ** 2 + (point.y - y) ** 2;
      if (distance < least) {
        least = distance;
        best = point;
      }
    }
    return best;
  }

  /**
   * What was pointed at before everything was drawn anew; null: it is gone.
   * @param {Point} before @returns {Point|null}
   */
  again(before) {
    const here = this.pointer && this.nearest(...this.pointer);
    if (here && indexOfSame([here], before) === 0) return here;
    const {along, points} = this.options;
    if (along) return along(before, 0);
    const now = points?.() ?? [];
    return now[indexOfSame(now, before)] ?? null;
  }

  /** @param {Point|null} point */
  point(point) {
    if (this.pointed === point) return;
    this.pointed = point;
    this.redrawTop();
    this.showTip();
  }

  /** Says what is pointed at, beside it and inside the chart. */
  showTip() {
    const {pointed, tip} = this;
    tip.hidden = pointed === null;
    if (pointed === null) return;
    tip.textContent = textOf(pointed);
    tip.style.maxWidth = `${Math.min(280, this.width)}px`;
    const below = pointed.y + 14;
    const top = below + tip.offsetHeight > this.height ? pointed.y - 10 - tip.offsetHeight : below;
    const inside = (/** @type {number} */ at, /** @type {number} */ most) => Math.max(0, Math.min(at, most));
    tip.style.left = `${inside(pointed.x + 12, this.width - tip.offsetWidth)}px`;
    tip.style.top = `${inside(top, this.height - tip.offsetHeight)}px`;
  }

  /** @param {PointerEvent} event */
  hover(event) {
    if (event.buttons !== 0) return;
    this.pointer = this.placeOf(event);
    const point = this.nearest(...this.pointer);
    this.point(point);
    this.plot.style.cursor = point && this.options.activate ? 'pointer' : '';
  }

  /** @param {MouseEvent} event @returns {[number, number]} */
  placeOf(event) {
    const box = this.plot.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  /** @param {MouseEvent} event */
  click(event) {
    const point = this.nearest(...this.placeOf(event));
    if (point) this.options.activate?.(point);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (this.zoomByKey(event) || this.walk(event.key)) event.preventDefault();
  }

  /** @param {KeyboardEvent} event @returns {boolean} whether the key is one that zooms */
  zoomByKey({key, shiftKey}) {
    const {zoom} = this.options;
    if (!zoom) return false;
    if (key === '+') {
      zoom.by(ZOOM);
    } else if (key === '-') {
      zoom.by(1 / ZOOM);
    } else if (key === '0') {
      zoom.whole();
    } else if (shiftKey && PANS[key]) {
      const [right, up] = PANS[key];
      zoom.pan(right * PAN_SHARE, up * PAN_SHARE);
    } else {
      return false;
    }
    return true;
  }

  /** @param {string} key @returns {boolean} whether it leads to a point, or does something with one */
  walk(key) {
    const {activate, along, points} = this.options;
    if (key === 'Enter' && this.pointed) {
      activate?.(this.pointed);
      return true;
    }
    const step = STEPS[key];
    if (step === undefined || !points) return false;
    const from = this.pointed ?? this.walked;
    const sideways = key === 'ArrowLeft' || key === 'ArrowRight';
    let next = from && sideways && along ? along(from, step) : null;
    if (!next) {
      const list = points();
      const at = from ? indexOfSame(list, from) : -1;
      next = list[Math.max(0, Math.min(list.length - 1, at + step))] ?? null;
    }
    if (!next) return false;
    this.pointer = null;
    this.walked = next;
    this.point(next);
    this.tip.scrollIntoView({block: 'nearest', inline: 'nearest'});
    announce(textOf(next));
    return true;
  }
}
