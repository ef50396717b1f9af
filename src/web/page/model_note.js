// A model's star and note, as they are saved; what is being written stays.

import {actionButton, el, refill} from './dom.js';
import {oneLine} from './format.js';

/** UTF-16 units of a note. The server takes 10,000 bytes; a unit has three in UTF-8 at most. */
const MOST_NOTE = 3333;

export class ModelNote {
  /** @param {import('./store.js').Store} store @param {number} model */
  constructor(store, model) {
    this.store = store;
    this.model = model;
    this.element = el('section', {class: 'card view', 'aria-label': 'Note'});
    /** What is shown beside the text. */
    this.shown = '';
    this.saved = '';
  }

  fill() {
    const {store} = this;
    const known = () => store.current?.notes.get(this.model) ?? {star: false, note: ''};
    const {star, note} = known();
    const because = store.whyNot('note');
    const old = this.element.querySelector('textarea');
    const shown = `${star} ${because}`;
    // What is being written, or could not be saved, stays. So does what shows it already: who leaves the text for the
    // star has pressed it by now, but not released it.
    if (old && (old === document.activeElement || old.value !== this.saved ||
                (old.value === note && shown === this.shown)))
      return;
    this.shown = shown;
    const field = el('textarea', {
      rows: '2',
      maxlength: String(MOST_NOTE),
      'aria-label': 'Note',
      placeholder: because || 'a note about this model',
      readonly: because !== '',
      class: 'note'
    });
    // Its value alone: what a note holds, marks that turn the text among it, is no text of the page.
    field.value = this.saved = note;
    const failed = el('span', {class: 'filter-error', role: 'status'});
    const save = async (/** @type {boolean} */ starred) => {
      const text = field.value;
      try {
        await store.notes.save(this.model, {star: starred, note: text});
        failed.textContent = '';
        this.saved = text;
      } catch (error) {
        failed.textContent = `not saved: ${oneLine(/** @type {Error} */ (error).message)}`;
      }
    };
    field.addEventListener('change', () => save(known().star));
    refill(
        this.element,
        el('div', {class: 'row'}, el('h2', {}, 'Note'),
           actionButton(
               star ? '★ starred' : '☆ star', () => save(!known().star), because,
               {'aria-pressed': String(star), 'data-key': 'star'}),
           failed),
        field);
  }
}
