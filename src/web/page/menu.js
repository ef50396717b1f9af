// A button that opens a list below it; Escape and a click elsewhere close it.

import {button, el} from './dom.js';

/**
 * @param {string} label @param {Element} contents @param {string} [kind]  classes @param {Record<string, any>}
 *     [attributes]
 * @param {() => void} [opening]  called before it opens
 */
export function menu(label, contents, kind = '', attributes = {}, opening = () => {}) {
  const list = el('div', {class: `menu-list ${kind}`, hidden: true}, contents);
  const opener =
      button(label, () => set(list.hidden), {'aria-expanded': 'false', 'aria-haspopup': 'true', ...attributes});
  const root = el('span', {class: 'menu'}, opener, list);
  const outside = (/** @type {Event} */ event) => {
    if (!root.contains(/** @type {Node} */ (event.target))) set(false);
  };
  /** @param {boolean} open */
  function set(open) {
    if (open) opening();
    list.hidden = !open;
    opener.setAttribute('aria-expanded', String(open));
    if (open) {
      document.addEventListener('pointerdown', outside);
      document.addEventListener('focusin', outside);
      list.querySelector('button, input, select, a')?.focus();
      // A list that would leave the window at the left opens to the right.
      list.classList.remove('left');
      if (list.getBoundingClientRect().left < 0) list.classList.add('left');
    } else {
      document.removeEventListener('pointerdown', outside);
      document.removeEventListener('focusin', outside);
    }
  }
  root.addEventListener('keydown', (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== 'Escape' || list.hidden) return;
    set(false);
    opener.focus();
    event.stopPropagation();
  });
  return root;
}
