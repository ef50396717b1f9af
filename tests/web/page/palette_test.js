import {barHeight, SERIES, STATUS} from '../../../src/web/page/palette.js';

import {ciede2000, distance, EYES} from './color_distance.js';
import {check, equal, test} from './harness.js';

/** @param {string[]} colors @param {number} least */
function checkApart(colors, least) {
  for (const eyes of Object.keys(EYES)) {
    colors.forEach((a, i) => colors.slice(i + 1).forEach((b) => {
      const found = distance(a, b, eyes);
      check(found >= least, `${a} and ${b} are ${found.toFixed(1)} apart: ${eyes}`);
    }));
  }
}

test('the distance of colours is that of the formula\'s published pairs', () => {
  const pairs = [
    [[50, 2.6772, -79.7751], [50, 0, -82.7485], 2.0425], [[50, 0, 0], [50, -1, 2], 2.3669],
    [[50, 2.49, -0.001], [50, -2.49, 0.0011], 7.2195], [[50, 2.5, 0], [50, 0, -2.5], 4.3065],
    [[60.2574, -34.0099, 36.2677], [60.4626, -34.1751, 39.4387], 1.2644],
    [[2.0776, 0.0795, -1.135], [0.9033, -0.0636, -0.5514], 0.9082]
  ];
  for (const [a, b, expected] of pairs) equal(Number(ciede2000(a, b).toFixed(4)), expected);
});

test('any two colours of lines are told apart without red, green or blue cones, too', () => {
  for (const name of ['light', 'dark']) checkApart(SERIES[name], 12);
});

test('colours of statuses are apart, and where two have one glyph they have one colour', () => {
  for (const name of ['light', 'dark']) {
    checkApart([...new Set(Object.values(STATUS).map((status) => status[name]))], 8);
    const colorOf = new Map();
    for (const {glyph, [name]: color} of Object.values(STATUS)) {
      equal(colorOf.get(glyph) ?? color, color);
      colorOf.set(glyph, color);
    }
  }
});

test('the height of a bar tells how a trial ended', () => {
  // In a lane of 20 pixels.
  const ends = ['SUCCEEDED', 'FAILED', 'STOPPED_EARLY', 'CANCELED', 'LOST', 'UNMERGED', 'INFEASIBLE', 'MIXED']
                   .map((outcome) => Math.round(20 * barHeight(outcome)))
                   .sort((a, b) => a - b);
  equal(ends[ends.length - 1], 20);
  check(ends.every((height, k) => height - (ends[k - 1] ?? 0) >= 2), `bars are ${ends} pixels high`);
});
