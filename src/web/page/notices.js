// Who is told that something changed: soon, once for many changes, and not so often that the page does nothing else.

/** Least ms between two notices about events. */
const EVENT_PACE = 150;

export class Notices {
  constructor() {
    /** @type {Set<(changes: Set<string>) => void>} */
    this.listeners = new Set();
    /** @type {Set<string>} */
    this.changes = new Set();
    /** A timer, or 0. */
    this.scheduled = 0;
    this.scheduledPaced = false;
    this.lastNotice = 0;
    /** How long the views took, ms: events leave most of the time to the reader. */
    this.noticeCost = 0;
  }

  /** @param {(changes: Set<string>) => void} listener */
  subscribe(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /**
   * Tells listeners, soon and once.
   * @param {string} what @param {boolean} [paced]  it may wait until the page has had its time
   */
  tell(what, paced = false) {
    this.changes.add(what);
    // What the reader does is shown at once, also when events wait for their time.
    if (this.scheduled && (paced || !this.scheduledPaced)) return;
    clearTimeout(this.scheduled);
    this.scheduledPaced = paced;
    const pace = Math.max(EVENT_PACE, 4 * this.noticeCost);
    const wait = paced ? Math.max(0, this.lastNotice + pace - performance.now()) : 0;
    this.scheduled = window.setTimeout(() => {
      this.scheduled = 0;
      const begun = performance.now();
      const changes = this.changes;
      this.changes = new Set();
      for (const listener of this.listeners) listener(changes);
      this.lastNotice = performance.now();
      this.noticeCost = this.lastNotice - begun;
    }, wait);
  }
}
