import {Api} from '../../../src/web/page/api.js';

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

test('a document is given up where no answer comes, or no end of it', async () => {
  const untilAborted = (/** @type {AbortSignal} */ signal) => new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  });
  const silent = (/** @type {string} */ _, /** @type {any} */ {signal}) => untilAborted(signal);
  const endless = async (/** @type {string} */ _, /** @type {any} */ {signal}) => new Response(new ReadableStream({
    start(/** @type {any} */ controller) {
      controller.enqueue(new TextEncoder().encode('{'));
      untilAborted(signal).catch((reason) => controller.error(reason));
    },
  }));
  for (const answer of [silent, endless]) {
    const api = new Api(/** @type {any} */ ({value: ''}));
    api.patience = 1;
    let status = -1;
    api.onStatus = (seen) => {
      status = seen;
    };
    // Node.js ends where nothing but such a signal is waited for.
    const awake = setInterval(() => {}, 1000);
    equal([await withFetch(answer, () => api.json('a')), status], [0, 0]);
    clearInterval(awake);
  }
});
