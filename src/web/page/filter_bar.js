// The filter and the selection, which hold in every view of an experiment.

import {themeName} from './canvas.js';
import {button, el, fill, refill} from './dom.js';
import {formatNumber} from './format.js';
import {SERIES} from './palette.js';
import {otherView, writeRoute} from './route.js';

/** Chips of selected models that are shown. */
const CHIPS = 8;

/** Places in a selection, which is a new set when it changes. @type {WeakMap<Set<number>, Map<number, number>>} */
const placesOf = new WeakMap();

/**
 * The colour of a selected model, by its place in the selection.
 * @param {import('./store.js').Store} store @param {number} model
 */
export function colorOf(store, model) {
  const colors = SERIES[themeName()];
  let place = placesOf.get(store.selected);
  if (!place) {
    place = new Map([...store.selected].map((selected, i) => [selected, i]));
    placesOf.set(store.selected, place);
  }
  return colors[(place.get(model) ?? 0) % colors.length];
}

export class FilterBar {
  /** @param {import('./store.js').Store} store */
  constructor(store) {
    this.store = store;
    this.input = el('input', {
      type: 'search',
      id: 'filter',
      'aria-label': 'Filter models',
      'aria-describedby': 'filter-error',
      placeholder: 'filter: accuracy > 0.9 and cells.0.op = skip',
      autocomplete: 'off',
      spellcheck: 'false',
      maxlength: '10000',
      on: {
        input: () => store.setParams({f: this.input.value}),
        keydown: (/** @type {KeyboardEvent} */ event) => {
          if (event.key !== 'Escape') return;
          this.input.blur();
          event.stopPropagation();
        },
      }
    });
    this.error = el('div', {class: 'filter-error', id: 'filter-error', 'aria-live': 'polite'});
    this.count = el('span', {class: 'muted', role: 'status'});
    this.chips = el('div', {class: 'row'});
    /** What is drawn: they stay as they are while models end. */
    this.chipsKey = '';
    this.element = el(
        'section', {class: 'filter card', 'aria-label': 'Filter and selection'},
        el('div', {class: 'row'}, el('div', {class: 'filter-input'}, this.input), this.count), this.error, this.chips);
  }

  update() {
    const {store} = this;
    if (!store.current) return;
    const {error, kept} = store.selection();
    const text = store.param('f');
    if (this.input.value !== text) this.input.value = text;
    this.input.setAttribute('aria-invalid', String(error !== null));
    const total = store.current.table.model.length;
    this.count.textContent = text === '' ? `${formatNumber(total)} models` :
        error ? 'all models, until the filter is right' :
                `${formatNumber(kept.length)} of ${formatNumber(total)} models`;
    if (error) {
      fill(
          this.error,
          el('code', {}, text.slice(0, error.start), el('mark', {}, text.slice(error.start, error.end) || ' ⌃'),
             text.slice(error.end)),
          ` ${error.message}`);
    } else {
      fill(this.error);
    }
    this.error.hidden = error === null;
    this.drawChips();
  }

  drawChips() {
    const {store} = this;
    const models = [...store.selected];
    const key = JSON.stringify([models, store.route, themeName()]);
    if (key === this.chipsKey) return;
    this.chipsKey = key;
    this.chips.hidden = models.length === 0;
    refill(
        this.chips, el('span', {class: 'muted'}, `${models.length} selected`),
        ...models.slice(0, CHIPS).map((model) => {
          const dot = el('span', {class: 'dot', 'aria-hidden': 'true'});
          dot.style.background = colorOf(store, model);
          return el(
              'span', {class: 'chip'}, dot,
              el('a', {href: writeRoute(otherView(store.route, 'model', model))}, `model ${model}`),
              button('×', () => store.toggle(model), {'aria-label': `Unselect model ${model}`}));
        }),
        models.length > CHIPS ? el('span', {class: 'muted'}, `and ${models.length - CHIPS} more`) : null,
        models.length >= 2 && models.length <= 8 ?
            el('a', {href: writeRoute(otherView(store.route, 'compare'))}, 'Compare them') :
            null,
        button('Clear', () => store.select([]), {class: 'quiet'}));
  }
}
