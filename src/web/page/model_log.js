// What a model printed: the end of its log, which follows it while it runs.

import {ApiError, modelPath} from './api.js';
import {checkbox, el, refill, select, textBlock} from './dom.js';
import {cleanText, formatBytes, oneLine} from './format.js';
import {LogTail} from './log_tail.js';

/** Between two requests for what came meanwhile, ms. */
const LOG_PACE = 2000;

export class ModelLog {
  /** @param {import('./store.js').Store} store @param {number} model */
  constructor(store, model) {
    this.store = store;
    this.model = model;
    this.abort = new AbortController();
    this.log = textBlock('', {class: 'text log', tabindex: '0', 'aria-label': 'Log', role: 'log', 'aria-live': 'off'});
    this.note = el('span', {class: 'muted'});
    this.tools = el('span', {class: 'row'});
    this.follow = true;
    /** The last request. */
    this.failed = false;
    this.tail = new LogTail(this.attempt());
    const followed = checkbox('follow', true, (on) => {
      this.follow = on;
    });
    this.element =
        el('section', {class: 'card view', 'aria-label': 'Log'},
           el('div', {class: 'row spread'}, el('h2', {}, 'Log'),
              el('div', {class: 'row'}, this.note, this.tools, followed)),
           this.log);
    /** @type {ReturnType<typeof setTimeout>|undefined} */
    this.timer = undefined;
    this.load();
  }

  destroy() {
    this.abort.abort();
    clearTimeout(this.timer);
  }

  /** The attempt whose log is shown; 0: the last one. */
  attempt() {
    return Number(this.store.param('a')) || 0;
  }

  /** Shows the log of the attempt that is chosen. @param {string[]} attempts  all of the model's */
  fill(attempts) {
    if (this.tail.wanted !== this.attempt()) {
      this.tail = new LogTail(this.attempt());
      clearTimeout(this.timer);
      this.load();
    }
    refill(
        this.tools,
        attempts.length < 2 ?
            null :
            select(
                'Attempt',
                [['', 'the last'], ...attempts.map((a) => /** @type {[string, string]} */ ([a, a]))],
                String(this.attempt() || ''), (a) => this.store.setParams({a})));
  }

  /** What the table has of the model, which may not have it yet. */
  known() {
    const table = this.store.current?.table;
    const row = table?.rowOf.get(this.model);
    return table && row !== undefined ? {state: table.state[row], attempts: table.attempts[row]} :
                                        {state: 'QUEUED', attempts: 0};
  }

  isMoving() {
    return ['RUNNING', 'QUEUED'].includes(this.known().state);
  }

  headIsBack() {
    if (!this.failed) return;
    clearTimeout(this.timer);
    this.load();
  }

  async load() {
    const wasMoving = this.isMoving();
    const {tail} = this;
    this.failed = false;
    try {
      const path = `${modelPath(this.store.route.id, this.model)}/log?${tail.query()}`;
      const {headers, bytes} = await this.store.api.ask(
          path, {signal: this.abort.signal},
          async (response) => ({headers: response.headers, bytes: await response.arrayBuffer()}));
      const number = (/** @type {string} */ name) => Number(headers.get(name) ?? 0);
      // Meanwhile the log of another attempt was asked for.
      if (tail !== this.tail) return;
      const more = tail.take(number('X-Log-Attempt'), number('X-Log-Size'), bytes);
      this.show(bytes.byteLength > 0);
      if (more) {
        this.timer = setTimeout(() => this.load(), 0);
        return;
      }
      // Another attempt has begun.
      if (tail.wanted === 0 && tail.attempt > 0 && this.known().attempts > tail.attempt) tail.restart();
    } catch (error) {
      if (this.abort.signal.aborted || tail !== this.tail) return;
      this.failed = true;
      this.showError(/** @type {Error} */ (error));
    }
    if (wasMoving || this.isMoving()) this.timer = setTimeout(() => this.load(), LOG_PACE);
  }

  /** What has been read of it stays. @param {Error} error */
  showError(error) {
    const why = oneLine(error.message);
    if (this.tail.text !== '') {
      this.note.textContent = `The log cannot be read further: ${why}`;
      return;
    }
    this.note.textContent = '';
    this.log.textContent = error instanceof ApiError && error.status === 404 ? 'There is no log.' :
                                                                               `The log cannot be read: ${why}`;
  }

  /** @param {boolean} hasMore  since it was shown */
  show(hasMore) {
    const {attempt, size, from, text} = this.tail;
    this.note.textContent = size === 0 ?
        '' :
        `attempt ${attempt}, ${formatBytes(size)}${from ? `, the last ${formatBytes(size - from)} of it` : ''}`;
    if (text === '') {
      this.log.textContent = size === 0 ? 'It has printed nothing.' : '';
    } else if (hasMore) {
      this.log.textContent = cleanText(text, text.length);
      if (this.follow) this.log.scrollTop = this.log.scrollHeight;
    }
  }
}
