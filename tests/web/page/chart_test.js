import {Chart, indexOfSame, keysSentence, walkOrder} from '../../../src/web/page/chart.js';

import {check, equal, test} from './harness.js';

/** Node has no elements. @param {string} name @param {() => void} run */
function testInBrowser(name, run) {
  if (typeof document !== 'undefined') test(name, run);
}

test('the keyboard walks from the best to the worst, then through what has no finite value, by number', () => {
  const values = [0.5, NaN, 0.9, null, 0.1, Infinity];
  const models = [6, 5, 4, 3, 2, 1];
  const walked = (/** @type {any} */ goal) => walkOrder(values, models, goal).map((i) => models[i]);
  equal(walked('MAXIMIZE'), [4, 6, 2, 1, 3, 5]);
  equal(walked('MINIMIZE'), [2, 6, 4, 1, 3, 5]);
  equal(walked(undefined), [1, 2, 3, 4, 5, 6]);
});

test('what was pointed at is found again by its key, or by its model and text', () => {
  const point = (/** @type {any} */ more) => ({x: 0, y: 0, text: '', ...more});
  const keyed = [point({key: 7, text: 'new'}), point({key: 8})];
  equal(indexOfSame(keyed, point({key: 7, text: 'old'})), 0);
  equal(indexOfSame(keyed, point({key: 9})), -1);
  const named = [point({model: 1, text: 'a'}), point({model: 2, text: () => 'a'}), point({model: 2, text: () => 'b'})];
  equal(indexOfSame(named, point({model: 2, text: 'b'})), 2);
  equal(indexOfSame(named, point({model: 1, text: 'b'})), -1);
  const twins = [point({text: 'a'}), point({text: 'a'})];
  equal(indexOfSame(twins, twins[1]), 1);
});

test('a chart tells of those keys alone that it has', () => {
  equal(keysSentence({}), 'the button Table has it as a table.');
  const points = () => [];
  check(keysSentence({points}).startsWith('Arrow keys walk through it; '), 'of points');
  check(keysSentence({points, along: () => null}).startsWith('Up and down arrows walk from line to line'), 'of lines');
  check(keysSentence({zoom: /** @type {any} */ ({})}).includes('arrows with Shift'), 'that zooms');
});

/** A chart of so many points, which have their numbers as keys. @param {Record<string, any>} [more] */
function shownChart(more = {}) {
  const shown = {
    drawn: 0,
    keys: [1, 2, 3],
    points: () => shown.keys.map((key, i) => ({x: 20 * i, y: shown.drawn, key, text: `point ${key}`})),
    press: (/** @type {string} */ key, /** @type {KeyboardEventInit} */ init = {}) =>
        chart.top.dispatchEvent(new KeyboardEvent('keydown', {key, cancelable: true, ...init}))
  };
  const chart = new Chart({
    title: 'Points',
    height: 100,
    draw: () => ++shown.drawn,
    sentence: () => '',
    table: () => ({header: [], rows: []}),
    points: () => shown.points(),
    ...more
  });
  document.body.append(chart.element);
  chart.resize();
  return {chart, shown};
}

/** @param {Chart} chart */
function remove(chart) {
  chart.destroy();
  chart.element.remove();
}

testInBrowser('what is pointed at stays so when a chart is drawn anew, until it is gone', () => {
  const {chart, shown} = shownChart();
  shown.press('ArrowRight');
  shown.press('ArrowRight');
  equal([chart.pointed?.key, chart.tip.textContent], [2, 'point 2']);
  shown.keys = [0, 1, 3, 2];
  chart.redraw();
  equal([chart.pointed?.x, chart.pointed?.y, chart.tip.hidden, chart.tip.textContent], [60, 2, false, 'point 2']);
  // The keyboard goes on from where it now is.
  shown.press('ArrowLeft');
  equal(chart.pointed?.key, 3);
  shown.keys = [1, 2];
  chart.redraw();
  equal([chart.pointed, chart.tip.hidden], [null, true]);
  remove(chart);
});

testInBrowser('a chart that nobody points at makes no points when it is drawn', () => {
  const {chart, shown} = shownChart();
  shown.points = () => {
    throw new Error('points were made');
  };
  chart.redraw();
  remove(chart);
});

testInBrowser('in a chart of lines up and down lead from line to line, left and right along one', () => {
  const at = (/** @type {number} */ key, /** @type {number} */ place) => ({x: place, y: 0, key, place, text: `${key} ${place}`});
  const {chart, shown} = shownChart({
    points: () => [at(1, 5), at(2, 5)],
    along: (/** @type {any} */ {key, place}, /** @type {number} */ by) => at(key, place + by)
  });
  const texts = ['ArrowDown', 'ArrowDown', 'ArrowLeft', 'ArrowLeft', 'ArrowUp', 'ArrowRight'].map((key) => {
    shown.press(key);
    return chart.tip.textContent;
  });
  equal(texts, ['1 5', '2 5', '2 4', '2 3', '1 5', '1 6']);
  chart.redraw();
  equal(chart.tip.textContent, '1 6');
  remove(chart);
});

testInBrowser('keys zoom a chart that can be zoomed; those of the browser are left to it', () => {
  /** @type {any[]} */
  const calls = [];
  const {chart, shown} = shownChart({
    zoom: {
      by: (/** @type {number} */ factor) => calls.push(factor < 1 ? 'in' : 'out'),
      pan: (/** @type {number} */ right, /** @type {number} */ up) => calls.push([Math.sign(right), Math.sign(up)]),
      whole: () => calls.push('whole')
    }
  });
  for (const key of ['+', '-', '0']) shown.press(key);
  for (const key of ['ArrowLeft', 'ArrowUp']) shown.press(key, {shiftKey: true});
  equal(calls, ['in', 'out', 'whole', [-1, 0], [0, 1]]);
  equal(chart.pointed, null);
  for (const key of ['+', 'ArrowLeft']) check(shown.press(key, {ctrlKey: true}), `Ctrl and ${key}`);
  equal([calls.length, chart.pointed], [5, null]);
  remove(chart);
});
