// A few words for tests that run in a browser and in node alike.

/** @type {{name: string, run: () => void|Promise<void>}[]} */
const tests = [];

/** @param {string} name  a sentence @param {() => void|Promise<void>} run */
export function test(name, run) {
  tests.push({name, run});
}

/** @param {unknown} value */
function show(value) {
  if (value instanceof Set) return `Set ${show([...value])}`;
  if (value instanceof Map) return `Map ${show([...value])}`;
  return JSON.stringify(
      value,
      (_, v) => typeof v === 'number' && !Number.isFinite(v) ? String(v) :
          ArrayBuffer.isView(v)                              ? Array.from(/** @type {any} */ (v)) :
                                                               v);
}

/** Same content, NaN included. @param {unknown} actual @param {unknown} expected */
export function equal(actual, expected) {
  if (show(actual) !== show(expected)) throw new Error(`expected ${show(expected)}, got ${show(actual)}`);
}

/** @param {unknown} condition @param {string} what */
export function check(condition, what) {
  if (!condition) throw new Error(what);
}

/** What the call throws. @param {() => unknown} call @returns {any} */
export function thrown(call) {
  try {
    call();
  } catch (error) {
    return error;
  }
  throw new Error('expected an error');
}

/** @returns {Promise<{passed: number, failed: {name: string, message: string}[]}>} */
export async function runAll() {
  let passed = 0;
  const failed = [];
  for (const {name, run} of tests) {
    try {
      await run();
      ++passed;
    } catch (error) {
      failed.push({name, message: String(/** @type {Error} */ (error).stack ?? error)});
    }
  }
  return {passed, failed};
}
