import {applyMessage} from '../../../src/web/page/changes.js';
import {settle} from '../../../src/web/page/events.js';

import {equal, test} from './harness.js';
import {sampleLoaded} from './sample_table.js';

/** Model 5 has run again, and failed; model 7 is new. Their choices and devices have other numbers than in the table. */
function message() {
  return {
    events: [{number: '29', time: new Date(8000).toISOString(), state: {state: 'STOPPING', reason: 'enough'}}],
    columns: {
      id: 'sample-1',
      number: 30,
      status: 'STOPPING',
      started: 1000,
      objectives: [],
      model: [5, 7],
      statuses: ['FAILED', 'SUCCEEDED'],
      status_of: [0, 1],
      start: [5500, 6000],
      end: 500,
      attempts: [2, 1],
      params: [null, 12],
      steps: [0, 0],
      choices: [
        {label: 'op', candidates: ['pool', 'skip'], chosen: [0, 1]},
        {label: 'inputs', candidates: ['c', 'a'], chosen: [[1, 0], null]},
        {label: 'late', candidates: [true], chosen: [null, 0]},
      ],
      metrics: {accuracy: [null, 0.99], flops: [null, 10], loss: [null, 'Infinity']},
      violation: [null, 0],
      failures: [{reason: 'SIGNAL', message: 'crash'}],
      failure_of: [0, null],
    },
    attempts: {
      number: 30,
      devices: ['m/cpu:3', 'n/cpu:0'],
      model: [5, 5, 7],
      attempt: [1, 2, 1],
      trial: [9, 11, 12],
      device: [1, 0, null],
      start: [5000, 6500, 7000],
      end: [6000, 7000, 7500],
      outcome: ['LOST', 'FAILED', 'SUCCEEDED']
    },
  };
}

test('models take the place of what was known of them', () => {
  const all = sampleLoaded();
  equal(applyMessage(all, message()), true);
  const {table} = all;
  equal([table.number, table.status, table.reason], [30, 'STOPPING', 'enough']);
  equal(table.model, [1, 2, 3, 4, 5, 7]);
  equal([table.state[4], table.state[5]], ['FAILED', 'SUCCEEDED']);
  equal([table.start[4], table.end[4], table.attempts[4], table.steps[4], table.latest[4]], [6500, 7000, 2, 0, null]);
  equal(table.failures[table.failureOf[4]], {reason: 'SIGNAL', message: 'crash'});
  equal(table.failureOf[5], null);
  equal([table.params[4], table.params[5]], [null, 12]);
  equal([...table.unknown], []);
  // Of other models nothing changes.
  equal([table.state[0], table.metrics.get('accuracy')[0], table.choices[0].chosen[0]], ['SUCCEEDED', 0.9, 0]);
});

test('choices and metrics are found by name, and those that are new get a column', () => {
  const all = sampleLoaded();
  applyMessage(all, message());
  const {choices, metrics} = all.table;
  const chosen = (label, row) => {
    const choice = choices.find((c) => c.label === label);
    const value = choice.chosen[row];
    return value === null ? null : [value].flat().map((i) => choice.candidates[i]);
  };
  equal([chosen('op', 4), chosen('op', 5)], [['pool'], ['skip']]);
  equal([chosen('inputs', 4), chosen('inputs', 5)], [['a', 'c'], null]);
  equal([chosen('kernel', 4), chosen('late', 0), chosen('late', 5)], [null, null, [true]]);
  equal([metrics.get('loss')[0], metrics.get('loss')[5]], [null, Infinity]);
  equal([metrics.get('default')[5], metrics.get('accuracy')[5]], [null, 0.99]);
});

test('fronts are those of all models', () => {
  const all = sampleLoaded();
  applyMessage(all, message());
  settle(all.table);
  equal(all.table.front, [1, 1, null, null, null, 0]);
});

test('reports that do not count any more leave the curves, and attempts come', () => {
  const all = sampleLoaded();
  applyMessage(all, message());
  equal(all.curves.get('default').of.get(5).values, []);
  equal(all.curves.get('default').number, 30);
  const {attempts} = all;
  equal(attempts.devices, ['n/cpu:0', 'm/cpu:3']);
  equal([attempts.model, attempts.attempt, attempts.device], [[5, 5, 7], [1, 2, 1], [0, 1, null]]);
  equal([attempts.end, attempts.outcome], [[6000, 7000, 7500], ['LOST', 'FAILED', 'SUCCEEDED']]);
});

test('a message that is known already changes nothing, and a part that is later keeps what it has', () => {
  const all = sampleLoaded();
  all.attempts.number = 40;
  all.curves.get('default').number = 40;
  applyMessage(all, message());
  equal(all.attempts.model, [5]);
  equal(all.curves.get('default').of.get(5).values, [0.25, 0.5]);
  equal([all.attempts.number, all.curves.get('default').number], [40, 40]);
  all.table.state[5] = 'RUNNING';
  equal(applyMessage(all, message()), false);
  equal(all.table.state[5], 'RUNNING');
});
