// What is shown of a log that breaks off. Node has no elements.

import {ApiError} from '../../../src/web/page/api.js';
import {ModelLog} from '../../../src/web/page/model_log.js';

import {equal, test} from './harness.js';

const SIZE = 100;

/** A model that has ended, and an API that has `known` bytes of its log and then answers no more. */
function storeOf(/** @type {{known: number}} */ head) {
  return {
    route: {id: 'a'},
    param: () => '',
    current: {table: {rowOf: new Map([[1, 0]]), state: ['SUCCEEDED'], attempts: [1]}},
    api: {
      async ask(/** @type {string} */ path) {
        const query = new URLSearchParams(path.split('?')[1]);
        const [offset, limit] = [Number(query.get('offset')), Number(query.get('limit'))];
        if (offset >= head.known) throw new ApiError(0, 'the head does not answer');
        const bytes = new TextEncoder().encode('x'.repeat(Math.min(limit, head.known - offset)));
        return {headers: new Headers({'X-Log-Attempt': '1', 'X-Log-Size': String(SIZE)}), bytes: bytes.buffer};
      }
    }
  };
}

/** @param {() => boolean} condition */
async function until(condition) {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve));
}

if (typeof document !== 'undefined') {
  test('a log that breaks off says so, and goes on once the head is back', async () => {
    const head = {known: 40};
    const log = new ModelLog(/** @type {any} */ (storeOf(head)), 1);
    await until(() => log.failed);
    equal(log.note.textContent, 'The log cannot be read further: the head does not answer');
    equal(log.log.textContent?.length, 40);
    head.known = SIZE;
    log.headIsBack();
    await until(() => log.log.textContent?.length === SIZE);
    equal([log.note.textContent, log.failed], [`attempt 1, ${SIZE} B`, false]);
    log.destroy();
  });

  test('a log of which nothing came says why, and comes once the head is back', async () => {
    const head = {known: 0};
    const log = new ModelLog(/** @type {any} */ (storeOf(head)), 1);
    await until(() => log.failed);
    equal([log.log.textContent, log.note.textContent], ['The log cannot be read: the head does not answer', '']);
    head.known = SIZE;
    log.headIsBack();
    await until(() => log.log.textContent?.length === SIZE);
    log.destroy();
  });
}
