import {isMerged, mergedTable, reasons, sharedSteps, summarize, workText} from '../../../src/web/page/merged.js';

import {equal, test} from './harness.js';

const work = (models, steps, first, last, own_because = null) => ({models, steps, first, last, own_because});
const none = {estimated_memory: null, measured_memory: null, device: null, node: null, start: null, end: null, seconds: null};
const MERGED = {
  ...none,
  trial: 3,
  alone_because: null,
  measured_memory: 2000,
  models: [
    {model: 1, attempt: 1, outcome: 'SUCCEEDED', again: null},
    {model: 2, attempt: 1, outcome: 'UNMERGED', again: {attempt: 2, trial: 4, because: 'model 3 crashed'}}
  ],
  steps: 9,
  steps_alone: 13,
  work: [
    work([1, 2], 0, null, null), work([1, 2], 4, 'a (Conv2d)', 'd (ReLU)'),
    work([1], 2, 'e (Linear)', 'e (Linear)', 'it is trained'), work([2], 3, null, null)
  ]
};
const ALONE = {
  ...none,
  trial: 4,
  alone_because: 'it runs again after merged trial 3',
  models: [{model: 2, attempt: 2, outcome: null, again: null}],
  steps: null,
  steps_alone: null,
  work: []
};

test('merged trials are those of several models', () => {
  equal([isMerged(MERGED), isMerged(ALONE)], [true, false]);
  equal([sharedSteps(MERGED), sharedSteps(ALONE)], [4, 0]);
});

test('work is named by its first and last step', () => {
  equal(MERGED.work.map(workText), ['load the batch', 'a (Conv2d) … d (ReLU)', 'e (Linear)', 'the whole model']);
});

test('what fell back says why', () => {
  equal(reasons(MERGED), ['model 2 ran again: model 3 crashed']);
  equal(reasons(ALONE), ['alone because it runs again after merged trial 3']);
});

test('the summary counts models once and steps where they are known', () => {
  equal(summarize([MERGED, ALONE]), {merged: 1, models: 2, alone: 1, steps: 9, stepsAlone: 13, fellBack: 1});
  equal(summarize([{...MERGED, steps: null, steps_alone: null, work: []}]).stepsAlone, 0);
});

test('the table has a cell for each title', () => {
  const {header, rows} = mergedTable([MERGED, ALONE]);
  equal(rows.map((row) => row.length), [header.length, header.length]);
  equal(rows[0].slice(0, 5), [3, '1 2', 9, 4, 13]);
  equal(rows[1].slice(0, 5), [4, '2', null, null, null]);
});
