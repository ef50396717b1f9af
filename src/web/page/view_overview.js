// Where an experiment stands: counts, time left, best so far, failures, what waits. The front of any two columns is in
// pareto_chart.js.

import {d3, drawAxes, drawDot, frameOf, paddedDomain, theme} from './canvas.js';
import {Chart} from './chart.js';
import {durationOf, findColumn, measures} from './columns.js';
import {button, el, fill, refill, select, stateBox, statusBadge, timeWithUtc} from './dom.js';
import {DrawnDots} from './drawn_dots.js';
import {settle} from './events.js';
import {quoteForFilter} from './filter.js';
import {counted, formatDuration, formatNumber, oneLine, timeText} from './format.js';
import {drawSelected, ParetoChart} from './pareto_chart.js';
import {otherView, writeRoute} from './route.js';
import {bestSoFar, countStates, endAfter, findBest, groupFailures, hasEnded, secondsOfModels, secondsRun, timeLeft} from './stats.js';
import {waitingFor} from './store.js';
import {progressBar} from './view_experiments.js';

const LISTED = 12;

/**
 * Limits of a configuration.
 * @param {any} document  of `config`
 */
export function limitsOf(document) {
  const config = document?.config ?? {};
  const most = Number(config.max_trial_number ?? config.maxTrialNumber);
  const time = config.max_duration ?? config.maxDuration;
  const seconds = typeof time === 'string' ? parseFloat(time) : Number(time?.seconds);
  return {
    maxModels: Number.isFinite(most) && most > 0 ? most : null,
    maxSeconds: Number.isFinite(seconds) && seconds > 0 ? seconds : null
  };
}

export class OverviewView {
  /** @param {import('./store.js').Store} store */
  constructor(store) {
    this.store = store;
    this.title = 'Overview';
    this.tiles = el('section', {class: 'tiles', 'aria-label': 'Counts'});
    /** @type {Map<string, HTMLElement>} where the number of models with a status stands; '': of all */
    this.counts = new Map();
    this.progress = el('section', {class: 'card', 'aria-label': 'Progress'});
    /** @type {import('./stats.js').BestPoint[]} what is drawn */
    this.line = [];
    /** @type {import('./chart.js').Point[]|null} made when they are asked for: few pictures are pointed at */
    this.madePoints = null;
    /** Where it is drawn. @type {(p: import('./stats.js').BestPoint, value: number) => {x: number, y: number}} */
    this.placeOf = () => ({x: 0, y: 0});
    /** Seconds until its limit of models ends the search, as of the last update; null: nobody can tell. */
    this.modelsLeft = /** @type {number|null} */ (null);
    const open = (/** @type {import('./chart.js').Point} */ point) => {
      if (point.model !== undefined) store.toggle(point.model);
    };
    this.best = new Chart({
      title: 'Best so far',
      height: (w) => w < 600 ? 240 : 300,
      draw: (c, w, h) => this.drawBest(c, w, h),
      drawTop: (c) => drawSelected(this.store, c, () => this.bestPoints()),
      sentence: () => this.bestSentence(),
      table: () => this.bestTable(),
      points: () => this.bestPoints(),
      activate: open
    });
    this.front = new ParetoChart(store);
    this.bestTools = el('span', {class: 'row'});
    this.best.tools.append(this.bestTools);
    this.failures = el('section', {class: 'card', 'aria-label': 'Failures'});
    this.waiting = el('section', {class: 'card', 'aria-label': 'Running and queued'});
    this.empty = el('div', {});
    this.charts = el('div', {class: 'cards'}, this.best.element, this.front.chart.element);
    this.element =
        el('div', {class: 'view'}, this.tiles, this.progress, this.empty, this.charts,
           el('div', {class: 'cards'}, this.waiting, this.failures));
    this.toolsKey = '';
    this.failuresKey = '';
    this.timer = setInterval(() => {
      if (!document.hidden) this.clock();
    }, 1000);
  }

  destroy() {
    clearInterval(this.timer);
    this.best.destroy();
    this.front.destroy();
  }

  table() {
    return /** @type {import('./store.js').Current} */ (this.store.current).table;
  }

  /** @param {Set<string>} changes */
  update(changes) {
    if (changes.size === 1 && changes.has('selection')) {
      this.best.redrawTop();
      this.front.chart.redrawTop();
      return;
    }
    this.drawTiles();
    this.findModelsLeft();
    this.clock();
    this.drawEmpty();
    this.drawTools();
    this.best.redraw();
    this.front.chart.redraw();
    this.drawWaiting();
    this.drawFailures();
  }

  /** What stands in the place of charts as long as there are no models. */
  drawEmpty() {
    const none = this.table().model.length === 0;
    this.charts.hidden = none;
    fill(
        this.empty,
        none ? stateBox(
                   'empty', 'No models yet',
                   'They show here as soon as the space is known and the strategy proposes the first.') :
               null);
  }

  /** @param {string} filter */
  modelsLink(filter) {
    const route = otherView(this.store.route, 'models');
    route.params.f = filter;
    return writeRoute(route);
  }

  /** How many models have which status: cheap enough to be shown with each batch of events. */
  glance() {
    const table = this.table();
    const counts = countStates(table);
    if ([...counts.keys()].some((state) => !this.counts.has(state))) {
      this.drawTiles();
      this.drawEmpty();
      return;
    }
    for (const [state, place] of this.counts) {
      const text = formatNumber(state === '' ? table.model.length : counts.get(state) ?? 0);
      if (place.textContent !== text) place.textContent = text;
    }
  }

  drawTiles() {
    const table = this.table();
    const counts = countStates(table);
    const order =
        ['RUNNING', 'QUEUED', 'SUCCEEDED', 'STOPPED_EARLY', 'FAILED', 'INFEASIBLE', 'INTERRUPTED', 'CANCELED'];
    this.counts.clear();
    const tile =
        (/** @type {string} */ key, /** @type {Node} */ value, /** @type {Node|string} */ label,
         /** @type {string|null} */ href) =>
            el(href ? 'a' : 'div', {class: 'tile card', 'data-key': key, href}, value,
               el('span', {class: 'label'}, label));
    const countOf = (/** @type {string} */ state, /** @type {number} */ models) => {
      const place = el('span', {class: 'value'}, formatNumber(models));
      this.counts.set(state, place);
      return place;
    };
    settle(table);
    const {metric, goal} = table.objectives[0];
    const best = findBest(table);
    refill(
        this.tiles,
        tile(
            'best', el('span', {class: 'value'}, best === null ? '–' : formatNumber(table.metrics.get(metric)?.[best])),
            best === null ? 'best: none yet' : `best ${oneLine(metric, 30)}, model ${table.model[best]}`,
            best === null ? null : writeRoute(otherView(this.store.route, 'model', table.model[best]))),
        tile('models', countOf('', table.model.length), 'models', this.modelsLink('')),
        ...order.filter((state) => counts.has(state))
            .map(
                (state) => tile(
                    state, countOf(state, counts.get(state) ?? 0), statusBadge(state),
                    this.modelsLink(`status = ${state.toLowerCase()}`))));
  }

  /** Reads all models: not by the second. */
  findModelsLeft() {
    const {current} = this.store;
    if (!current) return;
    const now = Date.now();
    this.modelsLeft = secondsOfModels(current.table, limitsOf(current.config).maxModels, secondsRun(current, now), now);
  }

  /** What changes by the second. */
  clock() {
    const {current} = this.store;
    if (!current) return;
    const {table} = current;
    const limits = limitsOf(current.config);
    const counts = countStates(table);
    const now = Date.now();
    const get = (/** @type {string} */ state) => counts.get(state) ?? 0;
    const models = {
      total: table.model.length,
      succeeded: get('SUCCEEDED'),
      failed: get('FAILED'),
      stopped_early: get('STOPPED_EARLY'),
      infeasible: get('INFEASIBLE'),
      canceled: get('CANCELED'),
      unfinished: 0
    };
    models.unfinished =
        models.total - models.succeeded - models.failed - models.stopped_early - models.infeasible - models.canceled;
    const ran = secondsRun(current, now);
    const left = timeLeft(table, limits, ran, this.modelsLeft);
    const end = endAfter(now, left);
    const running = table.status === 'RUNNING' || table.status === 'STOPPING';
    const waiting = waitingFor(current.show, table.status);
    const facts = [
      running && table.started !== null ? `runs for ${formatDuration(Math.max(1, Math.round(ran)))}` :
          current.show?.seconds !== undefined ? `took ${formatDuration(current.show.seconds)}` :
                                                '',
      left !== null ? `about ${formatDuration(Math.max(1, Math.round(left)))} left` :
          running ? 'time left not known yet' :
                    '',
      limits.maxModels !== null ? `at most ${formatNumber(limits.maxModels)} models` : '',
      limits.maxSeconds !== null ? `at most ${formatDuration(limits.maxSeconds)}` : '',
      current.show?.space_size ? `${spaceText(current.show.space_size)} in the space` : 'space of unknown size',
    ].filter(Boolean);
    fill(
        this.progress,
        el('div', {class: 'row spread'},
           el('div', {class: 'row'}, statusBadge(table.status), el('span', {}, facts.join(' · '))),
           end !== null ? el('span', {class: 'muted'}, 'ends at about ', timeWithUtc(end)) : null),
        progressBar(models, running ? limits.maxModels : null),
        table.reason ? el('p', {class: 'message muted'}, oneLine(table.reason, 600)) : null,
        waiting ? el('p', {class: 'message'}, `Waits for ${waiting}`) : null);
    this.progress.classList.add('view');
  }

  drawTools() {
    const {store} = this;
    const {columns} = store.selection();
    // What an address names is offered, too.
    const shown = [store.param('x'), store.param('y')].map((name) => findColumn(columns, name));
    const named = [...new Set([...measures(columns, this.table()), ...shown.filter((c) => c !== null)])].map(
        (c) => /** @type {[string, string]} */ ([c.id, oneLine(c.title, 30)]));
    const key = JSON.stringify([named, store.route.params]);
    if (this.toolsKey === key) return;
    this.toolsKey = key;
    refill(
        this.bestTools,
        select(
            'By', [['models', 'models'], ['time', 'time']], store.param('by', 'models'),
            (by) => store.setParams({by})));
    this.front.drawTools(named);
  }

  bestLine() {
    const {metric, goal} = this.table().objectives[0];
    return bestSoFar(this.table(), this.store.selection().kept, metric, goal);
  }

  bestSentence() {
    const table = this.table();
    const {metric, goal} = table.objectives[0];
    const {line} = this;
    const improved = line.filter((p) => p.improved);
    if (improved.length === 0)
      return line.length === 0 ? 'No model has ended yet.' :
                                 `${counted(line.length, 'model')} ended, none with ${oneLine(metric, 40)}.`;
    const last = improved[improved.length - 1];
    return `${oneLine(metric, 40)}, ${goal === 'MINIMIZE' ? 'less' : 'more'} is better: ${
        formatNumber(last.best)} by model ${table.model[last.row]}, the ${ordinal(last.order)} of ${
        counted(line.length, 'model')} that ended; improved ${improved.length} times.`;
  }

  bestTable() {
    const table = this.table();
    return {
      header: ['model', 'models ended', 'time', 'value', 'best'],
      rows: this.bestLine().map(
          (p) =>
              [table.model[p.row], p.order, p.time === null ? null : new Date(p.time).toISOString(), p.value,
               Number.isNaN(p.best) ? null : p.best])
    };
  }

  /** @returns {import('./chart.js').Point[]} */
  bestPoints() {
    const {model} = this.table();
    this.madePoints ??= this.line.flatMap((p) => p.value === null ? [] : [{
      ...this.placeOf(p, p.value),
      model: model[p.row],
      text: () => `model ${model[p.row]}: ${formatNumber(p.value)}${p.improved ? ', the best until then' : ''}\n${
          timeText(p.time)}`
    }]);
    return this.madePoints;
  }

  /** @param {CanvasRenderingContext2D} ctx @param {number} width @param {number} height */
  drawBest(ctx, width, height) {
    const table = this.table();
    const colors = theme();
    const line = this.line = this.bestLine();
    const byTime = this.store.param('by', 'models') === 'time';
    const frame = frameOf(width, height);
    const from = table.started ?? line[0]?.time ?? 0;
    const place = (/** @type {import('./stats.js').BestPoint} */ p) =>
        byTime ? ((p.time ?? from) - from) / 1000 : p.order;
    const values =
        Float64Array.from(line.filter((p) => p.value !== null), (p) => /** @type {number} */ (p.value)).sort();
    // Outliers would flatten everything: the axis has the best and nine tenths of the rest.
    const {metric, goal} = table.objectives[0];
    const cut = values.length > 20 ? goal === 'MINIMIZE' ? values.slice(0, Math.ceil(values.length * 0.95)) :
                                                           values.slice(Math.floor(values.length * 0.05)) :
                                     values;
    const x =
        d3.scaleLinear()
            .domain([0, Math.max(1, line.length > 0 ? Math.max(place(line[line.length - 1]), place(line[0])) : 1)])
            .range([frame.left, frame.right]);
    const y = d3.scaleLinear().domain(paddedDomain(cut)).range([frame.bottom, frame.top]).nice();
    drawAxes(ctx, frame, {
      x,
      y,
      xTitle: byTime ? 'time since its start' : 'models ended',
      yTitle: oneLine(metric, 40),
      xFormat: byTime ? formatDuration : undefined
    });
    this.madePoints = null;
    this.placeOf = (p, value) => ({x: x(place(p)), y: y(value)});
    const drawn = new DrawnDots();
    ctx.save();
    ctx.beginPath();
    ctx.rect(frame.left - 3, frame.top, frame.right - frame.left + 6, frame.bottom - frame.top);
    ctx.clip();
    ctx.globalAlpha = line.length > 500 ? 0.35 : 0.7;
    ctx.fillStyle = colors.faint;
    for (const p of line) {
      if (p.value === null) continue;
      const at = this.placeOf(p, p.value);
      if (drawn.add('', at.x, at.y)) drawDot(ctx, at.x, at.y, line.length > 500 ? 1.6 : 2.6);
    }
    ctx.globalAlpha = 1;
    ctx.strokeStyle = colors.accent;
    ctx.lineWidth = 2;
    ctx.beginPath();
    let before = NaN;
    for (const p of line) {
      if (Number.isNaN(p.best)) continue;
      if (Number.isNaN(before)) {
        ctx.moveTo(x(place(p)), y(p.best));
      } else {
        ctx.lineTo(x(place(p)), y(before));
        ctx.lineTo(x(place(p)), y(p.best));
      }
      before = p.best;
    }
    ctx.stroke();
    ctx.restore();
  }

  drawWaiting() {
    const table = this.table();
    const now = Date.now();
    const running = [];
    const queued = [];
    for (let row = 0; row < table.model.length; ++row) {
      if (table.state[row] === 'RUNNING') running.push(row);
      if (table.state[row] === 'QUEUED') queued.push(row);
    }
    const link = (/** @type {number} */ row) => el(
        'a', {href: writeRoute(otherView(this.store.route, 'model', table.model[row]))}, `model ${table.model[row]}`);
    const metric = table.objectives[0].metric === 'default' ? 'latest' : 'latest default';
    refill(
        this.waiting,
        el('h2', {}, `Running (${formatNumber(running.length)}) and queued (${formatNumber(queued.length)})`),
        running.length + queued.length === 0 ?
            el('p', {class: 'muted'},
               hasEnded(table.status) || table.status === 'DONE' ? 'Nothing runs: the experiment has ended.' :
                                                                   'Nothing runs or waits now.') :
            el('ul', {class: 'plain'},
               ...running.slice(0, LISTED).map(
                   (row) =>
                       el('li', {class: 'row'}, link(row), statusBadge('RUNNING'),
                          el('span', {class: 'muted'},
                             [
                               formatDuration(durationOf(table, row, now)),
                               table.steps[row] > 0 ? counted(table.steps[row], 'step') : '',
                               table.latest[row] !== null ? `${metric} ${formatNumber(table.latest[row])}` : ''
                             ].filter(Boolean)
                                 .join(' · ')))),
               running.length > LISTED ?
                   el('li', {class: 'muted'}, `and ${formatNumber(running.length - LISTED)} more run`) :
                   null,
               ...queued.slice(0, LISTED).map((row) => el('li', {class: 'row'}, link(row), statusBadge('QUEUED'))),
               queued.length > LISTED ?
                   el('li', {class: 'muted'}, `and ${formatNumber(queued.length - LISTED)} more wait`) :
                   null));
  }

  drawFailures() {
    const table = this.table();
    const groups = groupFailures(table, this.store.selection().kept);
    // The links lead to what is selected and filtered now.
    const key = JSON.stringify([groups, this.store.route]);
    if (this.failuresKey === key) return;
    this.failuresKey = key;
    const opened = new Map([...this.failures.querySelectorAll('details')].map((d) => [d.dataset.reason, d.open]));
    refill(
        this.failures, el('h2', {}, `Failures (${formatNumber(groups.reduce((sum, g) => sum + g.count, 0))})`),
        groups.length === 0 ? el('p', {class: 'muted'}, 'No model has failed.') : null,
        ...groups.map(
            (group) =>
                el('details', {'data-reason': group.reason, open: opened.get(group.reason) ?? groups.length <= 3},
                   el('summary', {'data-key': group.reason},
                      `${oneLine(group.reason, 60).toLowerCase().replace(/_/g, ' ')} (${formatNumber(group.count)})`),
                   el('ul', {class: 'plain'},
                      ...group.messages.slice(0, 8).map(
                          ({message, models}) =>
                              el('li', {}, el('div', {class: 'message'}, oneLine(message, 400)),
                                 el('div', {class: 'row muted'}, counted(models.length, 'model'),
                                    ...models.slice(0, 6).map(
                                        (model) =>
                                            el('a', {href: writeRoute(otherView(this.store.route, 'model', model))},
                                               String(model))),
                                    button('Select', () => this.store.select(models), {
                                      class: 'quiet',
                                      'data-key': `Select ${group.reason} ${message}`
                                    })))),
                      el('li', {},
                         el('a', {
                           href: this.modelsLink(`reason = ${quoteForFilter(group.reason)}`),
                           'data-key': `All ${group.reason}`
                         },
                            'All of them in the table'))))));
  }
}

/** @param {number} n */
function ordinal(n) {
  const tail = n % 100 > 10 && n % 100 < 14 ? 'th' : {1: 'st', 2: 'nd', 3: 'rd'}[n % 10] ?? 'th';
  return `${formatNumber(n)}${tail}`;
}

/** @param {string} digits  a decimal number of any length */
function spaceText(digits) {
  const text = digits.length > 9 ? `about ${Number(`${digits[0]}.${digits.slice(1, 3)}`)}e${digits.length - 1}` :
                                   formatNumber(Number(digits));
  return `${text} models`;
}
