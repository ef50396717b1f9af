// Talks to the server: relative addresses, the token in a header.

import {readJson} from './decode.js';

/** What the server refused, or that it does not answer (status 0). */
export class ApiError extends Error {
  /** @param {number} status @param {string} message */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/**
 * Whether what was asked for is not there, and cannot be: nothing went wrong.
 * @param {ApiError} error
 */
export function isAbsent(error) {
  return error.status === 404 || error.status === 409;
}

const TOKEN_KEY = 'lanista-token';
/** What a proxy answers for a server that it does not reach, and for one that takes its time. */
const BAD_GATEWAY = 502;
const GATEWAY_TIMEOUT = 504;
/** Of a request that the server has no time for. */
const MOST_TRIES = 30;
/** With a head that is silent, ms: not for all of a document, which may take long on a slow line. */
const PATIENCE = 120000;

/** The token: taken from the link, kept for this tab, never left in the address. */
export class Token {
  constructor() {
    this.value = '';
    try {
      this.value = sessionStorage.getItem(TOKEN_KEY) ?? '';
    } catch {
      // Storage may be switched off; the token then lives as long as the page.
    }
  }

  /** @param {string} value */
  set(value) {
    this.value = value;
    try {
      sessionStorage.setItem(TOKEN_KEY, value);
    } catch {
      // As above.
    }
  }

  /** Takes `#token=...` out of the address. Returns whether there was one. */
  takeFromAddress() {
    const match = /^#token=([^&]*)(?:&(.*))?$/.exec(location.hash);
    if (!match) return false;
    try {
      this.set(decodeURIComponent(match[1]));
    } catch {
      this.set(match[1]);
    }
    history.replaceState(null, '', `${location.pathname}${location.search}${match[2] ? `#${match[2]}` : ''}`);
    return true;
  }
}

/** @param {string} id */
export function experimentPath(id) {
  return `experiments/${encodeURIComponent(id)}`;
}

/** @param {string|null} id @param {number} model */
export function modelPath(id, model) {
  return `${experimentPath(String(id))}/models/${model}`;
}

/**
 * Whether a proxy says that it does not reach the server, whose own 503 is JSON.
 * @param {Response} response
 */
function isOfProxy({status, headers}) {
  return [BAD_GATEWAY, GATEWAY_TIMEOUT].includes(status) ||
      (status === 503 && !/json/.test(headers.get('Content-Type') ?? ''));
}

/**
 * The same answer, whose body tells of each of its parts as they come.
 * @param {Response} response @param {() => void} heard
 */
function telling(response, heard) {
  if (!response.body) return response;
  const parts = new TransformStream({
    transform(part, controller) {
      heard();
      controller.enqueue(part);
    }
  });
  return new Response(response.body.pipeThrough(parts), response);
}

/**
 * Has one load at a time, so that no older answer overwrites a newer one: what is asked for meanwhile is loaded once
 * more behind it.
 * @param {() => Promise<void>} load @param {AbortSignal} signal
 */
export function oneAtATime(load, signal) {
  let isBusy = false;
  let isStale = false;
  return async () => {
    isStale = true;
    if (isBusy) return;
    isBusy = true;
    try {
      while (isStale && !signal.aborted) {
        isStale = false;
        await load();
      }
    } finally {
      isBusy = false;
    }
  };
}

/** @param {string} method @param {unknown} body @returns {RequestInit} */
function withBody(method, body) {
  return {method, headers: {'Content-Type': 'application/json'}, body: JSON.stringify(body)};
}

export class Api {
  /** @param {Token} token */
  constructor(token) {
    this.token = token;
    /** Called with each answer's status; 0: there was none. */
    this.onStatus = (/** @type {number} */ _) => {};
    /** Between two tries of a request that the server has no time for, ms. */
    this.pause = 1000;
    this.patience = PATIENCE;
  }

  /**
   * @param {string} path  below api/v1/
   * @param {RequestInit} options
   * @param {() => void} heard  called with each answer, also one after which it is asked again
   * @param {boolean} isSlow  a proxy that waits no longer says nothing of the head
   * @returns {Promise<Response>}
   */
  async fetch(path, options, heard, isSlow) {
    /** @type {Record<string, string>} */
    const headers = {.../** @type {any} */ (options.headers ?? {})};
    if (this.token.value) headers.Authorization = `Bearer ${this.token.value}`;
    /** @type {Response|null} */
    let response;
    for (let tries = 1;; ++tries) {
      response = await fetch(`api/v1/${path}`, {cache: 'no-store', credentials: 'omit', ...options, headers})
                     .catch((error) => {
                       if (options.signal?.aborted) throw error;
                       return null;
                     });
      if (isSlow && response?.status === GATEWAY_TIMEOUT) {
        throw new ApiError(GATEWAY_TIMEOUT, 'a proxy before the head does not wait as long as this takes');
      }
      if (!response || isOfProxy(response)) throw this.noAnswer();
      heard();
      this.onStatus(response.status);
      if (response.ok) return response;
      // Somebody else has a large experiment read. What changes something is not sent again.
      if (response.status !== 503 || (options.method ?? 'GET') !== 'GET' || tries === MOST_TRIES) break;
      await new Promise((resolve) => setTimeout(resolve, this.pause));
    }
    let message = `the server answered ${response.status}`;
    try {
      message = String((await response.json()).error ?? message);
    } catch {
      // A proxy's page, or nothing: the number has to do.
    }
    throw new ApiError(response.status, message);
  }

  noAnswer() {
    this.onStatus(0);
    return new ApiError(0, 'the head does not answer');
  }

  /**
   * What `read` makes of the answer. A head that is suspended, or whose machine has gone, sends nothing, and no error
   * either: the request is given up where nothing has come for `patience`. Not so what a trial process makes first,
   * when its turn comes (`isSlow`): however long that takes, silence says nothing of the head.
   * @template Body
   * @param {string} path @param {RequestInit} options @param {(response: Response) => Promise<Body>} read
   * @param {boolean} [isSlow]
   */
  async ask(path, options, read, isSlow = false) {
    const signal = options.signal;
    const request = new AbortController();
    let silent = false;
    /** @type {any} */
    let timer;
    const heard = () => {
      clearTimeout(timer);
      if (isSlow) return;
      timer = setTimeout(() => {
        silent = true;
        request.abort();
      }, this.patience);
    };
    const stop = () => request.abort(signal?.reason);
    signal?.addEventListener('abort', stop);
    if (signal?.aborted) stop();
    heard();
    try {
      return await read(telling(await this.fetch(path, {...options, signal: request.signal}, heard, isSlow), heard));
    } catch (error) {
      // A TypeError: the connection broke within the answer.
      if (signal?.aborted || !(silent || error instanceof TypeError)) throw error;
      throw this.noAnswer();
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', stop);
    }
  }

  /** @param {string} path @param {AbortSignal} [signal] @returns {Promise<any>} */
  json(path, signal) {
    return this.ask(path, {signal}, async (response) => readJson(await response.text()));
  }

  /** @param {string} path @param {AbortSignal} [signal] */
  bytes(path, signal) {
    return this.ask(path, {signal}, (response) => response.arrayBuffer());
  }

  /** @param {'POST'|'PUT'|'DELETE'} method @param {string} path @param {unknown} body @returns {Promise<any>} */
  send(method, path, body) {
    return this.ask(path, withBody(method, body), (response) => response.json());
  }

  /** What a trial process makes. @param {string} path @param {AbortSignal} signal @returns {Promise<any>} */
  made(path, signal) {
    return this.ask(path, {signal}, (response) => response.json(), true);
  }

  /**
   * A file that a trial process makes.
   * @param {string} path @param {unknown} body @param {AbortSignal} signal
   * @returns {Promise<{name: string, blob: Blob, warnings: string[]}>}
   */
  async download(path, body, signal) {
    const {headers, blob} = await this.ask(
        path, {...withBody('POST', body), signal},
        async (response) => ({headers: response.headers, blob: await response.blob()}), true);
    const name = /filename\*=UTF-8''([^;]+)/.exec(headers.get('Content-Disposition') ?? '')?.[1] ?? 'export';
    const warnings = decodeURIComponent(headers.get('X-Warnings') ?? '').split('\n').filter((line) => line !== '');
    return {name: decodeURIComponent(name), blob, warnings};
  }
}
