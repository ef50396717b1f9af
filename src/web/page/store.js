// What the page knows: one place, fed by documents and by events. Views read it and are told when it changes.

import {Api, ApiError, experimentPath, isAbsent, Token} from './api.js';
import {applyMessage} from './changes.js';
import {completeTable, decodeColumns} from './decode.js';
import {oneLine} from './format.js';
import {NoteSaver, readNotes} from './notes.js';
import {Notices} from './notices.js';
import {Parts} from './parts.js';
import {readRoute, readSelection, selectionOrder, writeRoute, writeSelection} from './route.js';
import {SelectedRows} from './selected_rows.js';
import {EventSourceOfTab} from './stream.js';

/** States of an experiment that change by themselves. */
const MOVING = new Set(['CREATED', 'RUNNING', 'STOPPING']);
const POLL = 5000;
/** A document that was long in coming is polled less often, so that it takes one part in so many of the time; but that
    often at least, ms. */
const SHOW_SHARE = 100;
const LONGEST_POLL = 30000;
const ENDED_PAUSE = 1000;
/** Between the beginnings of two loads of the table, at least, ms; and how many times as long as the last one took. */
const RELOAD_PACE = 4000;
const RELOAD_SHARE = 10;
/** So long at least what a table lacks may come by events, ms. */
const RELOAD_PATIENCE = 1500;

/**
 * The experiment that is shown, as far as it is loaded.
 * @typedef {Object} Current
 * @property {string} id
 * @property {import('./decode.js').Table} table
 * @property {number} least  the number that attempts and curves must have at least to be taken
 * @property {import('./decode.js').Attempts|null} attempts
 * @property {Map<string, import('./decode.js').Curves>} curves
 * @property {Map<string, import('./decode.js').Curves>} times
 * @property {boolean} stale  it could not be loaded again: to be tried once more
 * @property {any} show
 * @property {number} shownAt  when `show` was loaded, ms since 1970
 * @property {any} space
 * @property {any} config
 * @property {Map<number, import('./notes.js').Note>} notes
 */

export class Store {
  constructor() {
    this.token = new Token();
    this.api = new Api(this.token);
    this.route = readRoute('');
    /** @type {any} */
    this.info = null;
    /** @type {any[]|null} */
    this.experiments = null;
    /** @type {Current|null} */
    this.current = null;
    /** @type {ApiError|null} */
    this.error = null;
    /** @type {Set<number>} models */
    this.selected = new Set();
    /** 'loading', 'live', 'paused' (another window has the stream), 'idle' (nothing moves), 'lost', 'denied' */
    this.connection = 'loading';
    this.retryAt = 0;
    /** Whether a request has got no answer since 'back' was told last. */
    this.missed = false;
    /** Whether the last one has got one. */
    this.isAnswered = false;
    this.notices = new Notices();
    this.loading = 0;
    this.reloadTimer = 0;
    this.lastReload = 0;
    /** How long it took, ms. */
    this.reloadCost = 0;
    /** Not before this is an experiment's document polled again, of performance.now(). */
    this.nextShow = 0;
    this.selectedRows = new SelectedRows();
    this.notes = new NoteSaver(this);
    /** @type {Promise<void>|null} the request for the list that is on its way */
    this.listing = null;
    this.parts = new Parts(this);
    this.stream = new EventSourceOfTab((message) => this.receive(message));
    this.api.onStatus = (status) => this.answered(status);
  }

  /** @param {(changes: Set<string>) => void} update @param {() => void} [glance]  see Notices */
  subscribe(update, glance) {
    return this.notices.subscribe(update, glance);
  }

  /**
   * Tells views, soon and once.
   * @param {string} what @param {boolean} [paced]
   */
  changed(what, paced = false) {
    this.notices.tell(what, paced);
  }

  async start() {
    this.token.takeFromAddress();
    // Without a token, another tab may have one; with one, nothing waits for the worker.
    const ofOthers = this.stream.start();
    if (!this.token.value) this.token.set(await ofOthers);
    addEventListener('hashchange', () => {
      if (this.token.takeFromAddress()) this.useToken(this.token.value);
      this.follow();
    });
    setInterval(() => {
      if (!document.hidden) this.poll();
    }, POLL);
    document.addEventListener('visibilitychange', () => {
      if (!document.hidden) this.poll();
    });
    await this.loadInfo();
    // A tab may have kept the token of an earlier head.
    if (this.connection === 'denied' && ![this.token.value, ''].includes(await ofOthers)) {
      this.token.set(await ofOthers);
      await this.loadInfo();
    }
    this.follow();
  }

  async loadInfo() {
    try {
      this.info = await this.api.json('info');
      this.stream.setToken(this.token.value);
      this.changed('info');
    } catch (error) {
      this.failed(error);
    }
  }

  /** @param {string} token */
  async useToken(token) {
    this.token.set(token);
    this.connection = 'loading';
    this.error = null;
    this.current = null;
    await this.loadInfo();
    this.follow();
  }

  /** @param {number} status */
  answered(status) {
    this.isAnswered = status !== 0;
    if (status === 0) {
      this.missed = true;
      // Of the head itself a stream knows better than a single request.
      if (!this.stream.watched || !['live', 'paused'].includes(this.connection))
        this.setConnection('lost', Date.now() + POLL);
    } else if (status === 401) {
      this.setConnection('denied');
    } else if (this.connection === 'lost' || this.connection === 'loading' || this.connection === 'denied') {
      // A stream that is lost says so itself when it is back.
      if (!this.stream.watched || this.connection !== 'lost') this.setConnection('idle');
    }
  }

  /** @param {string} state @param {number} [retryAt] */
  setConnection(state, retryAt = 0) {
    if (this.connection === state && this.retryAt === retryAt) return;
    this.connection = state;
    this.retryAt = retryAt;
    this.changed('connection');
  }

  /** @param {unknown} error */
  failed(error) {
    this.error = error instanceof ApiError ? error : new ApiError(-1, String(error));
    this.changed('error');
  }

  clearError() {
    if (!this.error) return;
    this.error = null;
    this.changed('error');
  }

  /** Goes where the address points. */
  follow() {
    const before = this.route;
    this.route = readRoute(location.hash);
    this.selected = readSelection(this.route.params.sel);
    if (this.route.id === null) {
      // An experiment that is still being loaded is no longer wanted.
      ++this.loading;
      this.stream.unwatch();
      this.current = null;
      this.error = null;
      this.loadExperiments();
    } else if (!this.current || this.current.id !== this.route.id || before.id !== this.route.id) {
      this.open(this.route.id);
    }
    this.changed('route');
  }

  /**
   * Changes the address without a new entry of the history.
   * @param {Record<string, string|null>} params  null and '': not there
   */
  setParams(params) {
    for (const [name, value] of Object.entries(params)) {
      if (value === null || value === '') {
        delete this.route.params[name];
      } else {
        this.route.params[name] = value;
      }
    }
    this.replaceAddress();
    this.changed('params');
  }

  /** The address names the route, without a new entry of the history. */
  replaceAddress() {
    history.replaceState(null, '', writeRoute(this.route));
  }

  /** @param {import('./route.js').Route} route */
  go(route) {
    location.hash = writeRoute(route);
  }

  /** @param {string} name @param {string} [fallback] */
  param(name, fallback = '') {
    return this.route.params[name] ?? fallback;
  }

  /** One request at a time: a long list takes longer than the time between two polls. */
  loadExperiments() {
    this.listing ??= this.fetchExperiments().finally(() => {
      this.listing = null;
    });
    return this.listing;
  }

  async fetchExperiments() {
    try {
      this.experiments = (await this.api.json('experiments')).experiments;
      this.changed('experiments');
    } catch (error) {
      if (this.experiments === null) this.failed(error);
    }
  }

  /** @param {string} id  as the address names it: `latest` and the beginning of an id, too */
  async open(id) {
    const loading = ++this.loading;
    this.error = null;
    this.current = null;
    this.nextShow = 0;
    this.selectedRows = new SelectedRows();
    clearTimeout(this.reloadTimer);
    this.reloadTimer = 0;
    this.parts.forget();
    this.stream.unwatch();
    this.changed('table');
    try {
      const begun = performance.now();
      let [columns, documents] =
          await Promise.all([this.api.json(`${experimentPath(id)}/columns`), this.documentsOf(id)]);
      if (loading !== this.loading) return;
      const table = decodeColumns(columns);
      if (table.id !== id) {
        // Each request may have found another experiment by this name: from here on its own id says which one it is.
        documents = await this.documentsOf(table.id);
        if (loading !== this.loading) return;
        this.route.id = table.id;
        this.replaceAddress();
      }
      const [show, space, notes, config] = documents;
      completeTable(table, space, show);
      table.reason = show.reason ?? '';
      this.current = {
        id: table.id,
        table,
        least: table.number,
        attempts: null,
        curves: new Map(),
        times: new Map(),
        stale: false,
        show,
        shownAt: Date.now(),
        space,
        config,
        notes: readNotes(notes)
      };
      this.lastReload = begun;
      this.reloadCost = performance.now() - begun;
      performance.measure('open', {start: begun, end: performance.now()});
      this.changed('table');
      this.watch();
    } catch (error) {
      if (loading === this.loading) this.failed(error);
    }
  }

  /**
   * What is loaded beside the table when an experiment is opened.
   * @param {string} id
   */
  documentsOf(id) {
    const path = experimentPath(id);
    return Promise.all([
      this.api.json(path),
      this.optional(`${path}/space`),
      this.optional(`${path}/notes`),
      this.optional(`${path}/config`),
    ]);
  }

  /**
   * A document that need not be there.
   * @param {string} path
   */
  async optional(path) {
    try {
      return await this.api.json(path);
    } catch (error) {
      if (error instanceof ApiError && isAbsent(error)) return null;
      throw error;
    }
  }

  watch() {
    const {current} = this;
    if (!current) return;
    if (MOVING.has(current.table.status)) {
      this.stream.watch(current.id, () => this.current?.table.number ?? 0);
    } else {
      this.stream.unwatch();
      this.setConnection('idle');
    }
  }

  /**
   * What no stream tells: lists, models that wait, and whether somebody went on with an experiment that had ended.
   * Views hear here, and thus no sooner, that what got no answer may be asked for again.
   */
  async poll() {
    await this.pollOnce();
    if (!this.missed || !this.isAnswered) return;
    this.missed = false;
    this.changed('back');
  }

  async pollOnce() {
    if (this.connection === 'denied') return;
    if (this.info === null) await this.loadInfo();
    const {current} = this;
    if (this.route.id === null) {
      await this.loadExperiments();
    } else if (!current) {
      // Nobody answered, or there was no time for it: not what is refused.
      if (this.error && (this.error.status <= 0 || this.error.status === 503)) this.open(this.route.id);
    } else if (current.stale) {
      await this.reload();
    } else if (this.connection === 'paused') {
      // Windows that are looked at take turns.
      this.stream.again();
    } else {
      await this.pollExperiment(current);
    }
  }

  /** @param {Current} current */
  async pollExperiment(current) {
    const begun = performance.now();
    if (begun < this.nextShow && !this.missed) return;
    try {
      const show = await this.api.json(experimentPath(current.id));
      const cost = performance.now() - begun;
      this.nextShow = begun + Math.min(LONGEST_POLL, SHOW_SHARE * cost) - POLL;
      if (this.current !== current) return;
      if (MOVING.has(current.table.status)) {
        // No event tells of models that have only been proposed.
        if (show.models.total > current.table.model.length) this.reloadSoon(show.models.total);
        if (waitingFor(show) !== waitingFor(current.show)) {
          setShow(current, show);
          this.changed('show');
        }
        return;
      }
      const moved = show.status !== current.show.status || show.models.total !== current.show.models.total;
      setShow(current, show);
      this.clearError();
      if (moved) await this.reload();
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) this.failed(error);
    }
  }

  /** Loads the table again, with all that hangs on it, and goes on from there. */
  async reload() {
    const {current} = this;
    if (!current) return;
    const begun = performance.now();
    // Already now: events go on while it is loaded, and would ask for the next one beside it.
    this.lastReload = begun;
    try {
      const path = experimentPath(current.id);
      // A resume may have changed the limits.
      const [columns, show, space, config] = await Promise.all([
        this.api.json(`${path}/columns`), this.api.json(path), this.optional(`${path}/space`),
        this.optional(`${path}/config`)
      ]);
      if (this.current !== current) return;
      const table = decodeColumns(columns);
      current.space = space ?? current.space;
      current.config = config ?? current.config;
      completeTable(table, current.space, show);
      table.reason = show.reason ?? '';
      setShow(current, show);
      await this.parts.catchUp(current, table.number);
      if (this.current !== current) return;
      table.revision += current.table.revision + 1;
      current.table = table;
      this.reloadCost = performance.now() - begun;
      current.stale = false;
      this.clearError();
      this.changed('table');
      this.watch();
    } catch (error) {
      if (this.current !== current) return;
      current.stale = true;
      // That the head is lost is told by the connection.
      if (this.connection !== 'lost') this.failed(error);
    }
  }

  /** @param {any} message  of the stream */
  receive(message) {
    const {current} = this;
    if (!current || message.id !== current.id) return;
    if (message.type === 'facts') {
      if (!this.parts.hold(message)) this.apply(current, message);
    } else if (message.type === 'connection') {
      if (message.state === 'missing') {
        this.failed(new ApiError(404, `there is no experiment "${current.id}" any more`));
      } else if (message.state === 'none') {
        this.stream.unwatch();
        this.setConnection('idle');
      } else {
        this.setConnection(message.state, message.state === 'lost' ? Date.now() + message.wait : 0);
      }
    } else if (message.type === 'reload') {
      // The next table may again be older than what is kept of a stream with much to tell.
      current.table.incomplete = true;
      this.reloadSoon();
    } else {
      this.stream.unwatch();
      this.setConnection('idle');
      // The end is recorded before the columns have it, perhaps.
      setTimeout(() => this.reload(), ENDED_PAUSE);
    }
  }

  /** @param {Current} current @param {any} message  with facts */
  apply(current, message) {
    // Sent before the stream heard that the table is an earlier one: what is between comes, and this once more.
    if (message.after > current.table.number) return;
    if (applyMessage(current, message)) this.changed('table', true);
    if (current.table.incomplete || current.table.unknown.size > 0) this.reloadSoon();
  }

  /**
   * Loads the table again if it still lacks then what it lacks now: models that end meanwhile bring their samples.
   * @param {number} [models]  so many there are
   */
  reloadSoon(models = 0) {
    const {current} = this;
    if (this.reloadTimer || !current) return;
    const unknown = [...current.table.unknown];
    const pace = Math.max(RELOAD_PACE, RELOAD_SHARE * this.reloadCost);
    this.reloadTimer = window.setTimeout(() => {
      this.reloadTimer = 0;
      if (this.current !== current) return;
      // Nobody sees it.
      if (globalThis.document?.hidden) {
        this.reloadSoon(models);
        return;
      }
      const {table} = current;
      if (table.incomplete || table.model.length < models || unknown.some((model) => table.unknown.has(model))) {
        this.reload();
      } else if (table.unknown.size > 0) {
        this.reloadSoon();
      }
    }, Math.max(RELOAD_PATIENCE, this.lastReload + pace - performance.now()));
  }

  /** @param {string} metric @param {boolean} times */
  loadCurves(metric, times) {
    return this.parts.loadCurves(metric, times);
  }

  loadAttempts() {
    return this.parts.loadAttempts();
  }

  /** What filter, sort and columns of the address make of the table. */
  selection() {
    return this.selectedRows.of(/** @type {Current} */ (this.current), this.route.params, this.selected);
  }

  /** @param {Iterable<number>} models */
  select(models) {
    this.selected = new Set(selectionOrder(models));
    this.setParams({sel: writeSelection(this.selected)});
    this.changed('selection');
  }

  /** @param {number} model */
  toggle(model) {
    const next = new Set(this.selected);
    if (!next.delete(model)) next.add(model);
    this.select(next);
  }

  /**
   * Why an action cannot be done here; '': it can.
   * @param {string} action
   */
  whyNot(action) {
    const known = this.info?.actions?.[action];
    if (!known) return 'this server does not offer it';
    return known.enabled ? '' : known.because || 'this server does not offer it';
  }
}

/**
 * What an experiment lacks to go on, on one line; '': nothing, or it is not known.
 * @param {any} entry  of `show` or of `list` @param {string} [status]  where a later one is known
 */
export function waitingFor(entry, status = entry?.status) {
  return MOVING.has(status) ? oneLine(entry?.waiting_for ?? '', 600) : '';
}

/** @param {Current} current @param {any} show  just loaded */
function setShow(current, show) {
  current.show = show;
  current.shownAt = Date.now();
}
