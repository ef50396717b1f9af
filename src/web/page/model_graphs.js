// The graphs of models: each is asked for once, and again where that may help.

import {ApiError, isAbsent, modelPath} from './api.js';
import {buildGraph} from './layout.js';

/**
 * @typedef {Object} ModelGraph
 * @property {any} document  as `show-graph --json` prints it
 * @property {import('./layout.js').Graph} graph
 */

/** @param {ApiError} error */
const mayHelp = (error) => !isAbsent(error);

export class ModelGraphs {
  /** @param {import('./store.js').Store} store  tells of 'graphs' when one is there, or cannot be had */
  constructor(store) {
    this.store = store;
    this.abort = new AbortController();
    /** @type {Map<number, ModelGraph|ApiError|null>} null: it is being made */
    this.known = new Map();
  }

  destroy() {
    this.abort.abort();
  }

  /** @param {number} model @returns {ModelGraph|ApiError|null}  null: it is being made */
  get(model) {
    if (!this.known.has(model)) this.load(model);
    return this.known.get(model) ?? null;
  }

  /**
   * Has graphs that could not be had asked for again.
   * @param {(error: ApiError) => boolean} [which]
   * @returns {boolean} whether there are any
   */
  forget(which = mayHelp) {
    const failed = [...this.known].filter(([, graph]) => graph instanceof ApiError && which(graph));
    for (const [model] of failed) this.known.delete(model);
    return failed.length > 0;
  }

  /** Those that a head without time refused are asked for again when it tells something. @param {Set<string>} changes */
  follow(changes) {
    if (changes.has('table')) this.forget(({status}) => status === 503);
  }

  headIsBack() {
    if (this.forget()) this.store.changed('graphs');
  }

  /** @param {number} model */
  async load(model) {
    this.known.set(model, null);
    /** @type {ModelGraph|ApiError} */
    let answer;
    try {
      const path = `${modelPath(this.store.route.id, model)}/graph`;
      const document = await this.store.api.made(path, this.abort.signal);
      answer = {document, graph: buildGraph(document)};
    } catch (error) {
      if (this.abort.signal.aborted) return;
      answer = error instanceof ApiError ? error : new ApiError(-1, String(error));
    }
    this.known.set(model, answer);
    this.store.changed('graphs');
  }
}
