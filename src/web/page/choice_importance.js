// How much each choice has to do with the best models, and what the candidates of one choice lead to.

import {experimentPath} from './api.js';
import {d3, drawAxes, FONT, frameOf, paddedDomain, theme} from './canvas.js';
import {Chart} from './chart.js';
import {el, refill, saveButtons, select, stateBox} from './dom.js';
import {fileName} from './exports.js';
import {counted, formatNumber, oneLine, valueText} from './format.js';
import {boxesByCandidate} from './stats.js';

/** Choices that are listed by importance. */
const RANKED = 40;

/** Two cards of the view of choices, about the metric and the models that it shows. */
export class ChoiceImportance {
  /** @param {import('./view_choices.js').ChoicesView} view */
  constructor(view) {
    this.view = view;
    this.store = view.store;
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
    this.boxTools = el('span', {class: 'row'});
    this.boxChart.tools.append(this.boxTools);
    this.boxToolsDrawn = '';
    /** @type {import('./chart.js').Point[]} */
    this.boxPoints = [];
    this.importanceKey = '';
    this.importanceDrawn = '';
    /** @type {any} */
    this.importanceDocument = null;
    /** @type {ReturnType<typeof setTimeout>|number} */
    this.importanceTimer = 0;
    this.elements = [this.importance, this.boxChart.element];
  }

  destroy() {
    clearTimeout(this.importanceTimer);
    this.boxChart.destroy();
  }

  /** @param {Set<string>} changes */
  update(changes) {
    const top = this.top();
    const key = `${this.view.current().id} ${this.view.metric()} ${this.goal()} ${top}`;
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
    this.makeBoxes();
    this.boxChart.redraw();
  }

  headIsBack() {
    if (this.importanceDocument?.error) this.loadImportance(this.importanceKey, this.top());
  }

  /** The share of models that count as the best. */
  top() {
    return this.store.param('top', '0.1');
  }

  /** Whether its metric is an objective, whose goal is known. */
  objective() {
    return this.view.current().table.objectives.find(({metric}) => metric === this.view.metric());
  }

  /** Which values of the metric are the best; the reader says it of one that is no objective. */
  goal() {
    return this.objective()?.goal ?? (this.store.param('goal') === 'MINIMIZE' ? 'MINIMIZE' : 'MAXIMIZE');
  }

  /** @param {string} key @param {string} top */
  async loadImportance(key, top) {
    const {current} = this.store;
    if (!current) return;
    try {
      const document = await this.store.api.json(`${experimentPath(current.id)}/importance?metric=${
          encodeURIComponent(this.view.metric())}&goal=${this.goal()}&top=${encodeURIComponent(top)}`);
      if (key === this.importanceKey) this.importanceDocument = document;
    } catch (error) {
      if (key === this.importanceKey) this.importanceDocument = {error: /** @type {Error} */ (error).message};
    }
    // Another experiment, or none, is shown by now.
    if (this.store.current !== current) return;
    this.fillImportance();
    // Where nobody has chosen another one, the boxes are about the most important choice.
    this.makeBoxes();
    this.boxChart.redraw();
  }

  fillImportance() {
    const document = this.importanceDocument;
    const key = JSON.stringify([document, this.boxLabel(), this.view.metric(), this.goal(), this.top()]);
    if (key === this.importanceDrawn) return;
    this.importanceDrawn = key;
    const tools =
        el('div', {class: 'chart-head'}, el('h2', {}, 'Importance'),
           select(
               'for the best', [['0.05', '5 %'], ['0.1', '10 %'], ['0.25', '25 %'], ['0.5', '50 %']],
               this.top(), (top) => this.store.setParams({top})),
           this.objective() ?
               null :
               select(
                   'which are', [['MAXIMIZE', 'the largest'], ['MINIMIZE', 'the smallest']], this.goal(),
                   (goal) => this.store.setParams({goal: goal === 'MAXIMIZE' ? null : goal})));
    if (!document) {
      refill(this.importance, tools, stateBox('loading', 'Computing …'));
    } else if (document.error) {
      refill(this.importance, tools, stateBox('error', 'There is no importance', document.error));
    } else if (document.too_few) {
      refill(
          this.importance, tools,
          stateBox(
              'empty', 'Too few models',
              `${counted(document.models, 'model')} with ${
                  oneLine(document.metric, 40)}: below 30 an importance would be chance.`));
    } else {
      const choices = document.choices.slice().sort(
          (/** @type {any} */ a, /** @type {any} */ b) => (b.importance ?? -1) - (a.importance ?? -1));
      const most = Math.max(1e-12, ...choices.map((/** @type {any} */ c) => c.importance ?? 0));
      tools.append(...saveButtons(
          'Importance', () => `${fileName(this.view.current().id)}_importance`,
          () => ({
            header: ['choice', 'importance'],
            rows: choices.map((/** @type {any} */ one) => [one.label, one.importance]),
          })));
      refill(
          this.importance, tools,
          el('div', {class: 'bars', role: 'list'}, ...choices.slice(0, RANKED).map((/** @type {any} */ one) => {
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
          choices.length > RANKED ?
              el('p', {class: 'muted'}, `${counted(choices.length - RANKED, 'more choice')}, none of which decides more.`) :
              null,
          el('p', {class: 'sentence'},
             `Conditional PED-ANOVA of all ${
                 counted(document.models, 'model')} that succeeded, filtered or not: how differently the ${
                 Math.round(100 * document.top)} % with the ${document.goal === 'MINIMIZE' ? 'smallest' : 'largest'} ${
                 oneLine(document.metric, 40)} choose. A click shows a choice's values.`));
    }
  }

  boxLabel() {
    const {table} = this.view.current();
    const best = this.importanceDocument?.choices?.reduce?.(
        (/** @type {any} */ a, /** @type {any} */ b) => (b.importance ?? -1) > (a?.importance ?? -1) ? b : a, null);
    const wanted = this.store.param('box', best?.label ?? table.choices[0].label);
    return table.choices.some((c) => c.label === wanted) ? wanted : table.choices[0].label;
  }

  makeBoxes() {
    const {table} = this.view.current();
    const choice = table.choices.find((c) => c.label === this.boxLabel());
    const values = table.metrics.get(this.view.metric());
    this.boxes = choice && values ? boxesByCandidate(choice, values, this.view.brushed, (c) => valueText(c)) : [];
    this.drawBoxTools(table.choices.map(({label}) => label));
  }

  /** @param {string[]} labels  of all choices: an importance need not be known, and lists some of them */
  drawBoxTools(labels) {
    const key = JSON.stringify([labels, this.boxLabel()]);
    if (key === this.boxToolsDrawn) return;
    this.boxToolsDrawn = key;
    const options = labels.map((label) => /** @type {[string, string]} */ ([label, oneLine(label, 60)]));
    refill(this.boxTools, select('of', options, this.boxLabel(), (box) => this.store.setParams({box})));
  }

  boxSentence() {
    const known = this.boxes.filter((b) => b.count > 0).sort((a, b) => b.median - a.median);
    if (known.length === 0) return 'No model has a value.';
    return `${oneLine(this.view.metric(), 40)} by ${oneLine(this.boxLabel(), 60)}: the highest median is ${
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
      yTitle: this.view.metric()
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
