// A tab's side of the stream of events: through the shared worker, or by itself where there is none.

import {readJson} from './decode.js';
import {StreamHub} from './stream_hub.js';

const PING = 20000;
/** How long the worker may take to answer a first time, before the tab goes on without it. */
const PATIENCE = 2000;

/** The worker's address, which Trusted Types want to come from a policy. */
function workerUrl() {
  const url = new URL('stream_worker.js', document.baseURI).href;
  const types = /** @type {any} */ (window).trustedTypes;
  if (!types) return url;
  return types
      .createPolicy('lanista', {
        createScriptURL: (/** @type {string} */ text) => {
          if (text !== url) throw new TypeError('no script but the page\'s own worker');
          return text;
        },
      })
      .createScriptURL(url);
}

export class EventSourceOfTab {
  /** @param {(message: any) => void} receive  what StreamHub tells, with what is in `data` in its place */
  constructor(receive) {
    this.receive = (/** @type {any} */ message) =>
        receive(message.type === 'facts' ? {...message, ...readJson(message.data)} : message);
    /** @type {MessagePort|null} */
    this.port = null;
    /** @type {StreamHub|null} */
    this.hub = null;
    /** The token that the server has accepted; empty: none yet. */
    this.accepted = '';
    this.client = {post: (/** @type {any} */ message) => this.receive(message)};
    /** @type {{id: string, after: () => number}|null} */
    this.watched = null;
  }

  /** @returns {Promise<string>} the token of other tabs; empty: there is none */
  async start() {
    let token = '';
    try {
      // The worker of an older page may still be there, and what it says is understood by that page only.
      const worker = new SharedWorker(/** @type {any} */ (workerUrl()), {type: 'module', name: 'lanista-3'});
      const port = worker.port;
      token = await new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error('the worker does not answer')), PATIENCE);
        worker.onerror = () => reject(new Error('the worker does not start'));
        port.onmessage = ({data}) => {
          clearTimeout(timer);
          resolve(data.token);
        };
        port.postMessage({type: 'hello'});
      });
      port.onmessage = ({data}) => this.receive(data);
      this.port = port;
      setInterval(() => port.postMessage({type: 'ping'}), PING);
      addEventListener('pagehide', () => port.postMessage({type: 'bye'}));
      // A tab that comes back from the browser's cache is a new one to the worker.
      addEventListener('pageshow', (event) => {
        if (event.persisted) this.again();
      });
    } catch {
      this.hub = new StreamHub(new URL('.', document.baseURI).href);
      this.hub.token = this.accepted;
    }
    if (this.accepted) this.setToken(this.accepted);
    this.again();
    document.addEventListener('visibilitychange', () => this.visibilityChanged());
    return token;
  }

  /**
   * Streams are asked for with this token from now on, those of other tabs, too: one that the server refuses would sign
   * all of them out.
   * @param {string} token  that the server has accepted
   */
  setToken(token) {
    this.accepted = token;
    if (this.hub) this.hub.token = token;
    this.port?.postMessage({type: 'token', token});
  }

  /** @param {string} id @param {() => number} after  the last event that the page knows, now */
  watch(id, after) {
    if (this.watched && this.watched.id !== id) this.unwatch();
    this.watched = {id, after};
    this.again();
  }

  again() {
    if (!this.watched) return;
    const {id, after} = this.watched;
    if (this.hub) {
      if (!document.hidden) this.hub.watch(this.client, id, after());
    } else {
      this.port?.postMessage({type: 'watch', id, after: after()});
    }
  }

  unwatch() {
    if (!this.watched) return;
    const {id} = this.watched;
    this.watched = null;
    this.hub?.unwatch(this.client, id);
    this.port?.postMessage({type: 'unwatch', id});
  }

  retry() {
    if (!this.watched) return;
    this.hub?.retry(this.watched.id);
    this.port?.postMessage({type: 'retry', id: this.watched.id});
  }

  visibilityChanged() {
    // Without the worker a hidden tab gives its connection back; with it, a stream that gave way is asked for again.
    if (this.hub && document.hidden) {
      this.hub.unwatch(this.client);
    } else if (!document.hidden) {
      this.again();
    }
  }
}
