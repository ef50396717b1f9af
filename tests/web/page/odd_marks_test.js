import {OddMarks} from '../../../src/web/page/odd_marks.js';

import {equal, test} from './harness.js';

test('NaN and infinities are marked where they are, and counted', () => {
  const odd = new OddMarks();
  for (const [px, value] of [[10.2, NaN], [9.9, NaN], [200, NaN], [50, Infinity], [60, -Infinity]]) odd.add(px, value);
  /** @type {string[]} */
  const drawn = [];
  const ctx = new Proxy(/** @type {any} */ ({}), {
    get: (_, name) => (...args) => ['moveTo', 'fillText'].includes(name) && drawn.push(`${name} ${args.slice(0, 2)}`),
    set: () => true
  });
  odd.draw(ctx, {left: 0, top: 5, right: 100, bottom: 80}, '#951515');
  // Two crosses at one place are one; what is outside of the frame is not drawn.
  equal(drawn, ['moveTo 7,83', 'moveTo 13,83', 'fillText NaN,-6', 'moveTo 46,5', 'moveTo 56,80']);
  equal(odd.texts(), ['3 reports of NaN, crosses in the strip below', '2 infinite reports, triangles at the edge']);
  equal(new OddMarks().texts(), []);
});
