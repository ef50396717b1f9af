// The tables of the experiments that are compared, loaded again as these move on. Pure but for the calls that it is
// given.

/** @typedef {import('./decode.js').Table} Table */

/**
 * @typedef {Object} Load
 * @property {any[]} list  of experiments, as it was when the load began
 * @property {string} state  of the experiment in it
 * @property {boolean} busy
 * @property {boolean} failed
 */

export class ComparedTables {
  /** @param {(id: string) => Promise<Table>} fetch @param {() => void} changed */
  constructor(fetch, changed) {
    this.fetch = fetch;
    this.changed = changed;
    /** @type {Map<string, Table>} */
    this.tables = new Map();
    /** @type {Map<string, Load>} */
    this.loads = new Map();
  }

  /** @param {string} id @returns {Table|undefined} */
  get(id) {
    return this.tables.get(id);
  }

  /**
   * Whether it could not be loaded.
   * @param {string} id
   */
  failed(id) {
    return this.loads.get(id)?.failed === true && !this.tables.has(id);
  }

  /**
   * Loads a table where it is not loaded, where the list says that its experiment has moved on, and once for each new
   * list where it could not be loaded.
   * @param {string} id
   * @param {any[]|null} list  the experiments; null: not known yet
   */
  async update(id, list) {
    if (list === null) return;
    const one = list.find((entry) => entry.id === id);
    const state = JSON.stringify([one?.status, one?.models]);
    const last = this.loads.get(id);
    if (last && (last.busy || (last.failed ? last.list === list : last.state === state))) return;
    const load = {list, state, busy: true, failed: false};
    this.loads.set(id, load);
    try {
      this.tables.set(id, await this.fetch(id));
    } catch {
      load.failed = true;
    }
    load.busy = false;
    this.changed();
  }
}
