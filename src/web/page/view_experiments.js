// All experiments of this head, and several of them compared by the best model so far.

import {experimentPath} from './api.js';
import {d3, drawAxes, drawName, frameOf, paddedDomain, theme, themeName} from './canvas.js';
import {Chart} from './chart.js';
import {ComparedTables} from './compared_tables.js';
import {decodeColumns} from './decode.js';
import {button, checkbox, el, fill, refill, saveButtons, select, stateBox, statusBadge, timeWithUtc} from './dom.js';
import {bestValue, endedModels, experimentsTable, nextSort, shownExperiments} from './experiments_list.js';
import {counted, formatAge, formatDuration, formatNumber, oneLine, timeText} from './format.js';
import {SERIES} from './palette.js';
import {joinList, splitList} from './sort.js';
import {bestSoFar} from './stats.js';
import {waitingFor} from './store.js';

const MOST = 8;
/** Until then a limit of models says how far an experiment is. */
const OPEN = new Set(['CREATED', 'RUNNING', 'STOPPING', 'INTERRUPTED']);
/** Titles of columns, and what a click on them sorts by. */
const TITLES = /** @type {[string, string][]} */ ([
  ['Compare', ''], ['Name', 'name'], ['Status', 'status'], ['Models', 'models'], ['Best', 'best'], ['Took', 'took'],
  ['Begun', 'begun']
]);

/**
 * The parts of a progress bar: class, what it is in words, how many models.
 * @param {any} models @returns {[string, string, number][]}
 */
function progressParts(models) {
  return [
    ['succeeded', 'succeeded', models.succeeded], ['stopped', 'stopped early', models.stopped_early],
    ['failed', 'failed', models.failed], ['other', 'infeasible or canceled', models.infeasible + models.canceled],
    ['running', 'unfinished', models.unfinished]
  ];
}

/**
 * What a progress bar shows, in words.
 * @param {any} models @param {number|null} [most]  max_trial_number
 */
export function progressText(models, most = null) {
  // Infeasible models do not count towards the limit.
  const ended = models.total - models.unfinished - (most === null ? 0 : models.infeasible);
  const parts = progressParts(models).filter(([, , count]) => count > 0);
  return [
    `${formatNumber(ended)}${most === null ? '' : ` of ${formatNumber(most)}`} models ended`,
    ...parts.map(([, words, count]) => `${formatNumber(count)} ${words}`)
  ].join(', ');
}

/**
 * How models fared, as a bar with words; each part has a pattern of its own.
 * @param {any} models @param {number|null} [most]  max_trial_number
 */
export function progressBar(models, most = null) {
  const all = Math.max(1, most === null ? 0 : most + models.infeasible, models.total);
  const text = progressText(models, most);
  const parts = progressParts(models).map(([name, , count]) => {
    const part = el('div', {class: name});
    part.style.width = `${100 * count / all}%`;
    return part;
  });
  return el('div', {class: 'progress', role: 'img', 'aria-label': text, title: text}, ...parts);
}

/**
 * How many models an experiment that goes on will have; null: nobody knows, or it has ended.
 * @param {any} one  of `list`
 */
function mostModels(one) {
  return OPEN.has(one.status) ? one.max_trial_number ?? null : null;
}

export class ExperimentsView {
  /** @param {import('./store.js').Store} store */
  constructor(store) {
    this.store = store;
    this.title = 'Experiments';
    this.tables = new ComparedTables(
        async (id) => decodeColumns(await store.api.json(`${experimentPath(id)}/columns`)),
        () => store.changed('compared'));
    this.list = el('section', {class: 'card'});
    this.hint = el('p', {class: 'sentence'}, 'Tick two to eight experiments to compare their best models so far.');
    this.chart = new Chart({
      title: 'Best so far',
      height: (width) => width < 600 ? 260 : 340,
      draw: (ctx, width, height) => this.draw(ctx, width, height),
      sentence: () => this.sentence(),
      table: () => this.table(),
      points: () => this.points,
    });
    /** @type {import('./chart.js').Point[]} */
    this.points = [];
    this.chart.element.hidden = true;
    this.options = el('span', {class: 'row'});
    this.chart.tools.append(this.options);
    this.filter = el('input', {
      type: 'search',
      id: 'filter',
      'aria-label': 'Filter experiments',
      placeholder: 'name, id, status, reason',
      on: {input: () => store.setParams({q: this.filter.value})}
    });
    this.count = el('span', {class: 'muted', role: 'status'});
    this.bar = el(
        'div', {class: 'row spread card'}, el('div', {class: 'row'}, this.filter, this.count),
        el('div', {class: 'row'},
           ...saveButtons('Experiments', () => 'experiments', () => experimentsTable(this.shown()))));
    this.element =
        el('div', {class: 'view'}, el('h1', {}, 'Experiments'), this.hint, this.chart.element, this.bar, this.list);
    this.drawn = '';
  }

  destroy() {
    this.chart.destroy();
  }

  /** What the filter keeps, in its order. */
  shown() {
    return shownExperiments(this.store.experiments ?? [], this.store.param('q'), this.store.param('s'));
  }

  compared() {
    return splitList(this.store.param('compare')).slice(0, MOST);
  }

  /** @param {Set<string>} changes */
  update(changes) {
    const {store} = this;
    const compared = this.compared();
    for (const id of compared) this.tables.update(id, store.experiments);
    this.chart.element.hidden = compared.length === 0;
    if (changes.has('theme') || changes.has('params') || changes.has('compared') || changes.has('all') ||
        changes.has('route')) {
      refill(
          this.options,
          select(
              'By', [['models', 'models'], ['time', 'time']], store.param('by', 'models'),
              (by) => store.setParams({by})));
      this.chart.redraw();
    }
    if (document.activeElement !== this.filter) this.filter.value = store.param('q');
    const sort = store.param('s');
    const now = Date.now();
    // Where nothing runs, the ages alone change.
    const minute = Math.floor(now / 60000);
    const drawn = JSON.stringify([store.experiments, minute, compared, store.param('q'), sort]);
    if (drawn === this.drawn && !changes.has('all')) return;
    this.drawn = drawn;
    this.bar.hidden = !store.experiments?.length;
    if (store.experiments === null) {
      fill(
          this.list,
          store.error ? stateBox('error', 'The experiments cannot be listed', store.error.message) :
                        stateBox('loading', 'Loading experiments …'));
      return;
    }
    if (store.experiments.length === 0) {
      fill(
          this.list,
          stateBox(
              'empty', 'No experiments yet', 'lanista run CONFIG starts one; it shows here as soon as it begins.'));
      return;
    }
    const focused = document.activeElement?.getAttribute('data-key');
    const shown = this.shown();
    this.count.textContent = shown.length < store.experiments.length ?
        `${formatNumber(shown.length)} of ${counted(store.experiments.length, 'experiment')}` :
        counted(shown.length, 'experiment');
    if (shown.length === 0) {
      fill(this.list, stateBox('empty', 'No experiment passes the filter'));
      return;
    }
    const title = TITLES.find(([, name]) => name !== '' && sort.replace(/^-/, '') === name)?.[0];
    fill(
        this.list,
        el('div', {class: 'scroll'},
           el('table', {},
              el('caption', {class: 'hidden-text'},
                 title ? `Experiments by ${title.toLowerCase()}` : 'Experiments, the newest first'),
              el('thead', {}, el('tr', {}, ...TITLES.map(([text, name]) => this.head(text, name, sort)))),
              el('tbody', {}, ...shown.map((one) => this.row(one, now, compared))))));
    if (focused) /** @type {HTMLElement|null} */
      (this.list.querySelector(`[data-key="${CSS.escape(focused)}"]`))?.focus();
  }

  /** @param {string} text @param {string} name  empty: nothing is sorted by it @param {string} sort */
  head(text, name, sort) {
    if (name === '') return el('th', {scope: 'col'}, text);
    const order = sort === name ? 'ascending' : sort === `-${name}` ? 'descending' : 'none';
    const mark = order === 'none' ? '' : order === 'ascending' ? ' ▲' : ' ▼';
    return el(
        'th', {scope: 'col', 'aria-sort': order},
        button(`${text}${mark}`, () => this.store.setParams({s: nextSort(sort, name)}), {
          class: 'quiet',
          'data-key': `sort ${name}`,
          title: `Sort by ${text.toLowerCase()}`
        }));
  }

  /** @param {any} one @param {number} now @param {string[]} compared */
  row(one, now, compared) {
    const created = one.created ? Date.parse(one.created) : null;
    const best = one.best[0];
    const box = checkbox('', compared.includes(one.id), (checked) => this.compare(one.id, checked));
    const input = /** @type {HTMLInputElement} */ (box.querySelector('input'));
    input.setAttribute('aria-label', `Compare ${oneLine(one.name ?? one.id, 80)}`);
    input.setAttribute('data-key', `compare ${one.id}`);
    const failed = one.models?.failed ?? 0;
    const waiting = oneLine(waitingFor(one), 160);
    return el(
        'tr', {}, el('td', {}, box),
        el('td', {},
           el('a', {href: `#/e/${encodeURIComponent(one.id)}/overview`, 'data-key': `open ${one.id}`},
              oneLine(one.name ?? one.id, 80)),
           el('div', {class: 'muted mono'}, oneLine(one.id, 80))),
        el('td', {}, statusBadge(one.status),
           one.reason ? el('div', {class: 'muted message'}, oneLine(one.reason, 160)) : null,
           waiting ? el('div', {class: 'message'}, `waits for ${waiting}`) : null),
        el('td', {},
           one.models ? el('div', {}, progressBar(one.models, mostModels(one)),
                           el('span', {class: 'muted'},
                              `${formatNumber(endedModels(one))} ended${
                                  failed > 0 ? `, ${formatNumber(failed)} failed` : ''}${
                                  one.models.unfinished > 0 ? `, ${formatNumber(one.models.unfinished)} open` : ''}${
                                  mostModels(one) === null ? '' : `, at most ${formatNumber(mostModels(one))}`}`)) :
                                                              '–'),
        el('td', {},
           best ? el('div', {}, el('strong', {}, formatNumber(bestValue(one))),
                     el('div', {},
                        el('a', {class: 'muted', href: `#/e/${encodeURIComponent(one.id)}/model/${best.model}`},
                           `model ${best.model}`))) :
                  '–'),
        el('td', {}, formatDuration(one.seconds)),
        el('td', {}, created === null ? '–' : formatAge(created, now),
           created === null ? null : el('div', {class: 'muted'}, timeWithUtc(created))));
  }

  /** @param {string} id @param {boolean} checked */
  compare(id, checked) {
    const others = this.compared().filter((other) => other !== id);
    this.store.setParams({compare: joinList(checked ? [...others, id].slice(-MOST) : others)});
  }

  /** What is compared and loaded. */
  lines() {
    return this.compared().flatMap((id) => {
      const table = this.tables.get(id);
      if (!table) return [];
      const {metric, goal} = table.objectives[0];
      const points =
          bestSoFar(table, table.model.map((_, row) => row), metric, goal).filter((p) => !Number.isNaN(p.best));
      return [{id, table, metric, goal, points}];
    });
  }

  sentence() {
    const lines = this.lines();
    const metrics = new Set(lines.map((line) => `${line.metric} ${line.goal}`));
    const parts = lines.map(
        ({id, points}) => points.length === 0 ?
            `${oneLine(id, 60)}: no model yet` :
            `${oneLine(id, 60)}: ${formatNumber(points[points.length - 1].best)} after ${
                counted(points[points.length - 1].order, 'model')}`);
    const missing = this.compared().filter((id) => this.tables.failed(id));
    return `${parts.join('; ')}.${metrics.size > 1 ? ' Their objectives differ: the lines are not of one kind.' : ''}` +
        (missing.length > 0 ? ` Not loaded: ${missing.map((id) => oneLine(id, 60)).join(', ')}.` : '');
  }

  table() {
    return {
      header: ['experiment', 'models ended', 'seconds', 'best'],
      rows: this.lines().flatMap(
          ({id, table, points}) =>
              points.filter((p) => p.improved)
                  .map(
                      (p) =>
                          [id, p.order,
                           p.time === null || table.started === null ? null : (p.time - table.started) / 1000, p.best]))
    };
  }

  /** @param {CanvasRenderingContext2D} ctx @param {number} width @param {number} height */
  draw(ctx, width, height) {
    const lines = this.lines();
    const byTime = this.store.param('by', 'models') === 'time';
    const frame = frameOf(width, height);
    const seconds = (/** @type {any} */ line, /** @type {any} */ p) =>
        ((p.time ?? 0) - (line.table.started ?? 0)) / 1000;
    const xs = lines.flatMap((line) => line.points.map((p) => byTime ? seconds(line, p) : p.order));
    const ys = lines.flatMap((line) => line.points.map((p) => p.best));
    const x = d3.scaleLinear().domain([0, Math.max(1, ...d3.extent(xs).filter(Number.isFinite))]).range([
      frame.left, frame.right
    ]);
    const y = d3.scaleLinear().domain(paddedDomain(ys)).range([frame.bottom, frame.top]).nice();
    drawAxes(ctx, frame, {
      x,
      y,
      xTitle: byTime ? 'time since its start' : 'models ended',
      yTitle: lines[0]?.metric ?? '',
      xFormat: byTime ? formatDuration : undefined
    });
    const colors = SERIES[themeName()];
    this.points = [];
    lines.forEach((line, i) => {
      ctx.strokeStyle = colors[i % colors.length];
      ctx.lineWidth = 2;
      ctx.setLineDash([[], [7, 3], [2, 3], [9, 3, 2, 3]][i % 4]);
      ctx.beginPath();
      let last = null;
      for (const p of line.points) {
        const px = x(byTime ? seconds(line, p) : p.order);
        const py = y(p.best);
        if (last === null) {
          ctx.moveTo(px, py);
        } else {
          ctx.lineTo(px, last[1]);
          ctx.lineTo(px, py);
        }
        last = [px, py];
        if (p.improved)
          this.points.push({
            x: px,
            y: py,
            text: `${oneLine(line.id, 60)}\nmodel ${line.table.model[p.row]}: ${formatNumber(p.best)}\n${
                p.time === null ? '' : timeText(p.time)}`
          });
      }
      ctx.stroke();
      ctx.setLineDash([]);
      if (last)
        drawName(
            ctx, oneLine(line.id, 40), colors[i % colors.length], Math.min(frame.right - 4, last[0]), last[1] - 4);
    });
    if (lines.length === 0) {
      ctx.fillStyle = theme().muted;
      ctx.textAlign = 'center';
      ctx.fillText('loading …', width / 2, height / 2);
    }
  }
}
