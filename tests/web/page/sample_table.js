// A small table for tests: five models, a nested choice, NaN, a failure.

import {decodeAttempts, decodeColumns, decodeCurves} from '../../../src/web/page/decode.js';

export function sampleDocument() {
  return {
    id: 'sample-1',
    number: 10,
    status: 'RUNNING',
    started: 1000,
    objectives: [{metric: 'accuracy', goal: 'MAXIMIZE'}, {metric: 'flops', goal: 'MINIMIZE'}],
    model: [1, 2, 3, 4, 5],
    statuses: ['SUCCEEDED', 'FAILED', 'RUNNING'],
    status_of: [0, 0, 1, 0, 2],
    start: [0, 1000, 2000, 3000, 4000],
    end: [2000, 3000, 1000, 500, null],
    attempts: [1, 1, 2, 1, 1],
    steps: [3, 3, 1, 3, 2],
    choices: [
      {label: 'op', kind: 'layer_choice', candidates: ['conv', 'skip'], chosen: [0, 1, 0, 0, null]},
      {label: 'kernel', kind: 'value_choice', candidates: [3, 5], chosen: [0, null, 1, 1, null]},
      {
        label: 'inputs',
        kind: 'input_choice',
        candidates: ['a', 'b', 'c'],
        chosen: [[0, 2], [1, 2], [0, 1], [0, 2], null]
      },
    ],
    metrics: {
      default: [0.9, 0.8, null, 'NaN', null],
      accuracy: [0.9, 0.8, null, 0.95, null],
      flops: [100, 50, null, 'Infinity', null]
    },
    latest: [null, null, null, null, 0.4],
    violation: [0, 0, null, 0, null],
    front: [0, 0, null, 0, null],
    stopped_step: null,
    failures: [{reason: 'OUT_OF_MEMORY', message: 'too big'}],
    failure_of: [null, null, 0, null, null],
  };
}

export function sampleTable() {
  return decodeColumns(sampleDocument());
}

/**
 * The bytes of `curves`.
 * @param {Map<number, [number, number][]>} models  model -> (step, value)
 * @param {boolean} [steps]
 * @param {number} [number]  of the last fact in them
 */
export function curveBytes(models, steps = true, number = 10) {
  const points = [...models.values()].reduce((sum, list) => sum + list.length, 0);
  const buffer = new ArrayBuffer(24 + 8 * models.size + points * (steps ? 8 : 4));
  const view = new DataView(buffer);
  [0x32434e4c, models.size, points, steps ? 1 : 0].forEach((v, i) => view.setUint32(4 * i, v, true));
  view.setBigUint64(16, BigInt(number), true);
  let i = 0;
  let p = 0;
  const base = 24 + 8 * models.size;
  for (const [model, list] of models) {
    view.setUint32(24 + 4 * i, model, true);
    view.setUint32(24 + 4 * (models.size + i), list.length, true);
    ++i;
    for (const [step, value] of list) {
      if (steps) view.setUint32(base + 4 * p, step, true);
      view.setFloat32(base + 4 * p + (steps ? 4 * points : 0), value, true);
      ++p;
    }
  }
  return buffer;
}

/** All that may be loaded of it: model 5 runs, and has reported twice. */
export function sampleLoaded() {
  return {
    table: sampleTable(),
    attempts: decodeAttempts({
      devices: ['n/cpu:0'],
      model: [5],
      attempt: [1],
      trial: [9],
      device: [0],
      start: [5000],
      end: [null],
      outcome: [null]
    }),
    curves: new Map([['default', decodeCurves(curveBytes(new Map([[5, [[0, 0.25], [1, 0.5]]]])))]]),
    times: new Map(),
  };
}
