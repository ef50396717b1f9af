// A metric's curves for a view that shows them: asked for, and again where that may help; says so meanwhile.

import {fill, stateBox} from './dom.js';
import {oneLine} from './format.js';

/** Before curves that could not be had are asked for again where a view wants them, ms. */
const PAUSE = 3000;

export class CurvesLoad {
  /** @param {import('./store.js').Store} store @param {HTMLElement} state  has what is said */
  constructor(store, state) {
    this.store = store;
    this.state = state;
    /** The metric whose curves could not be had just now. */
    this.failedMetric = '';
  }

  /**
   * Whether they are there; else they are asked for.
   * @param {string} metric @param {boolean} byTime  whether their times are shown, too
   */
  has(metric, byTime) {
    const {current} = this.store;
    if (current?.curves.has(metric) && (!byTime || current.times.has(metric))) return true;
    if (this.failedMetric !== metric) this.load(metric, byTime);
    return false;
  }

  headIsBack() {
    this.failedMetric = '';
  }

  /** @param {string} metric @param {boolean} byTime */
  async load(metric, byTime) {
    fill(this.state, stateBox('loading', `Loading the curves of ${oneLine(metric, 60)} …`));
    try {
      await Promise.all([this.store.loadCurves(metric, false), byTime ? this.store.loadCurves(metric, true) : null]);
    } catch (error) {
      this.failedMetric = metric;
      const title = `The curves of ${oneLine(metric, 60)} cannot be loaded`;
      fill(this.state, stateBox('error', title, /** @type {Error} */ (error).message));
      setTimeout(() => {
        this.failedMetric = '';
      }, PAUSE);
    }
  }
}
