// Node has no elements.

import {ExperimentsView} from '../../../src/web/page/view_experiments.js';

import {check, equal, test} from './harness.js';

if (typeof document !== 'undefined') {
  test('ages go on where nothing runs, and within a minute nothing is drawn for them', () => {
    const one = {
      id: 'a-1',
      name: 'a',
      status: 'DONE',
      reason: '',
      created: '2026-01-01T00:00:00.000Z',
      best: [],
      objectives: [],
      seconds: 1
    };
    const store = {experiments: [one], param: (/** @type {string} */ _, fallback = '') => fallback};
    const view = new ExperimentsView(/** @type {any} */ (store));
    const clock = Date.now;
    /** The list as it is drawn so many seconds after the experiment began. */
    const after = (/** @type {number} */ seconds) => {
      Date.now = () => Date.parse(one.created) + 1000 * seconds;
      view.update(new Set(['experiments']));
      return view.list.firstElementChild;
    };
    try {
      const first = after(185);
      check(first?.textContent?.includes('3 min ago'), 'its age');
      check(after(200) === first, 'nothing is drawn anew');
      check(after(245)?.textContent?.includes('4 min ago'), 'its age a minute later');
    } finally {
      Date.now = clock;
      view.destroy();
    }
    equal(view.list.querySelectorAll('tbody tr').length, 1);
  });
}
