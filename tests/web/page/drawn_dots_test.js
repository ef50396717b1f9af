import {DrawnDots} from '../../../src/web/page/drawn_dots.js';

import {equal, test} from './harness.js';

/** How many of so many dots at one place are drawn. */
const drawnOf = (drawn, count, ...place) => Array.from({length: count}, () => drawn.add(...place)).filter(Boolean).length;

test('dots on each other are drawn until they are dark', () => {
  const drawn = new DrawnDots();
  equal(drawnOf(drawn, 1000, 'SUCCEEDED', 10, 20), 8);
  equal(drawnOf(drawn, 1000, 'SUCCEEDED', 10.2, 20), 0);
});

test('dots of another place or kind are drawn all the same', () => {
  const drawn = new DrawnDots();
  drawnOf(drawn, 1000, 'SUCCEEDED', 10, 20);
  for (const place of [['SUCCEEDED', 10.5, 20], ['SUCCEEDED', 10, 20.5], ['SUCCEEDED', 20, 10], ['FAILED', 10, 20]])
    equal(drawn.add(...place), true);
});

test('what lies outside of the picture hides nothing in it', () => {
  const drawn = new DrawnDots();
  for (const y of [-1e30, -5, 1e30]) drawnOf(drawn, 1000, '', 10, y);
  equal([1, 100, 30000].map((y) => drawn.add('', 10, y)), [true, true, true]);
});
