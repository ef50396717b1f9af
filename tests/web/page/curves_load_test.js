// What is said of a metric's curves until they are there. Node has no elements.

import {CurvesLoad} from '../../../src/web/page/curves_load.js';
import {el} from '../../../src/web/page/dom.js';

import {check, equal, test} from './harness.js';

if (typeof document !== 'undefined') {
  test('curves that could not be had are asked for again once the head is back, and no sooner', async () => {
    const current = {curves: new Map([['known', {}]]), times: new Map()};
    let count = 0;
    const store = {
      current,
      async loadCurves() {
        ++count;
        throw new Error('no answer');
      }
    };
    const state = el('div');
    const load = new CurvesLoad(/** @type {any} */ (store), state);
    equal([load.has('known', false), count], [true, 0]);
    equal([load.has('loss', false), count], [false, 1]);
    check(state.textContent?.includes('Loading the curves of loss'), 'it says that they are loaded');
    await new Promise((resolve) => setTimeout(resolve));
    check(state.textContent?.includes('no answer'), 'it says why they are not there');
    equal([load.has('loss', false), count], [false, 1]);
    // Times of known curves are asked for, too.
    equal([load.has('known', true), count], [false, 3]);
    await new Promise((resolve) => setTimeout(resolve));
    load.headIsBack();
    equal([load.has('loss', false), count], [false, 4]);
  });
}
