// The store against a head that answers when the test says so.

import {ApiError} from '../../../src/web/page/api.js';
import {readSelection} from '../../../src/web/page/route.js';
import {Store, waitingFor} from '../../../src/web/page/store.js';

import {check, equal, test} from './harness.js';
import {curveBytes} from './sample_table.js';

// In node.
globalThis.window ??= /** @type {any} */ (globalThis);
globalThis.location ??= /** @type {any} */ ({hash: ''});
globalThis.history ??= /** @type {any} */ ({
  replaceState(_, title, address) {
    location.hash = address;
  }
});
globalThis.requestAnimationFrame ??= /** @type {any} */ ((run) => setTimeout(run, 0));

/** Lets everything go on that waits for nothing. */
const settle = () => new Promise((resolve) => setTimeout(resolve, 0));

/** Model 1 reports a step with each fact from the third one on; with the sixth one begins its second attempt. */
const FACTS = [
  {number: '1', state: {state: 'RUNNING'}},
  {number: '2', time: '1970-01-01T00:00:02Z', model: {model: 1, attempt: 1, trial: 1, started: {device: {node: 'n'}}}},
  ...[3, 4, 5].map((n) => report(n, 1, n - 3)),
  {
    number: '6',
    time: '1970-01-01T00:00:06Z',
    model: {model: 1, attempt: 2, trial: 2, started: {resumed_steps: 1, device: {node: 'n'}}}
  },
  ...[7, 8, 9].map((n) => report(n, 2, n - 6)),
];

function report(n, attempt, step) {
  const time = new Date(1000 * n).toISOString();
  return {
    number: String(n),
    time,
    model: {model: 1, attempt, trial: attempt, intermediate: {step, metrics: {values: {default: step / 4}}}}
  };
}

/** The steps of model 1 after so many facts. */
function stepsAfter(n) {
  const first = [0, 1, 2].slice(0, Math.max(0, n - 2));
  return n < 6 ? first : [0, 1, 2, 3].slice(0, n - 5);
}

/** A server, and what the stream hub does with its events: both stand at the fact that the test puts them to. */
class Head {
  constructor() {
    /** Of the journal. */
    this.number = 0;
    /** Of the table from which `columns` is made. */
    this.columns = 0;
    /** Of the last event that the stream has brought. */
    this.sent = 0;
    this.status = 'RUNNING';
    this.show = {};
    this.config = {};
    /** @type {(() => void)[]} requests that wait, where `slow` is set */
    this.waiting = [];
    this.slow = false;
    /** @type {string[]} */
    this.asked = [];
    /** @type {((path: string) => void)} throws what the next requests get */
    this.fail = () => {};
    this.store = new Store();
    this.store.route.id = 'a';
    this.store.api = /** @type {any} */ ({
      json: (path) => this.answer(path, (number) => this.document(path, number)),
      bytes: (path) => this.answer(path, (number) => this.curves(path, number)),
    });
    const head = this;
    this.store.stream = /** @type {any} */ ({
      watched: null,
      watch(id, after) {
        this.watched = {id, after};
        head.post(after(), head.sent);
      },
      again() {
        if (this.watched) this.watch(this.watched.id, this.watched.after);
      },
      unwatch() {
        this.watched = null;
      },
    });
  }

  post(after, upTo) {
    const events = FACTS.filter(({number}) => Number(number) > after && Number(number) <= upTo);
    if (events.length > 0) this.store.receive({type: 'facts', id: 'a', after, events: structuredClone(events)});
  }

  /** Events up to this one are recorded, and come. */
  send(number) {
    const after = this.sent;
    this.number = this.columns = Math.max(this.number, number);
    this.sent = number;
    this.post(after, number);
  }

  async answer(path, make) {
    this.asked.push(path);
    this.fail(path);
    const asked = Number(/[?&]number=(\d+)/.exec(path)?.[1] ?? 0);
    // As it is when the request comes, and later than that only for the reader.
    const answer = make(Math.max(this.columns, Math.min(asked, this.number)));
    if (this.slow) await new Promise((resolve) => this.waiting.push(() => resolve(null)));
    return answer;
  }

  /** Lets the requests through that wait. */
  async release() {
    for (const go of this.waiting.splice(0)) go();
    await settle();
  }

  document(path, number) {
    if (path === 'experiments/a') return {name: 'a', status: this.status, seconds: 5, models: {total: 1}, ...this.show};
    if (/config/.test(path)) return this.config;
    if (/attempts/.test(path)) {
      const starts = FACTS.filter((fact) => fact.model?.started && Number(fact.number) <= number);
      return {
        number,
        devices: ['n/cpu:0'],
        model: starts.map(() => 1),
        attempt: starts.map(({model}) => model.attempt),
        trial: starts.map(({model}) => model.trial),
        device: starts.map(() => 0),
        start: starts.map(({model}) => Date.parse(model.time)),
        end: starts.map(() => null),
        outcome: starts.map(() => null)
      };
    }
    if (/columns/.test(path)) {
      return {
        id: 'a',
        number,
        status: this.status,
        started: 1000,
        model: number < 2 ? [] : [1],
        statuses: ['RUNNING'],
        status_of: number < 2 ? [] : [0],
        attempts: number < 2 ? [] : [number < 6 ? 1 : 2],
        steps: number < 2 ? [] : [stepsAfter(number).length],
        start: number < 2 ? [] : [number < 6 ? 1000 : 5000],
      };
    }
    return {};
  }

  curves(path, number) {
    return curveBytes(new Map([[1, stepsAfter(number).map((step) => [step, step / 4])]]), true, number);
  }

  async open() {
    this.store.open('a');
    await settle();
    return this.store.current;
  }

  steps() {
    return [...this.store.current.curves.get('default').of.get(1).steps];
  }

  secondsSteps() {
    return [...this.store.current.times.get('default').of.get(1).steps];
  }
}

/** The curves, the table and the attempts say what the journal says after this fact. */
function expectAll(head, number) {
  const {table, attempts} = head.store.current;
  equal(head.steps(), stepsAfter(number));
  equal(head.secondsSteps(), stepsAfter(number));
  equal([table.number, table.steps[0], table.attempts[0]], [number, stepsAfter(number).length, number < 6 ? 1 : 2]);
  equal(attempts.attempt, number < 6 ? [1] : [1, 2]);
}

async function openAll(head, number) {
  head.send(number);
  await head.open();
  await Promise.all(
      [head.store.loadCurves('default', false), head.store.loadCurves('default', true), head.store.loadAttempts()]);
}

test('a table that is loaded again gives no curve a point twice', async () => {
  const head = new Head();
  await openAll(head, 4);
  for (const [columns, sent] of [[5, 5], [5, 8], [6, 9]]) {
    head.slow = true;
    const reload = head.store.reload();
    await settle();
    head.send(sent);
    // The server's table may be older than what the stream has told.
    head.columns = columns;
    head.slow = false;
    await head.release();
    await reload;
    expectAll(head, sent);
  }
});

test('a table that is loaded from a later fact brings curves and attempts along', async () => {
  const head = new Head();
  await openAll(head, 4);
  head.number = head.columns = 8;
  await head.store.reload();
  expectAll(head, 8);
  head.send(9);
  expectAll(head, 9);
});

test('events that come while curves are loaded are applied after them', async () => {
  const head = new Head();
  head.send(4);
  await head.open();
  head.slow = true;
  const loads =
      [head.store.loadCurves('default', false), head.store.loadCurves('default', true), head.store.loadAttempts()];
  await settle();
  head.send(8);
  head.slow = false;
  await head.release();
  await Promise.all(loads);
  expectAll(head, 8);
  equal(head.asked.filter((path) => /curves|attempts/.test(path)).length, 3);
  head.send(9);
  expectAll(head, 9);
});

test('curves that the server made before the last events are asked for as of these', async () => {
  const head = new Head();
  head.send(7);
  await head.open();
  head.columns = 4;
  await Promise.all(
      [head.store.loadCurves('default', false), head.store.loadCurves('default', true), head.store.loadAttempts()]);
  expectAll(head, 7);
  head.send(9);
  expectAll(head, 9);
});

test('curves that are on their way while the table is loaded again are not behind it', async () => {
  const head = new Head();
  head.send(4);
  await head.open();
  head.slow = true;
  const loads =
      [head.store.loadCurves('default', false), head.store.loadCurves('default', true), head.store.loadAttempts()];
  await settle();
  const late = head.waiting.splice(0);
  head.slow = false;
  head.number = head.columns = 8;
  await head.store.reload();
  for (const go of late) go();
  await Promise.all(loads);
  expectAll(head, 8);
});

test('an event that was sent before the stream knew of an earlier table is no reason to miss others', async () => {
  const head = new Head();
  await openAll(head, 7);
  const {watch} = head.store.stream;
  head.store.stream.watch = () => {};
  head.columns = 5;
  await head.store.reload();
  equal(head.store.current.table.number, 5);
  head.store.receive({type: 'facts', id: 'a', after: 7, events: [structuredClone(FACTS[7])]});
  equal(head.store.current.table.number, 5);
  // Now it hears of it.
  head.store.stream.watch = watch;
  head.sent = 8;
  head.store.watch();
  expectAll(head, 8);
});

/** Timers of a second and more wait until the test runs them. */
function holdTimers() {
  const {setTimeout: original} = window;
  /** @type {(() => void)[]} */
  const held = [];
  /** @type {number[]} after how many ms the browser would run them */
  const waits = [];
  window.setTimeout = /** @type {any} */ ((run, ms, ...rest) => {
    if (ms < 1000) return original.call(window, run, ms, ...rest);
    waits.push(ms);
    return held.push(run);
  });
  const release = () => {
    window.setTimeout = original;
  };
  return {held, waits, release};
}

test('the table is loaded again for the samples of new models, but not where these have ended meanwhile', async () => {
  for (const ends of [false, true]) {
    const head = new Head();
    head.send(1);
    await head.open();
    const {held, release} = holdTimers();
    try {
      head.send(2);
      equal([head.store.current.table.unknown.size, held.length], [1, 1]);
      if (ends) {
        const outcome = {model: 1, attempt: 1, outcome: 'SUCCEEDED', sample: {decisions: []}};
        head.store.receive({type: 'facts', id: 'a', after: 2, events: [{number: '3', outcome}]});
      }
      head.asked = [];
      held[0]();
      await settle();
      equal(head.asked.includes('experiments/a/columns'), !ends);
      equal([head.store.current.table.unknown.size, held.length], [0, 1]);
    } finally {
      release();
    }
  }
});

test('models that are only proposed are loaded, unless events tell of as many meanwhile', async () => {
  for (const begins of [false, true]) {
    const head = new Head();
    head.store.info = {};
    head.send(1);
    await head.open();
    head.show = {models: {total: 1}};
    const {held, release} = holdTimers();
    try {
      await head.store.poll();
      equal(held.length, 1);
      if (begins) head.send(2);
      if (begins) head.store.current.table.unknown.clear();
      head.asked = [];
      held[0]();
      await settle();
      equal(head.asked.includes('experiments/a/columns'), !begins);
    } finally {
      release();
    }
  }
});

test('the table is not loaded again while it is on its way', async () => {
  const head = new Head();
  head.send(1);
  await head.open();
  // The table was loaded long ago.
  head.store.lastReload -= 1e6;
  const {waits, release} = holdTimers();
  try {
    head.slow = true;
    const loaded = head.store.reload();
    head.send(2);
    equal(waits.length, 1);
    check(waits[0] > 2000, `${waits[0]} ms later`);
    head.slow = false;
    await head.release();
    await loaded;
  } finally {
    release();
  }
});

test('the pace of loads is that of the experiment that is shown', async () => {
  const head = new Head();
  head.send(1);
  head.store.reloadCost = 1e6;
  await head.open();
  const {waits, release} = holdTimers();
  try {
    head.send(2);
    check(waits[0] < 1e6, `${waits[0]} ms later`);
  } finally {
    release();
  }
});

test('limits and the time that it ran are loaded with the table', async () => {
  const head = new Head();
  head.config = {config: {max_trial_number: 10}};
  head.send(4);
  const current = await head.open();
  equal([current.config, current.show.seconds], [head.config, 5]);
  head.config = {config: {max_trial_number: 20}};
  head.show = {seconds: 60};
  current.shownAt = 0;
  await head.store.reload();
  equal([current.config, current.show.seconds], [head.config, 60]);
  check(current.shownAt > 0, 'when it was loaded');
});

test(
    'a table that could not be loaded again is tried once more, and the reader is told what is wrong with it',
    async () => {
      for (const [error, told] of [
               [new ApiError(0, 'no answer'), null], [new TypeError('no table'), 'TypeError: no table']]) {
        const head = new Head();
        head.send(4);
        const current = await head.open();
        head.store.receive({type: 'gone', id: 'a'});
        head.status = 'DONE';
        head.number = head.columns = 5;
        head.fail = (path) => {
          if (!/columns/.test(path)) return;
          if (error instanceof ApiError) head.store.answered(error.status);
          throw error;
        };
        await head.store.reload();
        equal([current.table.status, head.store.error?.message ?? null], ['RUNNING', told]);
        head.fail = () => {};
        await head.store.poll();
        equal([current.table.status, current.table.number, head.store.error], ['DONE', 5, null]);
      }
    });

test('an experiment that is opened does not wait for the time that another one took', async () => {
  const head = new Head();
  await head.open();
  head.store.nextShow = performance.now() + 1e6;
  const current = await head.open();
  head.asked = [];
  await head.store.pollExperiment(current);
  equal(head.asked, ['experiments/a']);
});

test('a window whose stream gave way says so, and asks for it again', async () => {
  const head = new Head();
  head.send(4);
  const current = await head.open();
  head.store.receive({type: 'connection', id: 'a', state: 'paused', wait: 0});
  equal(head.store.connection, 'paused');
  // Of this the stream tells only who has it.
  head.number = head.columns = head.sent = 8;
  await head.store.poll();
  equal([current.table.number, current.table.steps[0]], [8, 3]);
  head.store.receive({type: 'connection', id: 'a', state: 'live', wait: 0});
  equal(head.store.connection, 'live');
});

test('a document that is long in coming is polled less often, yet every half minute', async () => {
  const head = new Head();
  head.store.info = {};
  head.send(4);
  await head.open();
  const clock = performance.now;
  let now = 1e6;
  let cost = 0;
  const {json} = head.store.api;
  head.store.api.json = (path) => {
    now += cost;
    return json.call(head.store.api, path);
  };
  performance.now = () => now;
  try {
    const asks = async (/** @type {number} */ at) => {
      now = 1e6 + at;
      head.asked = [];
      await head.store.poll();
      return head.asked.length === 1;
    };
    cost = 50;
    equal([await asks(0), await asks(5000)], [true, true]);
    cost = 200;
    equal([await asks(10000), await asks(15000), await asks(20000), await asks(25000)], [true, false, false, true]);
    cost = 3600000;
    equal([await asks(100000), await asks(120000), await asks(125000)], [true, false, true]);
  } finally {
    performance.now = clock;
  }
});

test('what an experiment waits for is told when it changes, and not after its end', async () => {
  const head = new Head();
  head.store.info = {};
  head.send(4);
  head.show = {waiting_for: 'a device:\nno node has joined'};
  const current = await head.open();
  equal(waitingFor(current.show), 'a device: no node has joined');
  let told = 0;
  head.store.changed = (what) => told += Number(what === 'show');
  await head.store.poll();
  equal([told, waitingFor(current.show)], [0, 'a device: no node has joined']);
  head.show = {waiting_for: null};
  await head.store.poll();
  equal([told, waitingFor(current.show)], [1, '']);
  head.show = {waiting_for: 'a node with labels'};
  await head.store.poll();
  equal([told, waitingFor(current.show, current.table.status)], [2, 'a node with labels']);
  // The stream tells of the end before the next look.
  equal(waitingFor(current.show, 'STOPPED'), '');
  equal(waitingFor(null), '');
});

test('an experiment that could not be opened is opened as soon as the head answers, and has time for it', async () => {
  for (const status of [0, 503]) {
    const head = new Head();
    head.store.info = {};
    head.send(4);
    head.fail = () => {
      throw new ApiError(status, 'not now');
    };
    await head.store.open('a');
    equal([head.store.current, head.store.error?.status], [null, status]);
    head.fail = () => {};
    await head.store.poll();
    await settle();
    equal([head.store.current?.table.model.length, head.store.error], [1, null]);
  }
});

test('an experiment that is loaded only when the reader is back at the list stays away', async () => {
  const head = new Head();
  head.slow = true;
  head.store.open('a');
  await settle();
  location.hash = '#/';
  head.store.follow();
  head.slow = false;
  await head.release();
  equal([head.store.route.id, head.store.current, head.store.stream.watched], [null, null, null]);
});

test('of an experiment that was the latest all is loaded, and its own id stands in the address', async () => {
  const head = new Head();
  head.send(4);
  const {store} = head;
  const {json} = store.api;
  // Another experiment was submitted after the columns were asked for.
  store.api.json = async (path) => path === 'experiments/latest' ? {name: 'b', status: 'RUNNING'} : json(path);
  location.hash = '#/e/latest/models?s=-model';
  store.follow();
  await settle();
  equal([store.current.id, store.current.show.name, store.stream.watched.id], ['a', 'a', 'a']);
  equal([store.route.id, location.hash], ['a', '#/e/a/models?s=-model']);
  equal(head.asked.filter((path) => /columns/.test(path)), ['experiments/latest/columns']);
  // It is the one that is shown: nothing is loaded for another view of it.
  head.asked = [];
  location.hash = '#/e/a/curves';
  store.follow();
  equal(head.asked, []);
});

test('a table that stays older than what is kept of the stream is loaded again at the pace of loads', async () => {
  const head = new Head();
  head.send(4);
  await head.open();
  let tables = 0;
  head.store.stream.watch = () => {
    if (++tables < 10) head.store.receive({type: 'reload', id: 'a'});
  };
  const {held, waits, release} = holdTimers();
  try {
    head.asked = [];
    head.store.watch();
    head.store.watch();
    for (let loads = 0; loads < 3; ++loads) {
      equal([head.asked.filter((path) => /columns/.test(path)).length, held.length], [loads, loads + 1]);
      held[loads]();
      await settle();
    }
    check(waits.every((ms) => ms > 1000), `${waits} ms later`);
  } finally {
    release();
  }
});

test('what is selected has the order in which the address is read again', () => {
  const {store} = new Head();
  store.setParams = ({sel}) => {
    store.route.params.sel = String(sel);
  };
  const many = Array.from({length: 1000}, (_, i) => 1000 - i);
  for (const models of [[7, 3], [3, 7, 4, 5], many]) {
    store.select(models);
    equal(store.selected, readSelection(store.route.params.sel));
  }
  equal(store.route.params.sel, '1-1000');
});

test('the list is asked for again only after its answer', async () => {
  const head = new Head();
  head.store.route.id = null;
  head.store.info = {};
  head.slow = true;
  const polls = [head.store.poll(), head.store.poll()];
  await settle();
  equal(head.asked, ['experiments']);
  head.slow = false;
  await head.release();
  await Promise.all(polls);
  await head.store.poll();
  equal(head.asked, ['experiments', 'experiments']);
});

test('notes are saved in their order, however long the first one takes', async () => {
  const head = new Head();
  const {notes} = await head.open();
  /** @type {string[]} */
  const sent = [];
  /** @type {((failed: boolean) => void)[]} */
  const answers = [];
  head.store.api.send = (_, path, note) => new Promise((resolve, reject) => {
    sent.push(note.note);
    answers.push((failed) => failed ? reject(new ApiError(500, 'no room')) : resolve(note));
  });
  const [first, second, third] =
      ['one', 'two', 'three'].map((note) => head.store.notes.save(1, {star: false, note}).catch(({message}) => message));
  await settle();
  equal(sent, ['one']);
  answers[0](false);
  await first;
  await settle();
  equal([sent, notes.get(1)?.note], [['one', 'two'], 'one']);
  // What fails holds nothing up.
  answers[1](true);
  equal(await second, 'no room');
  await settle();
  const other = head.store.notes.save(2, {star: true, note: 'other'});
  await settle();
  // Another model's does not wait.
  equal(sent, ['one', 'two', 'three', 'other']);
  answers[2](false);
  answers[3](false);
  await Promise.all([third, other]);
  equal([notes.get(1)?.note, notes.get(2)?.note], ['three', 'other']);
});

test('a note has lines as a field has them, whichever client wrote it', async () => {
  const head = new Head();
  const {notes} = await head.open();
  head.store.api.send = async (_, path, note) => ({...note, note: 'one\r\ntwo\rthree'});
  await head.store.notes.save(1, {star: true, note: ''});
  equal(notes.get(1), {star: true, note: 'one\ntwo\nthree'});
});

test('a table that got no answer is told of where the stream does not tell it', async () => {
  const head = new Head();
  await head.open();
  head.store.connection = 'live';
  head.fail = () => {
    head.store.answered(0);
    throw new ApiError(0, 'no answer');
  };
  await head.store.reload();
  equal([head.store.connection, head.store.error?.message], ['live', 'no answer']);
  head.fail = () => {};
  await head.store.poll();
  equal([head.store.connection, head.store.error], ['live', null]);
});

test('one request without an answer is no lost head while the stream is live, and parts are asked for again', async () => {
  const head = new Head();
  await head.open();
  const {store} = head;
  /** @type {string[]} */
  const told = [];
  store.notices.tell = (what) => told.push(what);
  /** What the page shows, and how often views have heard, by these answers and at the next poll. */
  const after = async (/** @type {string} */ connection, /** @type {number[]} */ statuses) => {
    store.connection = connection;
    told.length = 0;
    const count = () => told.filter((what) => what === 'back').length;
    for (const status of statuses) store.answered(status);
    const before = count();
    await store.poll();
    return [store.connection, before, count()];
  };
  equal(await after('live', [0, 0]), ['live', 0, 0]);
  equal(await after('live', [200, 200]), ['live', 0, 1]);
  equal(await after('live', [200]), ['live', 0, 0]);
  // However often an answer follows none, there is one retry a poll.
  equal(await after('live', [0, 200, 0, 200, 0, 200]), ['live', 0, 1]);
  equal(await after('paused', [0]), ['paused', 0, 0]);
  // Where no stream is watched, nothing else tells of the head.
  store.stream.unwatch();
  equal(await after('live', [0]), ['lost', 0, 0]);
  equal(await after('lost', [200]), ['idle', 0, 1]);
  equal(await after('idle', [0, 404]), ['idle', 0, 1]);
});

/** A store of a new tab, before a server that accepts one token; `stored`: what the tab has kept, `others`: of others. */
async function tokensOf(stored, others) {
  const store = new Store();
  store.token.value = stored;
  store.token.takeFromAddress = () => false;
  const handedOn = [];
  store.stream = /** @type {any} */ ({start: async () => others, setToken: (token) => handedOn.push(token)});
  store.api.json = async () => {
    store.answered(store.token.value === 'good' ? 200 : 401);
    if (store.token.value !== 'good') throw new ApiError(401, 'no');
    return {};
  };
  store.follow = () => {};
  const listeners = [globalThis.addEventListener, globalThis.document, globalThis.setInterval];
  globalThis.addEventListener = () => {};
  globalThis.setInterval = /** @type {any} */ (() => 0);
  if (!listeners[1]) globalThis.document = /** @type {any} */ ({addEventListener() {}});
  try {
    await store.start();
  } finally {
    [globalThis.addEventListener, , globalThis.setInterval] = listeners;
    if (!listeners[1]) delete globalThis.document;
  }
  return {token: store.token.value, handedOn, denied: store.connection === 'denied'};
}

test('a stale token signs nobody out, and gives way to one that works', async () => {
  equal(await tokensOf('good', 'other'), {token: 'good', handedOn: ['good'], denied: false});
  equal(await tokensOf('stale', 'good'), {token: 'good', handedOn: ['good'], denied: false});
  equal(await tokensOf('', 'good'), {token: 'good', handedOn: ['good'], denied: false});
  equal(await tokensOf('stale', ''), {token: 'stale', handedOn: [], denied: true});
  equal(await tokensOf('stale', 'stale too'), {token: 'stale too', handedOn: [], denied: true});
});
