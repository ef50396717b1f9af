// What belongs to an experiment's table and is loaded when a view asks for it: curves and attempts. None of it falls
// behind the table, and no event is lost between the two.

import {experimentPath} from './api.js';
import {decodeAttempts, decodeCurves} from './decode.js';

export class Parts {
  /** @param {import('./store.js').Store} store */
  constructor(store) {
    this.store = store;
    /** @type {Map<string, Promise<void>>} */
    this.requests = new Map();
    /** Loads that no event may overtake, and the messages that wait for their end. */
    this.holding = 0;
    /** @type {any[]} */
    this.held = [];
  }

  /** Another experiment is shown. */
  forget() {
    this.requests.clear();
  }

  /**
   * Whether the message has to wait; it is then received again.
   * @param {any} message  of the stream
   */
  hold(message) {
    if (this.holding === 0) return false;
    this.held.push(message);
    return true;
  }

  /** @param {string} key @param {() => Promise<void>} load */
  once(key, load) {
    const known = this.requests.get(key);
    if (known) return known;
    const request = load().catch((error) => {
      this.requests.delete(key);
      throw error;
    });
    this.requests.set(key, request);
    return request;
  }

  /**
   * What belongs to the table and is not behind it. Events wait meanwhile, so that none is lost between the two.
   * @template {{number: number}} Part
   * @param {import('./store.js').Current} current
   * @param {(number: number) => Promise<Part>} load  one of this fact, or of a later one
   * @param {(part: Part) => void} take
   */
  async loadPart(current, load, take) {
    ++this.holding;
    try {
      for (;;) {
        const number = Math.max(current.least, current.table.number);
        const part = await load(number);
        if (this.store.current !== current) return;
        // The table may have been loaded again meanwhile.
        const least = Math.max(current.least, current.table.number);
        if (part.number < least && number < least) continue;
        take(part);
        return;
      }
    } finally {
      if (--this.holding === 0) {
        for (const message of this.held.splice(0)) this.store.receive(message);
      }
    }
  }

  /**
   * Loads again what is behind this fact.
   * @param {import('./store.js').Current} current @param {number} number
   */
  async catchUp(current, number) {
    current.least = Math.max(current.least, number);
    const behind = (/** @type {Map<string, import('./decode.js').Curves>} */ curves) => {
      const found = [...curves].filter(([_, part]) => part.number < number);
      return found.map(([metric]) => metric);
    };
    await Promise.all([
      ...behind(current.curves).map((metric) => this.fetchCurves(current, metric, false)),
      ...behind(current.times).map((metric) => this.fetchCurves(current, metric, true)),
      current.attempts && current.attempts.number < number ? this.fetchAttempts(current) : null,
    ]);
  }

  /** @param {string} metric @param {boolean} times */
  async loadCurves(metric, times) {
    const {current} = this.store;
    if (current) await this.once(`curves/${times}/${metric}`, () => this.fetchCurves(current, metric, times));
  }

  /** @param {import('./store.js').Current} current @param {string} metric @param {boolean} times */
  async fetchCurves(current, metric, times) {
    const query = `metric=${encodeURIComponent(metric)}${times ? '&times=1' : ''}`;
    await this.loadPart(
        current,
        async (number) =>
            decodeCurves(await this.store.api.bytes(`${experimentPath(current.id)}/curves?${query}&number=${number}`)),
        (curves) => {
          (times ? current.times : current.curves).set(metric, curves);
          this.store.changed('curves');
        });
  }

  async loadAttempts() {
    const {current} = this.store;
    if (current) await this.once('attempts', () => this.fetchAttempts(current));
  }

  /** @param {import('./store.js').Current} current */
  async fetchAttempts(current) {
    await this.loadPart(
        current,
        async (number) =>
            decodeAttempts(await this.store.api.json(`${experimentPath(current.id)}/attempts?number=${number}`)),
        (attempts) => {
          current.attempts = attempts;
          this.store.changed('attempts');
        });
  }
}
