// Reads a text/event-stream (https://html.spec.whatwg.org/multipage/server-sent-events.html). Pure.

/** Longest line that is kept, characters: what comes is from our own server, and bounded there. */
const MAX_BUFFER = 16 << 20;

/** @typedef {{id: string, event: string, data: string}} Message */

/** Collects chunks of text; `push` returns the messages that are complete. */
export class EventStreamReader {
  constructor() {
    this.buffer = '';
    /** Before this place of it no line ends. */
    this.searched = 0;
    this.id = '';
    this.event = '';
    /** @type {string[]} */
    this.data = [];
  }

  /** @param {string} chunk @returns {Message[]} */
  push(chunk) {
    this.buffer += chunk;
    if (this.buffer.length > MAX_BUFFER) throw new Error('a line of the event stream is too long');
    /** @type {Message[]} */
    const messages = [];
    let from = 0;
    const end = /\r\n|\n|\r/g;
    end.lastIndex = this.searched;
    for (;;) {
      const found = end.exec(this.buffer);
      // A carriage return at the end may be the first half of a line's end.
      if (!found || (found[0] === '\r' && found.index + 1 === this.buffer.length)) break;
      this.line(this.buffer.slice(from, found.index), messages);
      from = end.lastIndex;
    }
    this.buffer = this.buffer.slice(from);
    this.searched = Math.max(0, this.buffer.length - 1);
    return messages;
  }

  /** @param {string} line @param {Message[]} messages */
  line(line, messages) {
    if (line === '') {
      if (this.data.length > 0 || this.event !== '') {
        messages.push({id: this.id, event: this.event || 'message', data: this.data.join('\n')});
      }
      this.event = '';
      this.data = [];
      return;
    }
    const colon = line.indexOf(':');
    if (colon === 0) return;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'id') this.id = value;
    if (field === 'event') this.event = value;
    if (field === 'data') this.data.push(value);
  }
}
