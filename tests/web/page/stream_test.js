import {EventStreamReader} from '../../../src/web/page/sse.js';
import {EventSourceOfTab} from '../../../src/web/page/stream.js';
import {StreamHub} from '../../../src/web/page/stream_hub.js';

import {check, equal, test, thrown} from './harness.js';

const text =
    ': hello\nid: 7\nevent: facts\ndata: {"events":\ndata: []}\n\nevent: ended\r\ndata: {}\r\n\r\n: tick\n\ndata:x\n\n';
const expected = [
  {id: '7', event: 'facts', data: '{"events":\n[]}'}, {id: '7', event: 'ended', data: '{}'},
  {id: '7', event: 'message', data: 'x'}
];

test('a stream is read whole', () => equal(new EventStreamReader().push(text), expected));

test('a stream is the same wherever it is cut', () => {
  for (let size = 1; size < 9; ++size) {
    const reader = new EventStreamReader();
    const messages = [];
    for (let at = 0; at < text.length; at += size) messages.push(...reader.push(text.slice(at, at + size)));
    equal(messages, expected);
  }
});

test('facts keep the digits of their integers', () => {
  const told = /** @type {any[]} */ ([]);
  new EventSourceOfTab((message) => told.push(message.value))
      .receive({type: 'facts', data: '{"value": 9007199254740993}'});
  equal(told, ['9007199254740993']);
});

test('a line without end is refused at last', () => {
  const reader = new EventStreamReader();
  const block = 'x'.repeat(1 << 20);
  check(
      /too long/.test(thrown(() => {
                        for (let i = 0; i < 20; ++i) reader.push(block);
                      }).message),
      'a limit');
});

/** What a hub's clients are told, while the test says what comes from the server. */
class Wire {
  constructor() {
    /** @type {ReadableStreamDefaultController<Uint8Array>|null} */
    this.server = null;
    /** @type {string[]} */
    this.asked = [];
    /** @type {AbortSignal[]} of what was asked */
    this.signals = [];
    this.original = globalThis.fetch;
    /** @type {string[]} */
    this.tokens = [];
    globalThis.fetch = /** @type {any} */ (async (address, {signal, headers}) => {
      this.asked.push(address);
      this.tokens.push(headers.Authorization ?? '');
      this.signals.push(signal);
      return new Response(new ReadableStream({
        start: (controller) => {
          this.server = controller;
        }
      }));
    });
    this.hub = new StreamHub('http://here/');
  }

  /** Events with these numbers, in one message; each is so long. */
  async send(numbers, length = 10) {
    const events = numbers.map((number) => ({number: String(number), text: 'x'.repeat(length)}));
    this.server?.enqueue(new TextEncoder().encode(
        `id: ${numbers[numbers.length - 1]}\nevent: facts\ndata: ${JSON.stringify({events})}\n\n`));
    await this.settle();
  }

  async settle() {
    for (let i = 0; i < 5; ++i) await new Promise((resolve) => setTimeout(resolve, 0));
  }

  /** Of a client, the numbers of its events; 'reload' and the like as they are. */
  async watch(after) {
    /** @type {any[]} */
    const told = [];
    /** @type {number[]} */
    const afters = [];
    const client = {
      post: (message) => {
        if (message.type === 'connection') return;
        if (message.type !== 'facts') {
          told.push(message.type);
          return;
        }
        afters.push(message.after);
        told.push(...JSON.parse(message.data).events.map(({number}) => Number(number)));
      }
    };
    this.hub.watch(client, 'a', after);
    await this.settle();
    return {client, told, afters};
  }

  close() {
    for (const stream of this.hub.streams.values()) stream.close();
    globalThis.fetch = this.original;
  }
}

test('who comes late is told what was kept, as it came', async () => {
  const wire = new Wire();
  try {
    const first = await wire.watch(3);
    equal(wire.asked, ['http://here/api/v1/experiments/a/events?models=1&after=3']);
    await wire.send([4, 5]);
    await wire.send([8]);
    equal([first.told, first.afters], [[4, 5, 8], [3, 5]]);
    // Whatever it knows, no message is one that it could not place: `after` is at most what it knows.
    const early = await wire.watch(3);
    const late = await wire.watch(4);
    const last = await wire.watch(8);
    equal([early.told, early.afters], [[4, 5, 8], [3, 5]]);
    equal([late.told, late.afters], [[4, 5, 8], [3, 5]]);
    equal(last.told, []);
    await wire.send([9]);
    equal([first, early, late, last].map(({told}) => told[told.length - 1]), [9, 9, 9, 9]);
    equal(wire.asked.length, 1);
  } finally {
    wire.close();
  }
});

test('what is kept has an end, and who knows less loads the table again', async () => {
  const wire = new Wire();
  try {
    const first = await wire.watch(0);
    for (let number = 1; number <= 6; ++number) await wire.send([number], 500000);
    equal(first.told, [1, 2, 3, 4, 5, 6]);
    equal((await wire.watch(1)).told, ['reload']);
    equal((await wire.watch(2)).told, [3, 4, 5, 6]);
  } finally {
    wire.close();
  }
});

/** The page of a browser without shared workers: hidden and seen as the test says. */
class PageWithoutWorkers {
  constructor() {
    this.names = ['SharedWorker', 'document'];
    this.originals = this.names.map((name) => Object.getOwnPropertyDescriptor(globalThis, name));
    Object.defineProperty(globalThis, 'SharedWorker', {value: undefined, configurable: true});
    // In node there is no document; that of a browser is seen all the time.
    this.document = globalThis.document ?? Object.assign(new EventTarget(), {baseURI: 'http://here/'});
    if (!globalThis.document) Object.defineProperty(globalThis, 'document', {value: this.document, configurable: true});
  }

  /** @param {boolean} hidden */
  setHidden(hidden) {
    Object.defineProperty(this.document, 'hidden', {value: hidden, configurable: true});
    this.document.dispatchEvent(new Event('visibilitychange'));
  }

  close() {
    delete this.document.hidden;
    this.names.forEach((name, i) => {
      const original = this.originals[i];
      if (!original) {
        delete globalThis[name];
      } else if (original.configurable) {
        Object.defineProperty(globalThis, name, original);
      }
    });
  }
}

test('without a shared worker a tab has a stream of its own, closed while nobody sees it', async () => {
  const wire = new Wire();
  const page = new PageWithoutWorkers();
  /** @type {number[]} */
  const told = [];
  const stream = new EventSourceOfTab((message) => {
    if (message.type === 'facts') told.push(...message.events.map(({number}) => Number(number)));
  });
  try {
    await stream.start();
    stream.watch('a', () => told[told.length - 1] ?? 3);
    await wire.send([4, 5]);
    equal(told, [4, 5]);
    page.setHidden(true);
    await wire.settle();
    equal(wire.signals.map(({aborted}) => aborted), [true]);
    page.setHidden(false);
    await wire.settle();
    equal(wire.asked.map((address) => new URL(address).search), ['?models=1&after=3', '?models=1&after=5']);
    await wire.send([6]);
    equal(told, [4, 5, 6]);
  } finally {
    stream.unwatch();
    page.close();
    wire.close();
  }
});

test('streams are asked for with a token that the server has accepted', async () => {
  const wire = new Wire();
  const page = new PageWithoutWorkers();
  const stream = new EventSourceOfTab(() => {});
  try {
    const started = stream.start();
    stream.setToken('good');
    equal(await started, '');
    stream.watch('a', () => 3);
    await wire.settle();
    stream.unwatch();
    stream.setToken('better');
    stream.watch('a', () => 3);
    await wire.settle();
    equal(wire.tokens, ['Bearer good', 'Bearer better']);
  } finally {
    stream.unwatch();
    page.close();
    wire.close();
  }
});

test('a head that takes the request and says nothing is given up', async () => {
  const original = globalThis.setTimeout;
  /** @type {(() => void)[]} */
  const patience = [];
  const wire = new Wire();
  globalThis.fetch = /** @type {any} */ ((_, {signal}) => new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  }));
  globalThis.setTimeout = /** @type {any} */ ((run, ms) => ms === 45000 ? patience.push(run) : original(run, ms));
  try {
    /** @type {string[]} */
    const states = [];
    const client = {post: ({state}) => states.push(state)};
    wire.hub.watch(client, 'a', 0);
    await wire.settle();
    equal([states, patience.length], [[], 1]);
    patience[0]();
    await wire.settle();
    equal(states, ['lost']);
    wire.hub.unwatch(client);
  } finally {
    globalThis.setTimeout = original;
    wire.close();
  }
});
