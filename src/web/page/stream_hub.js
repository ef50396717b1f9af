// Streams of events for one or many tabs: one connection an experiment, however many watch it. Runs in the shared
// worker, or in the page where there are none.
//
// A client is told, in order: {type: 'facts', id, after, data}, where `data` is text, {"events": [...]} and perhaps
// "columns" and "attempts" (docs/web.md#events), with all that is behind `after` up to the last one in it;
// {type: 'connection', id, state, wait}: 'live', 'lost' (tried again after `wait` ms), 'denied', 'missing', 'none' (there
// are no events of it); {type: 'ended'|'gone', id}; {type: 'reload', id}: it missed events that are no longer kept, and
// has to load the table again. Events stay text on their way through the worker: to read them there, and to hand objects
// on, takes longer than to read them where they are used.

import {EventStreamReader} from './sse.js';

/** How much is kept for tabs that come later, characters: some thousands of events. */
const KEPT = 2 << 20;
/** Streams at the same time: browsers have six connections a server, and the page needs some. */
const MAX_STREAMS = 3;
const FIRST_WAIT = 500;
const LONGEST_WAIT = 8000;
/** The server writes a comment every 15 s: a stream that is silent for longer is dead. */
const SILENCE = 45000;

/**
 * @typedef {{post: (message: any) => void}} Client
 * @typedef {{after: number, last: number, data: string}} Facts  the events behind `after` up to `last`
 */

class Stream {
  /** @param {StreamHub} hub @param {string} id @param {number} after */
  constructor(hub, id, after) {
    this.hub = hub;
    this.id = id;
    this.after = after;
    /** Events up to it are not kept. */
    this.keptAfter = after;
    /** @type {Facts[]} */
    this.kept = [];
    /** Characters in them. */
    this.keptLength = 0;
    /** @type {Set<Client>} */
    this.clients = new Set();
    this.closed = false;
    this.state = 'loading';
    this.wait = 0;
    this.abort = new AbortController();
    this.wake = () => {};
    this.run();
  }

  /** @param {any} message */
  tell(message) {
    for (const client of this.clients) client.post({...message, id: this.id});
  }

  /** @param {string} state @param {number} wait */
  setState(state, wait) {
    this.state = state;
    this.wait = wait;
    this.tell({type: 'connection', state, wait});
  }

  async run() {
    for (let wait = FIRST_WAIT; !this.closed;) {
      this.abort = new AbortController();
      try {
        const over = await this.read(() => {
          wait = FIRST_WAIT;
        });
        if (over) {
          this.finish(over);
          return;
        }
      } catch {
        // Whatever it was, it is tried again.
      }
      if (this.closed) return;
      this.setState('lost', wait);
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, wait);
        this.wake = () => {
          clearTimeout(timer);
          resolve(null);
        };
      });
      wait = Math.min(wait * 1.7, LONGEST_WAIT);
    }
  }

  /**
   * What the server says next; it is given up where that takes too long.
   * @template Said
   * @param {Promise<Said>} said
   */
  unlessSilent(said) {
    const timer = setTimeout(() => this.abort.abort(), SILENCE);
    return said.finally(() => clearTimeout(timer));
  }

  /**
   * One connection, to its end.
   * @param {() => void} connected
   * @returns {Promise<string|null>} why there is to be no other; null: the connection broke
   */
  async read(connected) {
    /** @type {Record<string, string>} */
    const headers = {Accept: 'text/event-stream'};
    if (this.hub.token) headers.Authorization = `Bearer ${this.hub.token}`;
    const response = await this.unlessSilent(fetch(
        `${this.hub.base}api/v1/experiments/${encodeURIComponent(this.id)}/events?models=1&after=${this.after}`,
        {headers, signal: this.abort.signal, cache: 'no-store', credentials: 'omit'}));
    if (response.status === 401) return 'denied';
    if (response.status === 404) return 'missing';
    // What is wrong with the request stays wrong; 408 and 429 pass.
    if (response.status >= 400 && response.status < 500 && response.status !== 408 && response.status !== 429)
      return 'none';
    if (!response.ok || !response.body) return null;
    this.setState('live', 0);
    connected();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    const events = new EventStreamReader();
    for (;;) {
      const {value, done} = await this.unlessSilent(reader.read());
      if (done) return null;
      for (const message of events.push(value)) {
        if (message.event === 'ended' || message.event === 'gone') return message.event;
        if (message.event === 'facts') this.receive(message);
      }
    }
  }

  /** @param {{id: string, data: string}} message */
  receive({id, data}) {
    const {after} = this;
    // Last words are no fact, and have no number.
    this.after = Math.max(after, Number(id) || 0);
    this.kept.push({after, last: this.after, data});
    this.keptLength += data.length;
    while (this.keptLength > KEPT) {
      const dropped = /** @type {Facts} */ (this.kept.shift());
      this.keptLength -= dropped.data.length;
      this.keptAfter = dropped.last;
    }
    this.tell({type: 'facts', after, data});
  }

  /** @param {string} over */
  finish(over) {
    this.closed = true;
    this.hub.streams.delete(this.id);
    if (over === 'ended' || over === 'gone') {
      this.tell({type: over});
    } else {
      this.setState(over, 0);
    }
  }

  close() {
    this.closed = true;
    this.abort.abort();
    this.wake();
  }
}

export class StreamHub {
  /** @param {string} base  of addresses, with a slash at its end */
  constructor(base) {
    this.base = base;
    this.token = '';
    /** @type {Map<string, Stream>} */
    this.streams = new Map();
  }

  /** @param {Client} client @param {string} id @param {number} after  the last event that the client knows */
  watch(client, id, after) {
    let stream = this.streams.get(id);
    if (stream && stream.keptAfter > after) {
      client.post({type: 'reload', id});
      return;
    }
    if (!stream) {
      if (this.streams.size >= MAX_STREAMS) {
        // The one that has been open for longest gives way; its tabs ask again when they are looked at.
        const [oldest, other] = /** @type {[string, Stream]} */ (this.streams.entries().next().value);
        other.setState('paused', 0);
        other.close();
        this.streams.delete(oldest);
      }
      stream = new Stream(this, id, after);
      this.streams.set(id, stream);
    }
    stream.clients.add(client);
    for (const facts of stream.kept) {
      if (facts.last > after) client.post({type: 'facts', id, after: facts.after, data: facts.data});
    }
    if (stream.state !== 'loading') client.post({type: 'connection', id, state: stream.state, wait: stream.wait});
  }

  /** @param {Client} client @param {string|null} [id]  null: all */
  unwatch(client, id = null) {
    for (const [key, stream] of this.streams) {
      if ((id !== null && key !== id) || !stream.clients.delete(client) || stream.clients.size > 0) continue;
      stream.close();
      this.streams.delete(key);
    }
  }

  /**
   * Tries again now.
   * @param {string} id
   */
  retry(id) {
    this.streams.get(id)?.wake();
  }
}
