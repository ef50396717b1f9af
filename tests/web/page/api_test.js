import {Api, oneAtATime} from '../../../src/web/page/api.js';

import {equal, test} from './harness.js';

/** An Api whose server answers with these statuses in turn, and the paths that it was asked for. */
function apiOf(/** @type {number[]} */ statuses) {
  const api = new Api(/** @type {any} */ ({value: ''}));
  api.pause = 0;
  /** @type {string[]} */
  const asked = [];
  const answer = async (/** @type {string} */ path) => {
    asked.push(path);
    return new Response('{"error": "busy"}', {
      status: statuses[Math.min(asked.length, statuses.length) - 1],
      headers: {'Content-Type': 'application/json'}
    });
  };
  return {api, asked, answer};
}

/** @param {any} answer @param {() => Promise<any>} call */
async function withFetch(answer, call) {
  const original = globalThis.fetch;
  globalThis.fetch = answer;
  try {
    return await call().catch((/** @type {any} */ error) => error.status);
  } finally {
    globalThis.fetch = original;
  }
}

test('what the server answers keeps the digits of its integers', async () => {
  const {api} = apiOf([200]);
  equal(await withFetch(async () => new Response('[9007199254740993]'), () => api.json('a')), ['9007199254740993']);
});

test('what the server has no time for is asked for again, and given up at last', async () => {
  const soon = apiOf([503, 503, 200]);
  equal(await withFetch(soon.answer, () => soon.api.json('a')), {error: 'busy'});
  equal(soon.asked, ['api/v1/a', 'api/v1/a', 'api/v1/a']);
  const never = apiOf([503]);
  equal(await withFetch(never.answer, () => never.api.json('a')), 503);
  equal(never.asked.length, 30);
});

test('a proxy that does not reach the server says that nobody answers', async () => {
  for (const [status, type] of [[502, 'text/html'], [504, 'application/json'], [503, 'text/html']]) {
    const api = new Api(/** @type {any} */ ({value: ''}));
    /** @type {number[]} */
    const seen = [];
    api.onStatus = (status) => seen.push(status);
    const answer = async () => new Response('', {status, headers: {'Content-Type': type}});
    equal([await withFetch(answer, () => api.json('a')), seen], [0, [0]]);
  }
});

test('what changes something is not sent again, nor what is refused', async () => {
  const change = apiOf([503]);
  equal(await withFetch(change.answer, () => change.api.send('POST', 'a', {})), 503);
  const refused = apiOf([404]);
  equal(await withFetch(refused.answer, () => refused.api.json('a')), 404);
  equal([change.asked.length, refused.asked.length], [1, 1]);
});

/** Rejects once the request is given up. @param {AbortSignal} signal */
function untilAborted(signal) {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason));
  });
}

/** An answer that begins with these parts, and whose rest never comes. */
function unfinished(/** @type {string[]} */ parts, /** @type {AbortSignal} */ signal) {
  return new Response(new ReadableStream({
    async start(/** @type {any} */ controller) {
      for (const part of parts) controller.enqueue(new TextEncoder().encode(part));
      await untilAborted(signal).catch((reason) => controller.error(reason));
    },
  }));
}

/** What comes of `call`, and the statuses that it told. Node.js ends where only a signal is awaited. */
async function heard(
    /** @type {any} */ answer, /** @type {number} */ patience, /** @type {(api: Api) => Promise<any>} */ call) {
  const api = new Api(/** @type {any} */ ({value: ''}));
  api.patience = patience;
  /** @type {number[]} */
  const told = [];
  api.onStatus = (status) => told.push(status);
  const awake = setInterval(() => {}, 1000);
  const result = await withFetch(answer, () => call(api));
  clearInterval(awake);
  return [result, told];
}

/** What comes of `api.json('a', signal)`. */
function given(/** @type {any} */ answer, /** @type {number} */ patience, /** @type {AbortSignal} */ signal) {
  return heard(answer, patience, (api) => api.json('a', signal));
}

test('a head that says nothing is given up, whether the request brings a signal or not', async () => {
  const silent = (/** @type {string} */ _, /** @type {any} */ {signal}) => untilAborted(signal);
  const endless = async (/** @type {string} */ _, /** @type {any} */ {signal}) => unfinished(['{'], signal);
  for (const signal of [undefined, new AbortController().signal]) {
    equal(await given(silent, 1, /** @type {any} */ (signal)), [0, [0]]);
    equal(await given(endless, 1, /** @type {any} */ (signal)), [0, [200, 0]]);
  }
});

test('a connection that breaks within an answer is no answer', async () => {
  const broken = async () => new Response(new ReadableStream({
    start(/** @type {any} */ controller) {
      controller.enqueue(new TextEncoder().encode('{'));
      controller.error(new TypeError('network error'));
    },
  }));
  equal(await given(broken, 60000, /** @type {any} */ (undefined)), [0, [200, 0]]);
  // What is no JSON is an answer, though a wrong one.
  const wrong = async () => new Response('{');
  equal(await given(wrong, 60000, /** @type {any} */ (undefined)), [undefined, [200]]);
});

test('a document that comes slowly is waited for', async () => {
  // As many parts as waits, each of which comes within the patience; all together take five times as long.
  const patience = 400;
  const slow = async () => new Response(new ReadableStream({
    async start(/** @type {any} */ controller) {
      for (const part of '{"a": 12}'.padEnd(20)) {
        await new Promise((resolve) => setTimeout(resolve, patience / 4));
        controller.enqueue(new TextEncoder().encode(part));
      }
      controller.close();
    },
  }));
  equal(await given(slow, patience, /** @type {any} */ (undefined)), [{a: 12}, [200]]);
});

test('who asked gives up without a word about the head', async () => {
  const abort = new AbortController();
  const endless = async (/** @type {string} */ _, /** @type {any} */ {signal}) => {
    setTimeout(() => abort.abort(), 1);
    return unfinished(['{'], signal);
  };
  // What is thrown is no ApiError: it has no status.
  equal(await given(endless, 60000, abort.signal), [undefined, [200]]);
  const silent = (/** @type {string} */ _, /** @type {any} */ {signal}) => untilAborted(signal);
  equal(await given(silent, 60000, abort.signal), [undefined, []]);
});

test('what changes something is given up, too, where the head says nothing', async () => {
  const silent = (/** @type {string} */ _, /** @type {any} */ {signal}) => untilAborted(signal);
  equal(await heard(silent, 1, (api) => api.send('PUT', 'a', {})), [0, [0]]);
});

test('what a trial process makes is waited for, and a proxy that does not is no lost head', async () => {
  const {signal} = new AbortController();
  const slow = async () => {
    await new Promise((resolve) => setTimeout(resolve, 50));
    return new Response('{"a": 12}');
  };
  equal(await heard(slow, 1, (api) => api.made('a', signal)), [{a: 12}, [200]]);
  for (const [status, result] of [[504, [504, []]], [502, [0, [0]]]]) {
    const answer = async () => new Response('', {status: /** @type {number} */ (status)});
    equal(await heard(answer, 1, (api) => api.made('a', signal)), result);
    equal(await heard(answer, 1, (api) => api.download('a', {}, signal)), result);
  }
});

test('of loads that overlap the last one is done behind the first, and the others are not', async () => {
  /** @type {(() => void)[]} */
  const ends = [];
  const abort = new AbortController();
  const load = oneAtATime(() => new Promise((resolve) => ends.push(resolve)), abort.signal);
  const first = load();
  load();
  load();
  equal(ends.length, 1);
  ends[0]();
  await Promise.resolve();
  equal(ends.length, 2);
  load();
  abort.abort();
  ends[1]();
  await first;
  equal(ends.length, 2);
});
