// Stars and notes of models, as the head keeps them: read, and saved in the order in which they were written.

import {experimentPath} from './api.js';

/** @typedef {{star: boolean, note: string}} Note */

/**
 * A note as a field shows it: whatever a client wrote, lines end in one way.
 * @param {any} saved @returns {Note}
 */
function readNote({star, note}) {
  return {star: Boolean(star), note: String(note ?? '').replace(/\r\n?/g, '\n')};
}

/** @param {any} document  of `notes`; null: there is none */
export function readNotes(document) {
  /** @type {Map<number, Note>} */
  const notes = new Map();
  for (const [model, note] of Object.entries(document?.notes ?? {})) notes.set(Number(model), readNote(note));
  return notes;
}

export class NoteSaver {
  /** @param {import('./store.js').Store} store */
  constructor(store) {
    this.store = store;
    /**
     * Notes by address, until the last one that was sent is saved: none may overtake those before it.
     * @type {Map<string, Promise<void>>}
     */
    this.saving = new Map();
  }

  /** @param {number} model @param {Note} note */
  save(model, note) {
    const current = /** @type {import('./store.js').Current} */ (this.store.current);
    const path = `${experimentPath(current.id)}/notes/${model}`;
    const before = this.saving.get(path) ?? Promise.resolve();
    const saved = before.then(() => this.put(current, path, model, note));
    this.saving.set(path, saved.catch(() => {}));
    return saved;
  }

  /** @param {import('./store.js').Current} current @param {string} path @param {number} model @param {Note} note */
  async put(current, path, model, note) {
    const saved = await this.store.api.send('PUT', path, note);
    current.notes.set(model, readNote(saved));
    ++current.table.revision;
    this.store.changed('notes');
  }
}
