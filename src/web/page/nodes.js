// Nodes of a head and what each slot works on, as the view of devices shows them. Pure.

import {oneLine} from './format.js';

/**
 * An entry of the document of `nodes`.
 * @typedef {Object} HeadNode
 * @property {string} name
 * @property {string} state  JOINED, SILENT, DRAINING or COMING
 * @property {number} devices
 * @property {number} busy
 * @property {{experiment: string, trial: number, models: number[]}[]} trials
 * @property {boolean|null} other_program
 * @property {string|null} since
 * @property {string} version
 * @property {string} because
 * @property {string[]} data
 * @property {Record<string, string>} labels
 *
 * @typedef {Object} NodeLine
 * @property {string} name
 * @property {string} state
 * @property {string} busy
 * @property {string} trials
 * @property {number|null} since  ms since 1970
 * @property {string} about
 */

/** Trials of one node that are named. */
const NAMED = 6;

/**
 * @param {{nodes: HeadNode[]}} document
 * @param {string} experiment  the one that is shown: its trials come first and need no name
 * @returns {NodeLine[]}
 */
export function nodeLines(document, experiment) {
  return document.nodes.map((node) => {
    const own = node.trials.filter((trial) => trial.experiment === experiment);
    const others = node.trials.filter((trial) => trial.experiment !== experiment);
    const words = [
      ...own.map((trial) => `trial ${trial.trial} (${trial.models.length === 1 ? 'model' : 'models'} ${
                     trial.models.slice(0, NAMED).join(', ')}${trial.models.length > NAMED ? ' …' : ''})`),
      ...others.map((trial) => `trial ${trial.trial} of ${oneLine(trial.experiment, 60)}`)
    ];
    const about = [
      node.because ? oneLine(node.because, 300) : '', node.other_program ? 'has another trial program than the head' : '',
      node.data.length > 0 ? `data: ${node.data.map((name) => oneLine(name, 60)).join(', ')}` : '',
      ...Object.entries(node.labels).map(([key, value]) => oneLine(`${key}=${value}`, 120))
    ];
    return {
      name: oneLine(node.name, 80),
      state: node.state,
      busy: `${node.busy} of ${node.devices}`,
      trials: words.length === 0 ?
          '–' :
          `${words.slice(0, NAMED).join(', ')}${words.length > NAMED ? `, and ${words.length - NAMED} more` : ''}`,
      since: node.since === null ? null : Date.parse(node.since),
      about: about.filter(Boolean).join('; ')
    };
  });
}

/**
 * What a slot works on at this moment, as far as this experiment knows; '': nothing of it.
 * @param {import('./stats.js').Bar[]} bars @param {number} device
 */
export function leaseText(bars, device) {
  const bar = bars.find((b) => b.device === device && b.end === null);
  if (!bar) return '';
  const [first, ...more] = bar.models;
  return more.length === 0 ? `trial ${bar.trial}, model ${first}` : `trial ${bar.trial}, ${bar.models.length} models`;
}
