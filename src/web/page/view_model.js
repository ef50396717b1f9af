// One model: what was chosen, its tries, why it ended so, its curves, its files.

import {copyText, openNotice} from './actions.js';
import {modelPath, oneAtATime} from './api.js';
import {d3, drawAxes, drawMark, drawName, frameOf, paddedDomain, theme, themeName} from './canvas.js';
import {Chart} from './chart.js';
import {readNumber} from './decode.js';
import {
  button,
  checkbox,
  el,
  fill,
  plainTable,
  refill,
  saveFile,
  select,
  stateBox,
  statusBadge,
  tableRegion,
  timeElement
} from './dom.js';
import {
  cleanText,
  counted,
  formatBytes,
  formatDuration,
  formatNumber,
  formatUtc,
  oneLine,
  valueText
} from './format.js';
import {ModelLog} from './model_log.js';
import {ModelNote} from './model_note.js';
import {SERIES} from './palette.js';
import {otherView, writeRoute} from './route.js';
import {joinList, splitList} from './sort.js';

/** Metrics that are offered for the chart at once; a menu has the others. */
const MOST_METRICS = 40;

/**
 * A value that was reported. The document has null for NaN and for infinities alike.
 * @template T
 * @param {number|null} value @param {(value: number) => T} format
 * @returns {T|string}
 */
function reportText(value, format) {
  return value === null ? 'not finite' : format(value);
}

/**
 * How a process ended, where that is why an attempt failed; else ''.
 * @param {{signal?: number|null, exit_status?: number|null}} failure
 */
function exitText({signal, exit_status: status}) {
  if (signal !== null && signal !== undefined) return ` (signal ${signal})`;
  return status !== null && status !== undefined ? ` (exit status ${status})` : '';
}

/**
 * What it costs to run, as counted when it was built.
 * @param {{params: number, flops: number|null}} model
 */
function costText({params, flops}) {
  return `${counted(params, 'parameter')}${flops === null ? '' : `, ${formatNumber(readNumber(flops))} FLOPs`}`;
}

export class ModelView {
  /** @param {import('./store.js').Store} store */
  constructor(store) {
    this.store = store;
    this.model = /** @type {number} */ (store.route.model);
    this.title = `Model ${this.model}`;
    /** @type {any} */
    this.document = null;
    /** The last request for it, or for the list of its files. */
    this.failed = false;
    this.abort = new AbortController();
    this.load = oneAtATime(async () => {
      this.failed = false;
      await Promise.all([this.loadDocument(), this.loadFiles()]);
    }, this.abort.signal);
    this.trouble = el('div', {});
    this.head = el('section', {class: 'card view'});
    this.note = new ModelNote(store, this.model);
    this.sample = el('section', {class: 'card view'});
    this.metrics = el('section', {class: 'card view'});
    // The note is never moved: a field that is moved loses the focus.
    this.facts =
        el('div', {class: 'cards', hidden: true}, this.sample,
           el('div', {class: 'view'}, this.metrics, this.note.element));
    this.attempts = el('section', {class: 'card view', 'aria-label': 'Attempts'});
    /** @type {import('./chart.js').Point[]} */
    this.points = [];
    this.chart = new Chart({
      title: 'Curves of this model',
      height: 300,
      draw: (c, w, h) => this.draw(c, w, h),
      sentence: () => this.sentence(),
      table: () => this.curveTable(),
      points: () => this.points
    });
    this.metricsPlace = el('span', {class: 'row'});
    this.chart.tools.append(this.metricsPlace);
    this.log = new ModelLog(store, this.model);
    this.files = el('section', {class: 'card view', 'aria-label': 'Files'});
    this.element =
        el('div', {class: 'view'}, this.trouble, this.head, this.facts, this.attempts, this.chart.element,
           this.log.element, this.files);
    // Until the model is there, or where it cannot be shown.
    this.attempts.hidden = this.chart.element.hidden = true;
    this.seen = '';
    this.note.fill();
  }

  destroy() {
    this.abort.abort();
    this.log.destroy();
    this.chart.destroy();
  }

  path() {
    return modelPath(this.store.route.id, this.model);
  }

  row() {
    return this.store.current?.table.rowOf.get(this.model);
  }

  /** @param {Set<string>} changes */
  update(changes) {
    const {current} = this.store;
    const row = this.row();
    const seen = current && row !== undefined ?
        JSON.stringify([
          current.table.state[row], current.table.steps[row], current.table.attempts[row], current.table.params[row]
        ]) :
        '';
    if (this.document === null || seen !== this.seen) {
      this.seen = seen;
      this.load();
    } else if (['theme', 'params', 'route', 'all'].some((change) => changes.has(change))) {
      this.fill();
    } else if (changes.has('selection')) {
      this.fillHead();
    }
    if (changes.has('notes') || changes.has('all')) this.note.fill();
  }

  headIsBack() {
    if (this.failed) this.load();
    this.log.headIsBack();
  }

  async loadDocument() {
    try {
      this.document = await this.store.api.json(this.path(), this.abort.signal);
      fill(this.trouble);
      this.fill();
    } catch (error) {
      if (this.abort.signal.aborted) return;
      this.failed = true;
      const [place, title] = this.document ?
          [this.trouble, 'What is shown of this model is what was known before'] :
          [this.head, `Model ${this.model} cannot be shown`];
      fill(place, stateBox('error', title, /** @type {Error} */ (error).message));
    }
  }

  fill() {
    if (!this.document) return;
    this.facts.hidden = this.attempts.hidden = false;
    this.fillHead();
    this.note.fill();
    this.fillFacts();
    this.log.fill(this.document.attempts.map((/** @type {any} */ {attempt}) => String(attempt)));
    const metrics = this.metricNames();
    this.chart.element.hidden = metrics.length === 0;
    const chosen = this.chosenMetrics();
    const choose = (/** @type {string[]} */ names) => this.store.setParams({m: joinList(names)});
    const offered = metrics.filter((m, k) => k < MOST_METRICS || chosen.includes(m));
    const others = metrics.filter((m) => !offered.includes(m));
    refill(
        this.metricsPlace,
        ...offered.map(
            (m) => checkbox(
                oneLine(m, 30), chosen.includes(m),
                (on) => choose(on ? [...chosen, m] : chosen.filter((other) => other !== m)))),
        others.length === 0 ?
            null :
            select(
                counted(others.length, 'more metric'),
                [['', 'add one'], ...others.map((m) => /** @type {[string, string]} */ ([m, oneLine(m, 60)]))], '',
                (m) => choose([...chosen, m])),
        checkbox('log axis', this.store.param('log') === '1', (on) => this.store.setParams({log: on ? '1' : null})));
    this.chart.redraw();
  }

  fillHead() {
    const {store, document: model} = this;
    if (!model) return;
    const selected = store.selected.has(this.model);
    const {current} = store;
    const rows = store.current ? store.selection().rows : [];
    const at = rows.findIndex((row) => current?.table.model[row] === this.model);
    const neighbour = (/** @type {number} */ by, /** @type {string} */ label) => {
      const row = at < 0 ? undefined : rows[at + by];
      return row === undefined || !current ?
          null :
          el('a', {
            href: writeRoute(otherView(store.route, 'model', current.table.model[row])),
            rel: by < 0 ? 'prev' : 'next'
          },
             `${label} ${current.table.model[row]}`);
    };
    const why = [];
    if (model.failure) {
      why.push(
          el('p', {class: 'message'},
             el('strong', {}, `${oneLine(model.failure.reason, 60).toLowerCase().replace(/_/g, ' ')}: `),
             cleanText(model.failure.message, 4000), exitText(model.failure)));
    }
    if (model.stopped)
      why.push(
          el('p', {class: 'message'}, el('strong', {}, `stopped early at step ${model.stopped.step}: `),
             cleanText(model.stopped.because, 2000)));
    if (model.breaks)
      why.push(el('p', {class: 'message'}, el('strong', {}, 'breaks a limit: '), cleanText(model.breaks, 2000)));
    refill(
        this.head,
        el('div', {class: 'row spread'},
           el('div', {class: 'row'}, el('h1', {}, `Model ${this.model}`), statusBadge(model.status),
              model.params === null ? null : el('span', {class: 'muted'}, costText(model)),
              model.front === 0 ? el('span', {class: 'muted'}, 'no other model beats it') : null),
           el('div', {class: 'row'}, neighbour(-1, '◀'), neighbour(1, '▶'),
              button(
                  selected ? 'Unselect' : 'Select', () => store.toggle(this.model),
                  {'aria-pressed': String(selected), 'data-key': 'select'}),
              el('a', {href: writeRoute(otherView(store.route, 'graph', this.model))}, 'Architecture'))),
        ...why);
  }

  fillFacts() {
    const model = this.document;
    const final = model.metrics.final ?? {};
    const sample = Object.entries(model.sample);
    const off = (this.store.current?.table.choices ?? [])
                    .map((c) => c.label)
                    .filter((label) => !Object.hasOwn(model.sample, label));
    const link = (/** @type {number} */ other) =>
        el('a', {href: writeRoute(otherView(this.store.route, 'model', other))}, String(other));
    refill(
        this.sample, el('h2', {}, 'Sample'),
        sample.length === 0 ?
            el('p', {class: 'muted'}, 'Nothing was chosen.') :
            el('dl', {class: 'facts'},
               ...sample.flatMap(([label, value]) => [
                 el('dt', {}, oneLine(label, 120)), el('dd', {class: 'mono'}, valueText(value))
               ]),
               ...off.flatMap((label) => [el('dt', {}, oneLine(label, 120)), el('dd', {class: 'off'}, 'not chosen')])),
        button('Copy as JSON', () => copyText('The sample', JSON.stringify(model.sample)), {class: 'quiet start'}));
    fill(
        this.metrics, el('h2', {}, 'Metrics'),
        Object.keys(final).length === 0 ?
            el('p', {class: 'muted'}, 'No final metrics.') :
            el('dl', {class: 'facts'},
               ...Object.entries(final).flatMap(([name, value]) => {
                 const exact = this.exact(name, value);
                 return [
                   el('dt', {}, oneLine(name, 120)),
                   el('dd', {title: reportText(exact, String)}, reportText(exact, (v) => formatNumber(v, 8)))
                 ];
               })));
    refill(
        this.attempts, el('h2', {}, `Attempts (${model.attempts.length})`),
        model.attempts.length === 0 ?
            el('p', {class: 'muted'}, 'It has not begun.') :
            tableRegion('Attempts', {class: 'scroll'},
               plainTable(
                   'Attempts', ['#', 'Trial', 'Device', 'Start', 'Took', 'Ended', 'Why', 'Start in UTC'],
                   model.attempts.map(
                       (/** @type {any} */ a) =>
                           [String(a.attempt), String(a.trial),
                            a.device ? oneLine(`${a.node ? `${a.node}/` : ''}${a.device}`, 80) : '–',
                            timeElement(a.start ? Date.parse(a.start) : null), formatDuration(a.seconds),
                            a.outcome   ? statusBadge(a.outcome) :
                                a.start ? statusBadge('RUNNING') :
                                          statusBadge('QUEUED'),
                            el('span', {class: 'message'},
                               ...[a.failure ? `${oneLine(a.failure.reason, 60).toLowerCase().replace(/_/g, ' ')}: ${
                                                   oneLine(a.failure.message, 400)}${exitText(a.failure)}. ` :
                                               '',
                                   a.lost_cause ?
                                       `lost: ${oneLine(a.lost_cause, 60).toLowerCase().replace(/_/g, ' ')}. ` :
                                       '',
                                   a.alone_because ? `alone because ${oneLine(a.alone_because, 400)}. ` : '',
                                   a.resumed_steps > 0 ? `went on behind ${counted(a.resumed_steps, 'step')}. ` : '',
                                   a.models_memory ? `${formatBytes(a.models_memory)}. ` : ''],
                               ...a.merged_with.length > 0 ?
                                   [
                                     'merged with ',
                                     ...a.merged_with.slice(0, 12).flatMap(
                                         (/** @type {number} */ m, /** @type {number} */ i) =>
                                             i === 0 ? [link(m)] : [', ', link(m)])
                                   ] :
                                   []),
                            formatUtc(a.start ? Date.parse(a.start) : null)]))));
  }

  /**
   * A final metric; what JSON has no number for comes from the table by column.
   * @param {string} name @param {number|null} value
   */
  exact(name, value) {
    const row = this.row();
    return value ?? (row === undefined ? null : this.store.current?.table.metrics.get(name)?.[row]) ?? null;
  }

  metricNames() {
    /** @type {Set<string>} */
    const names = new Set();
    for (const step of this.document?.metrics.intermediate ?? []) {
      for (const name of Object.keys(step.metrics)) names.add(name);
    }
    return [...names];
  }

  chosenMetrics() {
    const names = this.metricNames();
    const wanted = splitList(this.store.param('m')).filter((m) => names.includes(m));
    return wanted.length > 0 ? wanted : names.includes('default') ? ['default'] : names.slice(0, 1);
  }

  sentence() {
    const steps = this.document?.metrics.intermediate ?? [];
    return `${counted(steps.length, 'report')}. ${
        this.chosenMetrics()
            .map((m) => {
              const values =
                  steps.map((/** @type {any} */ s) => s.metrics[m]).filter((/** @type {any} */ v) => v !== undefined);
              return `${oneLine(m, 40)}: first ${reportText(values[0], formatNumber)}, last ${
                  reportText(values[values.length - 1], formatNumber)}`;
            })
            .join('; ')}.`;
  }

  curveTable() {
    const names = this.metricNames();
    return {
      header: ['step', 'time', ...names],
      rows: this.document.metrics.intermediate.map(
          (/** @type {any} */ s) =>
              [s.step, s.time,
               ...names.map((n) => Object.hasOwn(s.metrics, n) ? reportText(s.metrics[n], Number) : undefined)])
    };
  }

  /** @param {CanvasRenderingContext2D} ctx @param {number} width @param {number} height */
  draw(ctx, width, height) {
    if (!this.document) return;
    const log = this.store.param('log') === '1';
    const frame = frameOf(width, height);
    const steps = this.document.metrics.intermediate;
    const metrics = this.chosenMetrics();
    const values = metrics.flatMap(
        (m) => steps.map((/** @type {any} */ s) => s.metrics[m])
                   .filter((/** @type {any} */ v) => Number.isFinite(v) && (!log || v > 0)));
    const xs = steps.map((/** @type {any} */ s) => s.step);
    const x = d3.scaleLinear()
                  .domain(xs.length > 1 ? [xs[0], xs[xs.length - 1]] : [(xs[0] ?? 0) - 0.5, (xs[0] ?? 0) + 0.5])
                  .range([frame.left, frame.right]);
    const y =
        (log ? d3.scaleLog() : d3.scaleLinear())
            .domain(log && values.length > 0 ? d3.extent(values) : paddedDomain(values))
            .range([frame.bottom, frame.top]);
    drawAxes(ctx, frame, {
      x,
      y,
      xTitle: 'step',
      yTitle: metrics.length === 1 ? metrics[0] : 'value',
      xFormat: (v) => Number.isInteger(v) ? String(v) : '',
      yFormat: log ? y.tickFormat(6, '~g') : undefined
    });
    this.points = [];
    const colors = SERIES[themeName()];
    metrics.forEach((metric, k) => {
      ctx.strokeStyle = ctx.fillStyle = colors[k % colors.length];
      ctx.lineWidth = 2;
      ctx.setLineDash([[], [6, 3], [2, 3], [9, 3, 2, 3]][k % 4]);
      ctx.beginPath();
      let pen = false;
      let last = null;
      /** @type {[number, number][]} */
      const dots = [];
      /** @type {number[]} */
      const odd = [];
      for (const step of steps) {
        if (!Object.hasOwn(step.metrics, metric)) continue;
        const v = step.metrics[metric];
        const px = x(step.step);
        if (!Number.isFinite(v) || (log && v <= 0)) {
          pen = false;
          odd.push(px);
          continue;
        }
        const py = y(v);
        if (pen) {
          ctx.lineTo(px, py);
        } else {
          ctx.moveTo(px, py);
        }
        pen = true;
        last = [px, py];
        dots.push([px, py]);
        this.points.push({x: px, y: py, text: `step ${step.step}\n${oneLine(metric, 40)} ${formatNumber(v, 6)}`});
      }
      ctx.stroke();
      ctx.setLineDash([]);
      if (dots.length <= 60) {
        for (const [px, py] of dots) drawMark(ctx, '', px, py, 2.5);
      }
      ctx.strokeStyle = theme().mark;
      for (const px of odd) drawMark(ctx, 'FAILED', px, frame.bottom - 6, 3.5);
      if (last && metrics.length > 1) {
        drawName(ctx, oneLine(metric, 30), colors[k % colors.length], last[0] - 4, last[1] - 6);
      }
    });
  }

  async loadFiles() {
    /** @type {any[]} */
    let files = [];
    let why = 'It has left no files.';
    try {
      files = (await this.store.api.json(`${this.path()}/files`, this.abort.signal)).files;
    } catch (error) {
      if (this.abort.signal.aborted) return;
      this.failed = true;
      // A list that is there stays.
      if (this.files.querySelector('li')) return;
      why = /** @type {Error} */ (error).message;
    }
    refill(
        this.files, el('h2', {}, 'Files'),
        files.length === 0 ?
            el('p', {class: 'muted'}, oneLine(why)) :
            el('ul', {class: 'plain'},
               ...files.map(
                   (file) =>
                       el('li', {class: 'row'},
                          button(oneLine(file.name, 120), () => this.download(file.name), {title: 'download'}),
                          el('span', {class: 'muted'}, formatBytes(file.bytes)),
                          /\.onnx$/.test(file.name) ?
                              el('span', {class: 'muted'},
                                 'Download it and open it with Netron; nothing is sent anywhere.') :
                              null))));
  }

  /** @param {string} name */
  async download(name) {
    try {
      const path = `${this.path()}/files/${name.split('/').map(encodeURIComponent).join('/')}`;
      const blob = await this.store.api.ask(path, {}, (response) => response.blob());
      saveFile(name.split('/').pop() ?? name, blob);
    } catch (error) {
      openNotice(
          'It cannot be downloaded',
          [el('p', {class: 'message'}, `${oneLine(name, 100)}: ${oneLine(/** @type {Error} */ (error).message)}`)]);
    }
  }
}
