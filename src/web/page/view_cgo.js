// What merged trials shared, what they took, and what fell back.

import {experimentPath, oneAtATime} from './api.js';
import {d3, drawAxes, frameOf, paddedDomain, theme, themeName} from './canvas.js';
import {Chart} from './chart.js';
import {button, el, fill, plainTable, refill, stateBox, statusBadge, tableRegion} from './dom.js';
import {counted, formatBytes, formatDuration, formatNumber, oneLine} from './format.js';
import {isMerged, mergedTable, reasons, sharedSteps, summarize, workText} from './merged.js';
import {SERIES} from './palette.js';
import {otherView, writeRoute} from './route.js';

/** Least ms between two requests for what has changed. */
const PACE = 4000;
/** Trials that the list has in the page; CSV has all. */
const LISTED = 200;

export class CgoView {
  /** @param {import('./store.js').Store} store */
  constructor(store) {
    this.store = store;
    this.title = 'CGO';
    /** @type {{merges: boolean, trials: import('./merged.js').MergedTrial[]}|null} */
    this.document = null;
    /** The last request for it. */
    this.failed = false;
    this.asked = -Infinity;
    this.timer = 0;
    this.abort = new AbortController();
    this.load = oneAtATime(() => this.loadDocument(), this.abort.signal);
    this.trouble = el('div', {});
    this.state = el('div', {});
    this.steps = new Chart({
      title: 'Steps of merged trials',
      height: 220,
      draw: (c, w, h) => this.drawSteps(c, w, h),
      sentence: () => this.stepsSentence(),
      table: () => mergedTable(this.shown()),
      points: () => this.stepPoints(),
      activate: (point) => point.open?.()
    });
    this.memory = new Chart({
      title: 'Memory of trials',
      height: 260,
      draw: (c, w, h) => this.drawMemory(c, w, h),
      sentence: () => this.memorySentence(),
      table: () => mergedTable(this.measured()),
      points: () => this.memoryPoints(),
      activate: (point) => point.open?.()
    });
    this.list = el('section', {class: 'card view', 'aria-label': 'Trials'});
    this.detail = el('section', {class: 'card view', 'aria-label': 'Trial', 'aria-live': 'polite'});
    this.parts = el('div', {class: 'view'}, this.steps.element, this.memory.element, this.detail, this.list);
    this.element = el('div', {class: 'view'}, this.trouble, this.state, this.parts);
    this.parts.hidden = true;
    fill(this.state, stateBox('loading', 'Loading the trials …'));
  }

  destroy() {
    this.abort.abort();
    clearTimeout(this.timer);
    this.steps.destroy();
    this.memory.destroy();
  }

  /** @param {Set<string>} changes */
  update(changes) {
    if (changes.has('all') || changes.has('table')) this.loadSoon();
    if (this.document) this.redraw();
  }

  headIsBack() {
    if (this.failed) this.loadSoon();
  }

  loadSoon() {
    if (this.timer) return;
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      this.load();
    }, Math.max(0, this.asked + PACE - performance.now()));
  }

  async loadDocument() {
    this.asked = performance.now();
    try {
      this.document = await this.store.api.json(
          `${experimentPath(/** @type {string} */ (this.store.route.id))}/merged`, this.abort.signal);
      this.failed = false;
      fill(this.trouble);
      this.redraw();
    } catch (error) {
      if (this.abort.signal.aborted) return;
      this.failed = true;
      const [place, title] = this.document ?
          [this.trouble, 'What is shown of the trials is what was known before'] :
          [this.state, 'The trials cannot be loaded'];
      fill(place, stateBox('error', title, /** @type {Error} */ (error).message));
    }
  }

  /** Trials with a model that the filter keeps. */
  shown() {
    const table = this.store.current?.table;
    if (!this.document || !table) return [];
    const kept = new Set(this.store.selection().kept.map((row) => table.model[row]));
    return this.document.trials.filter((trial) => trial.models.some(({model}) => kept.has(model)));
  }

  merged() {
    return this.shown().filter((trial) => isMerged(trial) && trial.steps !== null);
  }

  measured() {
    return this.shown().filter((trial) => trial.estimated_memory !== null && trial.measured_memory !== null);
  }

  redraw() {
    const {document} = this;
    if (!document) return;
    const trials = this.shown();
    this.parts.hidden = trials.length === 0;
    if (trials.length === 0) {
      const none = document.trials.length === 0;
      fill(
          this.state,
          stateBox(
              'empty',
              !none               ? 'The filter keeps no model of these trials' :
                  document.merges ? 'No trial has been planned yet' :
                                    'The engine of this experiment merges no models',
              none && !document.merges ? 'With `engine { cgo {} }` models share a trial, and the work that they have in common.' :
                                         ''));
      return;
    }
    const sum = summarize(trials);
    const saved = sum.stepsAlone > 0 ? `${formatNumber(sum.steps)} steps instead of ${formatNumber(sum.stepsAlone)}` : '';
    fill(
        this.state,
        el('section', {class: 'card', 'aria-label': 'In short'}, el('p', {class: 'sentence'},
           `${counted(sum.merged, 'merged trial')} of ${counted(sum.models, 'model')}${saved ? `: ${saved}` : ''}. ${
               counted(sum.fellBack, 'model')} ran again after one, ${counted(sum.alone, 'trial')} had one model only.`)));
    this.steps.element.hidden = this.merged().length === 0;
    this.memory.element.hidden = this.measured().length === 0;
    this.steps.redraw();
    this.memory.redraw();
    this.drawDetail(trials);
    this.drawList(trials);
  }

  /** @param {number} trial */
  open(trial) {
    this.store.setParams({t: String(trial)});
    this.detail.scrollIntoView({block: 'nearest'});
  }

  /** @param {CanvasRenderingContext2D} ctx @param {number} width @param {number} height */
  drawSteps(ctx, width, height) {
    const colors = theme();
    const [done, shared] = SERIES[themeName()];
    const trials = this.merged();
    const frame = frameOf(width, height);
    const x = d3.scaleLinear().domain([-0.5, trials.length - 0.5]).range([frame.left, frame.right]);
    const y = d3.scaleLinear()
                  .domain([0, Math.max(1, ...trials.map((trial) => trial.steps_alone ?? 0))])
                  .range([frame.bottom, frame.top]);
    drawAxes(ctx, frame, {
      x,
      y,
      xTitle: 'trial',
      yTitle: 'steps',
      xFormat: (at) => Number.isInteger(at) && trials[at] ? String(trials[at].trial) : ''
    });
    const w = Math.max(1, Math.min(28, (frame.right - frame.left) / Math.max(1, trials.length) - 2));
    this.bars = trials.map((trial, i) => {
      const left = x(i) - w / 2;
      const bar = (/** @type {number} */ from, /** @type {number} */ to) =>
          ctx.fillRect(left, y(to), w, Math.max(0, y(from) - y(to)));
      const steps = trial.steps ?? 0;
      const alone = trial.steps_alone ?? 0;
      ctx.fillStyle = done;
      bar(0, steps);
      ctx.fillStyle = shared;
      bar(0, sharedSteps(trial));
      // What was saved is an outline only.
      ctx.strokeStyle = colors.muted;
      ctx.lineWidth = 1;
      if (w > 3) ctx.strokeRect(left + 0.5, y(alone) + 0.5, w - 1, Math.max(0, y(steps) - y(alone)));
      return {
        x: x(i),
        y: y(alone),
        open: () => this.open(trial.trial),
        text: `trial ${trial.trial}: ${counted(trial.models.length, 'model')}\n${formatNumber(steps)} steps, ${
            formatNumber(sharedSteps(trial))} of them shared; ${formatNumber(alone)} if each ran alone`
      };
    });
  }

  stepPoints() {
    return this.bars ?? [];
  }

  stepsSentence() {
    const sum = summarize(this.merged());
    if (sum.merged === 0) return 'No merged trial whose plan is known.';
    return `The lower part of a bar is done once for several models, the rest for one model each; the outline is what was saved, ${
        Math.round(100 * (1 - sum.steps / sum.stepsAlone))} % of all steps. Click a bar to see its trial.`;
  }

  /** @param {CanvasRenderingContext2D} ctx @param {number} width @param {number} height */
  drawMemory(ctx, width, height) {
    const colors = theme();
    const trials = this.measured();
    const frame = {...frameOf(width, height), left: 76};
    const domain = paddedDomain(trials.flatMap((trial) => [trial.estimated_memory ?? 0, trial.measured_memory ?? 0]));
    const x = d3.scaleLinear().domain(domain).range([frame.left, frame.right]);
    const y = d3.scaleLinear().domain(domain).range([frame.bottom, frame.top]);
    const format = (/** @type {number} */ bytes) => formatBytes(Math.round(bytes));
    drawAxes(ctx, frame, {x, y, xTitle: 'estimated', yTitle: 'measured', xFormat: format, yFormat: format});
    // Where both are equal.
    ctx.strokeStyle = colors.line;
    ctx.beginPath();
    ctx.moveTo(x(domain[0]), y(domain[0]));
    ctx.lineTo(x(domain[1]), y(domain[1]));
    ctx.stroke();
    const [many, one] = SERIES[themeName()];
    this.dots = trials.map((trial) => {
      const at = {x: x(trial.estimated_memory), y: y(trial.measured_memory)};
      ctx.fillStyle = ctx.strokeStyle = isMerged(trial) ? many : one;
      ctx.beginPath();
      ctx.arc(at.x, at.y, 4, 0, 2 * Math.PI);
      isMerged(trial) ? ctx.fill() : ctx.stroke();
      return {
        ...at,
        open: () => this.open(trial.trial),
        text: `trial ${trial.trial}: ${counted(trial.models.length, 'model')}\nestimated ${
            formatBytes(trial.estimated_memory)}, measured ${formatBytes(trial.measured_memory)}`
      };
    });
  }

  memoryPoints() {
    return this.dots ?? [];
  }

  memorySentence() {
    const trials = this.measured();
    const above = trials.filter((trial) => (trial.measured_memory ?? 0) > (trial.estimated_memory ?? 0)).length;
    return `${counted(trials.length, 'trial')}, of which ${
        formatNumber(above)} took more than was estimated (above the line). Filled: merged trials.`;
  }

  /** @param {number} model */
  modelLink(model) {
    return el('a', {href: writeRoute(otherView(this.store.route, 'model', model))}, String(model));
  }

  /** @param {import('./merged.js').MergedTrial[]} trials */
  drawDetail(trials) {
    const wanted = Number(this.store.param('t'));
    const trial = trials.find((one) => one.trial === wanted);
    this.detail.hidden = !trial;
    if (!trial) return;
    const models = trial.models.map(({model}) => model);
    const work = trial.work.map((one) => {
      const shares = new Set(one.models);
      return [
        oneLine(workText(one), 120), one.steps === 0 ? '–' : formatNumber(one.steps),
        ...models.map((model) => shares.has(model) ? (shares.size > 1 ? '● shared' : '○ own') : ''),
        oneLine(one.own_because ?? '', 200)
      ];
    });
    refill(
        this.detail,
        el('div', {class: 'row spread'}, el('h2', {}, `Trial ${trial.trial}`),
           el('div', {class: 'row'}, button('Select its models', () => this.store.select(models), {class: 'quiet'}),
              button('Close', () => this.store.setParams({t: null}), {class: 'quiet'}))),
        el('p', {},
           `On ${oneLine(trial.node ?? '–', 60)}/${oneLine(trial.device ?? '–', 40)}, took ${
               formatDuration(trial.seconds)}; memory: estimated ${formatBytes(trial.estimated_memory)}, measured ${
               formatBytes(trial.measured_memory)}.`),
        el('div', {class: 'chart-table', tabindex: '0', role: 'region', 'aria-label': 'Models of the trial'},
           plainTable(
               'Models of the trial', ['Model', 'Attempt', 'Ended', 'Ran again'],
               trial.models.map(
                   ({model, attempt, outcome, again}) =>
                       [this.modelLink(model), String(attempt), statusBadge(outcome ?? 'RUNNING'),
                        again ? `in trial ${again.trial}: ${oneLine(again.because, 300)}` : '–']))),
        trial.alone_because === null ? null : el('p', {}, `It has one model because ${oneLine(trial.alone_because, 300)}.`),
        work.length === 0 ?
            el('p', {class: 'muted'}, isMerged(trial) ? 'Its plan is not known: an older version ran it.' : '') :
            el('div', {class: 'chart-table', tabindex: '0', role: 'region', 'aria-label': 'Steps of the trial'},
               plainTable(
                   'Steps of the trial, as planned', ['Work', 'Steps', ...models.map((model) => `model ${model}`), 'Not shared because'],
                   work)));
  }

  /** @param {import('./merged.js').MergedTrial[]} trials */
  drawList(trials) {
    const listed = trials.slice(-LISTED).reverse();
    refill(
        this.list, el('h2', {}, `Trials (${formatNumber(trials.length)})`),
        tableRegion('Trials', {},
           plainTable(
               'Trials', ['Trial', 'Models', 'Steps', 'If alone', 'Estimated', 'Measured', 'Took', 'Because'],
               listed.map(
                   (trial) =>
                       [button(String(trial.trial), () => this.open(trial.trial), {
                          class: 'quiet',
                          'aria-label': `Trial ${trial.trial}`
                        }),
                        el('span', {},
                           ...trial.models.flatMap(({model}, i) => [i === 0 ? '' : ', ', this.modelLink(model)])),
                        trial.steps === null ? '–' : formatNumber(trial.steps),
                        trial.steps_alone === null ? '–' : formatNumber(trial.steps_alone),
                        formatBytes(trial.estimated_memory), formatBytes(trial.measured_memory),
                        formatDuration(trial.seconds), oneLine(reasons(trial).join('; '), 200)]))),
        trials.length > LISTED ? el('p', {}, `${trials.length - LISTED} more are in the CSV of the charts.`) : null);
  }
}
