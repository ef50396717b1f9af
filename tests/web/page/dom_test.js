// What is drawn anew under the reader's hands. Node has no elements.

import {button, el, refill} from '../../../src/web/page/dom.js';
import {menu} from '../../../src/web/page/menu.js';

import {equal, test} from './harness.js';

/** @param {string} name @param {(place: HTMLElement) => void} run */
function testInBrowser(name, run) {
  if (typeof document === 'undefined') return;
  test(name, () => {
    const place = el('div');
    document.body.append(place);
    try {
      run(place);
    } finally {
      place.remove();
    }
  });
}

const nothing = () => {};

testInBrowser('of equal names the one in the same place has the focus again', (place) => {
  const draw = () => refill(place, ...['a', 'b', 'c'].map((id) => button('Select', nothing, {id})));
  draw();
  place.querySelectorAll('button')[1].focus();
  draw();
  equal(document.activeElement?.id, 'b');
});

testInBrowser('the focus is in the menu that was open, not in a closed one before it', (place) => {
  const draw = (/** @type {string[]} */ names, clear = true) => refill(
      place,
      ...names.map(
          (name) => menu(
              'the same title', el('div', {}, button('Hide', nothing), clear ? button('Clear', nothing) : ''), '',
              {'data-key': name})));
  const where = () => [
    document.activeElement?.closest('.menu')?.firstElementChild?.getAttribute('data-key'),
    document.activeElement?.textContent,
    place.querySelectorAll('[aria-expanded="true"]').length
  ];
  draw(['a', 'b', 'c']);
  /** @type {HTMLElement} */ (place.querySelector('[data-key="c"]')).click();
  equal(where(), ['c', 'Hide', 1]);
  /** @type {HTMLElement} */ (place.querySelectorAll('.menu')[2].querySelectorAll('button')[2]).focus();
  draw(['a', 'c', 'b']);
  equal(where(), ['c', 'Clear', 1]);
  // A control that is gone leaves its menu the focus; with the menu it goes to the place.
  draw(['a', 'c', 'b'], false);
  equal(where(), ['c', 'Hide', 1]);
  draw(['a', 'b']);
  equal(document.activeElement === place, true);
});
