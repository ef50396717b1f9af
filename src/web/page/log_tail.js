// The end of a log that grows, read piece by piece. Pure.

/** Characters that are kept. */
const SHOWN = 256 * 1024;
/** Of one request: the server gives no more. */
const MAX_BYTES = 1 << 20;

export class LogTail {
  /** @param {number} [wanted]  the attempt whose log it is; 0: always the last one's */
  constructor(wanted = 0) {
    this.wanted = wanted;
    this.restart();
  }

  /** Begins anew. */
  restart() {
    /** 0: not known yet. */
    this.attempt = 0;
    /** Of the whole log. */
    this.size = 0;
    this.begin(0);
  }

  /** @param {number} size  of the log: its end comes first, because it may have 16 MiB */
  begin(size) {
    this.offset = this.from = Math.max(0, size - SHOWN);
    this.text = '';
    this.decoder = new TextDecoder();
  }

  /** What is to be asked for next. */
  query() {
    if (this.attempt === 0) return `attempt=${this.wanted}&offset=0&limit=0`;
    return `attempt=${this.attempt}&offset=${this.offset}&limit=${MAX_BYTES}`;
  }

  /**
   * Takes the answer to `query`.
   * @param {number} attempt @param {number} size  of the whole log @param {ArrayBuffer} bytes
   * @returns {boolean} whether there is more to be read at once
   */
  take(attempt, size, bytes) {
    this.size = size;
    if (this.attempt === 0) {
      this.attempt = attempt;
      this.begin(size);
    } else if (size < this.offset) {
      // A log that became too long was cut.
      this.begin(size);
    } else {
      this.offset += bytes.byteLength;
      this.text = (this.text + this.decoder.decode(bytes, {stream: true})).slice(-SHOWN);
      if (bytes.byteLength === 0) return false;
    }
    return this.offset < size;
  }
}
