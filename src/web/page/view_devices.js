// Which device did what and when: a timeline of trials, merged ones as one bar, and how busy each slot was.

import {d3, drawAxes, FONT, frameOf, theme, themeName} from './canvas.js';
import {Chart} from './chart.js';
import {statusText} from './columns.js';
import {button, el, fill, plainTable, refill, stateBox, statusBadge, tableRegion, timeWithUtc} from './dom.js';
import {colorOf} from './filter_bar.js';
import {counted, formatDuration, formatNumber, oneLine, timeText, zoneText} from './format.js';
import {leaseText, nodeLines} from './nodes.js';
import {barHeight, statusStyle} from './palette.js';
import {otherView, writeRoute} from './route.js';
import {barsOf, busyShare} from './stats.js';

const LANE = 26;
const LEFT = 130;
/** Merged trials that are listed. */
const LISTED = 100;
/** Between two requests for the nodes, ms. */
const NODES_PACE = 5000;

/**
 * Times of an axis: of the day, with seconds, or parts of them, where it is short and the date where it is long.
 * @param {[number, number]} domain
 */
function clockText([from, to]) {
  const format = d3.timeFormat(
      to - from < 12000            ? '%H:%M:%S.%L' :
          to - from < 10 * 60000   ? '%H:%M:%S' :
          to - from < 36 * 3600000 ? '%H:%M' :
                                     '%m-%d %H:%M');
  return (/** @type {Date} */ time) => format(time);
}

export class DevicesView {
  /** @param {import('./store.js').Store} store */
  constructor(store) {
    this.store = store;
    this.title = 'Devices';
    /** @type {import('./stats.js').Bar[]} */
    this.bars = [];
    this.state = el('div', {});
    this.chart = new Chart({
      title: 'Trials by device',
      height: () => 24 + LANE * Math.max(1, this.devices().length) + 46,
      draw: (c, w, h) => this.draw(c, w, h),
      drawTop: (c) => this.drawTop(c),
      sentence: () => this.sentence(),
      table: () => this.table(),
      points: () => this.points(),
      find: (x, y) => this.find(x, y),
      zoom: {
        by: (factor) => this.zoomBy(factor),
        pan: (right) => this.pan(right),
        whole: () => store.setParams({z: null})
      },
      overlay: true,
      activate: (p) => {
        if (p.model !== undefined) store.toggle(p.model);
      }
    });
    this.chart.tools.append(
        button('Zoom in', () => this.zoomBy(0.5), {class: 'quiet'}),
        button('Zoom out', () => this.zoomBy(2), {class: 'quiet'}),
        button('◀', () => this.pan(-0.4), {class: 'quiet', 'aria-label': 'Earlier'}),
        button('▶', () => this.pan(0.4), {class: 'quiet', 'aria-label': 'Later'}),
        button('Whole', () => store.setParams({z: null}), {class: 'quiet'}));
    this.legend = el('div', {class: 'row muted'});
    this.share = el('section', {class: 'card view', 'aria-label': 'Busy share'});
    this.merged = el('section', {class: 'card view', 'aria-label': 'Merged trials'});
    this.nodes = el('section', {class: 'card view', 'aria-label': 'Nodes', hidden: true});
    this.element =
        el('div', {class: 'view'}, this.state, this.chart.element, this.legend,
           el('div', {class: 'cards'}, this.share, this.merged), this.nodes);
    /** @type {any} */
    this.x = null;
    this.frame = frameOf(100, 100);
    this.installBrush();
    this.timer = setInterval(() => this.tick(), 2000);
    this.abort = new AbortController();
    this.nodesKey = '';
    /** @type {ReturnType<typeof setTimeout>|undefined} */
    this.nodesTimer = undefined;
    this.loadNodes();
  }

  destroy() {
    this.abort.abort();
    clearTimeout(this.nodesTimer);
    clearInterval(this.timer);
    this.chart.destroy();
  }

  /** Bars of trials that run grow without an event. */
  tick() {
    const {current} = this.store;
    if (current?.attempts && current.table.status === 'RUNNING') this.store.changed('clock', true);
  }

  devices() {
    return this.store.current?.attempts?.devices ?? [];
  }

  /** @param {Set<string>} changes */
  update(changes) {
    const attempts = this.store.current?.attempts;
    if (!attempts) {
      this.chart.element.hidden = this.share.hidden = this.merged.hidden = true;
      fill(this.state, stateBox('loading', 'Loading the timeline …'));
      this.store.loadAttempts().catch(
          (error) => fill(this.state, stateBox('error', 'The timeline cannot be loaded', error.message)));
      return;
    }
    if (changes.size === 1 && changes.has('selection')) {
      this.chart.redrawTop();
      return;
    }
    this.bars = barsOf(attempts);
    const none = this.bars.length === 0;
    this.chart.element.hidden = this.share.hidden = this.merged.hidden = none;
    fill(this.state, none ? stateBox('empty', 'No trial has begun yet') : null);
    if (!none) this.redraw();
  }

  headIsBack() {
    if (!this.store.current?.attempts) this.update(new Set());
  }

  redraw() {
    this.chart.redraw();
    this.drawShare();
    this.drawMerged();
    const outcomes = [...new Set(this.bars.map((bar) => bar.end === null ? 'RUNNING' : bar.outcome ?? '?'))].sort();
    fill(this.legend, ...outcomes.map((outcome) => {
      const key = el('span', {class: 'bar-key', 'aria-hidden': 'true'});
      key.style.height = `${100 * barHeight(outcome)}%`;
      return el('span', {class: 'bar-named'}, key, statusBadge(outcome));
    }));
  }

  /** @returns {[number, number]} */
  whole() {
    let from = Infinity;
    let to = -Infinity;
    for (const bar of this.bars) {
      from = Math.min(from, bar.start);
      to = Math.max(to, bar.end ?? Date.now());
    }
    return from < to ? [from, to] : [from - 1000, from + 1000];
  }

  /** @returns {[number, number]} */
  domain() {
    const zoom = this.store.param('z').split(',').map(Number);
    return zoom.length === 2 && zoom.every(Number.isFinite) && zoom[0] < zoom[1] ? [zoom[0], zoom[1]] : this.whole();
  }

  /** @param {number} factor */
  zoomBy(factor) {
    const [a, b] = this.domain();
    const half = (b - a) / 2 * factor;
    this.setDomain((a + b) / 2 - half, (a + b) / 2 + half);
  }

  /** @param {number} share */
  pan(share) {
    const [a, b] = this.domain();
    this.setDomain(a + (b - a) * share, b + (b - a) * share);
  }

  /** @param {number} a @param {number} b */
  setDomain(a, b) {
    const [from, to] = this.whole();
    this.store.setParams({z: a <= from && b >= to ? null : `${Math.round(a)},${Math.round(Math.max(a + 10, b))}`});
  }

  /** @param {CanvasRenderingContext2D} ctx @param {number} width @param {number} height */
  draw(ctx, width, height) {
    const colors = theme();
    const name = themeName();
    const devices = this.devices();
    this.left = Math.min(LEFT, width / 4);
    this.frame = {left: this.left, top: 20, right: width - 14, bottom: height - 42};
    const {frame} = this;
    this.x = d3.scaleTime().domain(this.domain().map((t) => new Date(t))).range([frame.left, frame.right]);
    const none = Object.assign(() => 0, {ticks: () => [], tickFormat: () => String});
    const [from] = this.domain();
    const xTitle = `local time (${zoneText(from)})`;
    drawAxes(ctx, frame, {x: this.x, y: none, xTitle, yTitle: '', xFormat: clockText(this.domain())});
    ctx.textBaseline = 'middle';
    devices.forEach((device, d) => {
      const y = frame.top + LANE * d;
      if (d % 2 === 1) {
        ctx.fillStyle = colors.page;
        ctx.fillRect(frame.left + 1, y, frame.right - frame.left - 1, LANE);
      }
      ctx.font = FONT;
      ctx.fillStyle = colors.text;
      ctx.textAlign = 'right';
      let label = oneLine(device, 60);
      while (label.length > 2 && ctx.measureText(label).width > frame.left - 10) label = `…${label.slice(2)}`;
      ctx.fillText(label, frame.left - 6, y + LANE / 2);
    });
    ctx.save();
    ctx.beginPath();
    ctx.rect(frame.left, frame.top, frame.right - frame.left, frame.bottom - frame.top);
    ctx.clip();
    const kept = new Set(this.keptBars());
    for (const bar of this.bars) {
      const [x0, x1, top] = this.place(bar);
      if (x1 < frame.left || x0 > frame.right) continue;
      const state = bar.end === null ? 'RUNNING' : bar.outcome ?? '';
      const h = (LANE - 6) * barHeight(state);
      const y = top + LANE - 6 - h;
      ctx.globalAlpha = kept.has(bar) ? 0.9 : 0.2;
      ctx.fillStyle = statusStyle(state)[name];
      const w = Math.max(1, x1 - x0 - (x1 - x0 > 4 ? 1 : 0));
      if (state === 'SUCCEEDED') {
        ctx.fillRect(x0, y, w, h);
      } else {
        // Other ends are outlined, so that colour is not all that tells them.
        ctx.globalAlpha *= 0.45;
        ctx.fillRect(x0, y, w, h);
        ctx.globalAlpha = Math.min(1, ctx.globalAlpha * 2.2);
        if (w > 3) {
          ctx.strokeStyle = statusStyle(state)[name];
          ctx.lineWidth = 1.5;
          ctx.strokeRect(x0 + 0.75, y + 0.75, w - 1.5, h - 1.5);
        }
      }
      if (bar.models.length > 1 && w > 5) {
        // A merged trial: as many stripes as models.
        ctx.fillStyle = colors.card;
        for (let i = 1; i < Math.min(bar.models.length, 8); ++i)
          ctx.fillRect(x0, y + h * i / Math.min(bar.models.length, 8) - 0.5, w, 1);
      }
      const text = bar.models.length > 1 ? `${statusStyle(state).glyph} ${bar.models.length} models` :
                                           `${statusStyle(state).glyph} ${bar.models[0]}`;
      ctx.font = FONT;
      if (w > ctx.measureText(text).width + 8) {
        ctx.globalAlpha = 1;
        ctx.textAlign = 'left';
        const box = ctx.measureText(text).width;
        ctx.fillStyle = colors.card;
        ctx.fillRect(x0 + 3, top + 3, box + 4, LANE - 12);
        ctx.fillStyle = colors.text;
        ctx.fillText(text, x0 + 5, top + (LANE - 6) / 2);
      }
    }
    ctx.restore();
    ctx.globalAlpha = 1;
  }

  /** Trials of models that pass the filter. */
  keptBars() {
    const kept = new Set(this.store.selection().kept.map((row) => this.store.current?.table.model[row]));
    return this.bars.filter((bar) => bar.models.some((model) => kept.has(model)));
  }

  /** @param {import('./stats.js').Bar} bar @returns {[number, number, number]} */
  place(bar) {
    return [this.x(bar.start), this.x(bar.end ?? Date.now()), this.frame.top + LANE * bar.device + 3];
  }

  /** @param {CanvasRenderingContext2D} ctx */
  drawTop(ctx) {
    if (!this.x) return;
    for (const bar of this.bars) {
      const model = bar.models.find((m) => this.store.selected.has(m));
      if (model === undefined) continue;
      const [x0, x1, y] = this.place(bar);
      if (x1 < this.frame.left || x0 > this.frame.right) continue;
      ctx.strokeStyle = colorOf(this.store, model);
      ctx.lineWidth = 3;
      ctx.strokeRect(
          Math.max(this.frame.left, x0) - 1, y - 1,
          Math.max(3, Math.min(this.frame.right, x1) - Math.max(this.frame.left, x0)) + 2, LANE - 4);
    }
  }

  /** @param {import('./stats.js').Bar} bar @returns {import('./chart.js').Point} */
  pointOf(bar) {
    const [x0, x1, y] = this.place(bar);
    return {
      x: Math.max(this.frame.left, Math.min(this.frame.right, (x0 + x1) / 2)),
      y: y + LANE / 2 - 3,
      model: bar.models[0],
      key: `${bar.trial}/${bar.device}`,
      text: () => this.textOf(bar)
    };
  }

  /** @param {import('./stats.js').Bar} bar */
  textOf(bar) {
    const models = bar.models.length === 1 ?
        `model ${bar.models[0]}` :
        `models ${bar.models.slice(0, 12).join(', ')}${bar.models.length > 12 ? ' …' : ''}, merged`;
    return `trial ${bar.trial}: ${models}\n${oneLine(this.devices()[bar.device], 60)}, ${
        bar.end === null ? 'running' : statusText(bar.outcome ?? '?')}\n${timeText(bar.start)}, ${
        formatDuration(((bar.end ?? Date.now()) - bar.start) / 1000)}`;
  }

  points() {
    return this.x ? this.bars.map((bar) => this.pointOf(bar)) : [];
  }

  /** @param {number} px @param {number} py */
  find(px, py) {
    if (!this.x) return null;
    const device = Math.floor((py - this.frame.top) / LANE);
    const at = this.x.invert(px).getTime();
    const slack = this.x.invert(px + 2).getTime() - at;
    const bar =
        this.bars.find((b) => b.device === device && b.start - slack <= at && (b.end ?? Date.now()) + slack >= at);
    return bar && px >= this.frame.left ? {...this.pointOf(bar), x: px} : null;
  }

  shares() {
    const [from, to] = this.domain();
    return this.devices().map((device, d) => {
      const bars = this.bars.filter((bar) => bar.device === d);
      return {
        device,
        trials: bars.length,
        share: busyShare(bars.map((bar) => [bar.start, bar.end ?? Date.now()]), from, to)
      };
    });
  }

  drawShare() {
    const shares = this.shares();
    const queued = this.store.current?.table.state.filter((state) => state === 'QUEUED').length ?? 0;
    fill(
        this.share, el('h2', {}, 'Busy share'), el('div', {class: 'bars'}, ...shares.map(({device, trials, share}, d) => {
          const bar = el('div', {class: 'bar-fill'});
          bar.style.width = `${100 * share}%`;
          const lease = leaseText(this.bars, d);
          return el(
              'div', {class: 'bar-line'},
              el('div', {class: 'clip', title: oneLine(device)}, oneLine(device, 60),
                 lease ? el('div', {class: 'muted clip'}, lease) : null),
              el('span', {class: 'bar-track', 'aria-hidden': 'true'}, bar),
              el('span', {class: 'numeric', title: counted(trials, 'trial')}, `${Math.round(100 * share)} %`));
        })),
        el('p', {class: 'sentence'}, `Of the time that is shown above. ${counted(queued, 'model')} waiting.`));
  }

  /** Where no node can join, this part stays away. */
  async loadNodes() {
    const {info} = this.store;
    if (info && !info.nodes) return;
    let nodes = null;
    try {
      if (info && !document.hidden) nodes = await this.store.api.json('nodes', this.abort.signal);
    } catch {
      if (this.abort.signal.aborted) return;
      // What was known stays until there is an answer again.
    }
    if (nodes) this.drawNodes(nodes);
    this.nodesTimer = setTimeout(() => this.loadNodes(), NODES_PACE);
  }

  /** @param {{nodes: import('./nodes.js').HeadNode[]}} document */
  drawNodes(document) {
    const key = JSON.stringify(document);
    if (key === this.nodesKey) return;
    this.nodesKey = key;
    const lines = nodeLines(document, this.store.current?.id ?? '');
    this.nodes.hidden = false;
    refill(
        this.nodes, el('h2', {}, `Nodes (${formatNumber(lines.length)})`),
        lines.length === 0 ?
            el('p', {class: 'muted'}, 'No node has joined: trials run on the devices of the head\'s machine, if it has any.') :
            tableRegion('Nodes', {},
               plainTable(
                   'Nodes', ['Node', 'State', 'Busy slots', 'Runs', 'Since', 'More'],
                   lines.map(
                       (line) =>
                           [line.name, statusBadge(line.state), line.busy, line.trials, timeWithUtc(line.since),
                            line.about]))));
  }

  drawMerged() {
    const merged = this.bars.filter((bar) => bar.models.length > 1);
    refill(
        this.merged, el('h2', {}, `Merged trials (${formatNumber(merged.length)})`),
        merged.length === 0 ?
            el('p', {class: 'muted'}, 'No trial trained several models together.') :
            tableRegion('Merged trials', {},
               plainTable(
                   'Merged trials', ['Trial', 'Models', 'Took', 'Ended'],
                   merged.slice(-LISTED).reverse().map(
                       (bar) =>
                           [String(bar.trial),
                            el('span', {},
                               ...bar.models.slice(0, 16).flatMap(
                                   (m, i) =>
                                       [i === 0 ? '' : ', ',
                                        el('a', {href: writeRoute(otherView(this.store.route, 'model', m))},
                                           String(m))])),
                            formatDuration(((bar.end ?? Date.now()) - bar.start) / 1000),
                            statusBadge(bar.end === null ? 'RUNNING' : bar.outcome ?? '?')]))),
        merged.length > LISTED ?
            el('p', {class: 'muted'}, `The last ${LISTED}; all are in the table of the chart above.`) :
            null,
        merged.some((bar) => bar.outcome === 'UNMERGED' || bar.outcome === 'MIXED') ?
            el('p', {class: 'sentence'},
               'Models of a merged trial that failed run again, each alone: its page says why.') :
            null);
  }

  sentence() {
    const shares = this.shares();
    const mean = shares.length === 0 ? 0 : shares.reduce((sum, s) => sum + s.share, 0) / shares.length;
    return `${counted(this.bars.length, 'trial')} on ${counted(shares.length, 'device')}, busy for ${
        Math.round(100 * mean)} % of the time shown. Drag to zoom, click a bar to select its model.`;
  }

  table() {
    const iso = (/** @type {number|null} */ t) => t === null ? null : new Date(t).toISOString();
    return {
      header: ['trial', 'device', 'models', 'start', 'end', 'outcome'],
      rows: this.keptBars().map(
          (bar) =>
              [bar.trial, this.devices()[bar.device], bar.models.join(' '), iso(bar.start), iso(bar.end), bar.outcome])
    };
  }

  installBrush() {
    const place = d3.select(this.chart.overlay).append('g').attr('class', 'grab');
    const brush = d3.brushX().extent(() => [[this.frame.left, this.frame.top], [this.frame.right, this.frame.bottom]]);
    brush.on('end', () => {
      const area = d3.event.selection;
      if (!area) return;
      place.call(brush.move, null);
      if (area[1] - area[0] > 4) this.setDomain(this.x.invert(area[0]).getTime(), this.x.invert(area[1]).getTime());
    });
    const install = () => place.call(brush);
    new ResizeObserver(install).observe(this.chart.plot);
    install();
    this.chart.plot.addEventListener('dblclick', () => this.store.setParams({z: null}));
  }
}
