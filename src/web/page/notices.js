// Who is told that something changed: soon, once for many changes, and not so often that the page does nothing else.

/** Least ms between two notices about events. */
const EVENT_PACE = 150;
/** What events have drawn takes at most one part in so many of the time, a glance at it one in fewer, */
const SHARE = 100;
const GLANCE_SHARE = 20;
/** but nobody waits for longer than this, ms. */
const LONGEST = 10000;

/**
 * What tells the time, and when to draw. A frame is never drawn while nobody sees the page.
 * @typedef {Object} Clock
 * @property {() => number} now  ms
 * @property {(run: () => void, ms: number) => void} later
 * @property {(run: () => void) => void} frame  before the page is painted
 * @property {(run: () => void) => void} painted  after that
 */

/** @returns {Clock} */
function browserClock() {
  const channel = new MessageChannel();
  /** @type {(() => void)[]} */
  const waiting = [];
  channel.port1.onmessage = () => waiting.shift()?.();
  return {
    now: () => performance.now(),
    later: (run, ms) => setTimeout(run, ms),
    frame: (run) => requestAnimationFrame(run),
    // A timer would come some ms later.
    painted: (run) => {
      waiting.push(run);
      channel.port2.postMessage(null);
    },
  };
}

/** Something that events draw: at once where its last drawing was cheap, else when that has been paid for. */
class Paced {
  /** @param {Clock} clock @param {number} share @param {() => boolean} draw  whether there was something to draw */
  constructor(clock, share, draw) {
    this.clock = clock;
    this.share = share;
    this.draw = draw;
    this.asked = false;
    /** Not before this, ms. */
    this.due = 0;
  }

  /** There is something to be drawn. */
  ask() {
    if (this.asked) return;
    this.asked = true;
    this.wait();
  }

  wait() {
    const left = this.due - this.clock.now();
    if (left > 0) {
      this.clock.later(() => this.wait(), left);
      return;
    }
    this.clock.frame(() => {
      this.asked = false;
      const begun = this.clock.now();
      if (!this.draw()) return;
      // Events that came while it was drawn are heard before it is painted: they wait, too.
      this.rest(this.clock.now() - begun);
      // What the browser makes of a drawing takes as much time as to say what is drawn.
      this.clock.painted(() => this.rest(this.clock.now() - begun));
    });
  }

  /** It has been drawn now. @param {number} [cost]  of that, ms */
  rest(cost = 0) {
    this.due = Math.max(this.due, this.clock.now() + Math.max(EVENT_PACE, Math.min(LONGEST, this.share * cost)));
  }
}

/**
 * @typedef {Object} Listener
 * @property {(changes: Set<string>) => void} update
 * @property {() => void} glance  shows what events are about, at little cost
 */

export class Notices {
  /** @param {Clock} [clock] */
  constructor(clock = browserClock()) {
    this.clock = clock;
    /** @type {Set<Listener>} */
    this.listeners = new Set();
    /** @type {Set<string>} */
    this.changes = new Set();
    this.scheduled = false;
    this.updates = new Paced(clock, SHARE, () => this.update());
    this.glances = new Paced(clock, GLANCE_SHARE, () => this.glance());
  }

  /** @param {Listener['update']} update @param {Listener['glance']} [glance] */
  subscribe(update, glance = () => {}) {
    const listener = {update, glance};
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /**
   * Tells listeners, soon and once.
   * @param {string} what @param {boolean} [paced]  it may wait until the page has had its time: listeners may glance at
   *     it meanwhile
   */
  tell(what, paced = false) {
    this.changes.add(what);
    if (paced) {
      this.updates.ask();
      this.glances.ask();
      return;
    }
    // What the reader does is shown at once, also when events wait for their time.
    if (this.scheduled) return;
    this.scheduled = true;
    this.clock.later(() => {
      this.scheduled = false;
      const begun = this.clock.now();
      this.update();
      this.updates.rest(this.clock.now() - begun);
    }, 0);
  }

  update() {
    if (this.changes.size === 0) return false;
    const {changes} = this;
    this.changes = new Set();
    // It shows what a glance would. What comes while it is drawn has waited for as long as that takes.
    this.glances.rest();
    for (const {update} of this.listeners) update(changes);
    return true;
  }

  glance() {
    // Where everything has been drawn in this frame, there is nothing new.
    if (this.changes.size === 0) return false;
    for (const {glance} of this.listeners) glance();
    return true;
  }
}
