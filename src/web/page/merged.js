// The document of merged trials, as the view needs it. Pure.

/**
 * @typedef {Object} Member
 * @property {number} model
 * @property {number} attempt
 * @property {string|null} outcome
 * @property {{attempt: number, trial: number, because: string}|null} again  the attempt that followed, and why
 *
 * @typedef {Object} Work  steps in a row that are done once for these models
 * @property {number[]} models
 * @property {number} steps  0: loading the batch
 * @property {string|null} first
 * @property {string|null} last
 * @property {string|null} own_because  why its first step is not shared
 *
 * @typedef {Object} MergedTrial
 * @property {number} trial
 * @property {string|null} alone_because
 * @property {number|null} estimated_memory
 * @property {number|null} measured_memory
 * @property {string|null} device
 * @property {string|null} node
 * @property {string|null} start
 * @property {string|null} end
 * @property {number|null} seconds
 * @property {Member[]} models
 * @property {number|null} steps
 * @property {number|null} steps_alone
 * @property {Work[]} work
 */

/** @param {MergedTrial} trial */
export function isMerged(trial) {
  return trial.models.length > 1;
}

/**
 * Steps that are done for several models at once.
 * @param {MergedTrial} trial
 */
export function sharedSteps(trial) {
  return trial.work.reduce((sum, work) => sum + (work.models.length > 1 ? work.steps : 0), 0);
}

/** @param {Work} work */
export function workText(work) {
  if (work.first === null) return work.steps === 0 ? 'load the batch' : 'the whole model';
  return work.first === work.last ? work.first : `${work.first} … ${work.last}`;
}

/**
 * Why the trial is as it is: why it has one model, or which models ran again.
 * @param {MergedTrial} trial
 */
export function reasons(trial) {
  const again = trial.models.flatMap(({model, again}) => again ? [`model ${model} ran again: ${again.because}`] : []);
  return trial.alone_because === null ? again : [`alone because ${trial.alone_because}`, ...again];
}

/** @param {MergedTrial[]} trials */
export function summarize(trials) {
  const merged = trials.filter(isMerged);
  const known = merged.filter((trial) => trial.steps !== null);
  const sum = (/** @type {(trial: MergedTrial) => number} */ count) =>
      known.reduce((all, trial) => all + count(trial), 0);
  return {
    merged: merged.length,
    models: new Set(merged.flatMap((trial) => trial.models.map(({model}) => model))).size,
    alone: trials.length - merged.length,
    steps: sum((trial) => trial.steps ?? 0),
    stepsAlone: sum((trial) => trial.steps_alone ?? 0),
    fellBack: merged.reduce((all, trial) => all + trial.models.filter(({again}) => again !== null).length, 0)
  };
}

/** @param {MergedTrial[]} trials */
export function mergedTable(trials) {
  return {
    header: [
      'trial', 'models', 'steps', 'shared steps', 'steps if alone', 'estimated bytes', 'measured bytes', 'seconds',
      'device', 'because'
    ],
    rows: trials.map(
        (trial) =>
            [trial.trial, trial.models.map(({model}) => model).join(' '), trial.steps,
             trial.steps === null ? null : sharedSteps(trial), trial.steps_alone, trial.estimated_memory,
             trial.measured_memory, trial.seconds, trial.device, reasons(trial).join('; ')])
  };
}
