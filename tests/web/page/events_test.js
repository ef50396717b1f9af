import {decodeColumns, decodeCurves, readJson} from '../../../src/web/page/decode.js';
import {applyEvents, settle} from '../../../src/web/page/events.js';

import {check, equal, test} from './harness.js';
import {curveBytes, sampleLoaded} from './sample_table.js';

/** As `space` says it: two inputs are chosen together. */
function withSeveralInputs(table) {
  table.choices[2].nChosen = 2;
  return table;
}

function loaded() {
  const all = sampleLoaded();
  withSeveralInputs(all.table);
  return all;
}

const time = (ms) => new Date(ms).toISOString();

test('a report adds a point, a step and the latest value', () => {
  const all = loaded();
  applyEvents(all, [{
                number: '11',
                time: time(6000),
                model: {
                  model: 5,
                  attempt: 1,
                  trial: 9,
                  sequence: 4,
                  intermediate: {step: 2, metrics: {values: {default: 0.75}}}
                }
              }]);
  equal(all.curves.get('default').of.get(5).values, [0.25, 0.5, 0.75]);
  equal(all.table.steps[4], 3);
  equal(all.table.latest[4], 0.75);
  equal(all.table.number, 11);
});

test('NaN that is reported is kept', () => {
  const all = loaded();
  applyEvents(all, [{
                number: '11',
                time: time(6000),
                model: {
                  model: 5,
                  attempt: 1,
                  trial: 9,
                  intermediate: {step: 2, metrics: {values: {default: 'NaN'}}}
                }
              }]);
  equal(all.curves.get('default').of.get(5).values[2], NaN);
});

test('events that the table has already change nothing', () => {
  const all = loaded();
  const before = JSON.stringify(all.table);
  equal(
      applyEvents(
          all,
          [{number: '10', state: {state: 'DONE', reason: ''}}, {number: '3', outcome: {model: 5, outcome: 'FAILED'}}]),
      false);
  equal(JSON.stringify(all.table), before);
});

test('an outcome ends a model, with metrics, sample, failure and fronts', () => {
  const all = loaded();
  applyEvents(all, [
    {number: '11', time: time(7000), model: {model: 5, attempt: 1, trial: 9, ended: {outcome: 'SUCCEEDED'}}},
    {
      number: '12',
      outcome: {
        model: 5,
        attempt: 1,
        outcome: 'SUCCEEDED',
        metrics: {values: {default: 0.99, accuracy: 0.99, flops: 10}},
        sample: {
          decisions: [
            {label: 'op', index: [1], value: [{s: 'skip'}]},
            {label: 'inputs', index: [0, 1], value: [{s: 'a'}, {s: 'b'}]}
          ]
        }
      }
    },
  ]);
  const {table} = all;
  equal(table.state[4], 'SUCCEEDED');
  equal(table.end[4], 7000);
  equal(table.latest[4], null);
  equal(table.metrics.get('accuracy')[4], 0.99);
  equal(table.choices[0].chosen[4], 1);
  equal(table.choices[2].chosen[4], [0, 1]);
  settle(table);
  // The fourth has infinite flops.
  equal(table.front, [1, 1, null, null, 0]);
  equal(all.attempts.outcome[0], 'SUCCEEDED');
});

test('a model that was built has its costs, as the first one counted them', () => {
  const all = loaded();
  const built = (number, model, costs) =>
      ({number, time: time(7000), model: {model, attempt: 1, trial: 9, built: costs}});
  applyEvents(all, [built('11', 5, {params: '1200', flops: '34000000000'}), built('12', 9, {params: '7'})]);
  equal([all.table.params[4], all.table.flops[4]], [1200, 34e9]);
  equal([all.table.params[5], all.table.flops[5]], [7, null]);
  applyEvents(all, [built('13', 5, {params: '1'})]);
  equal([all.table.params[4], all.table.flops[4]], [1200, 34e9]);
});

test('a model whose attempt ended without an outcome waits for its next one', () => {
  const all = loaded();
  const ended = (number, attempt) =>
      ({number, time: time(7000), model: {model: 5, attempt, trial: 9, ended: {outcome: 'LOST'}}});
  applyEvents(all, [ended('11', 1)]);
  equal([all.table.state[4], all.table.end[4]], ['QUEUED', 7000]);
  // One that has its outcome keeps it.
  applyEvents(all, [{number: '12', outcome: {model: 5, attempt: 1, outcome: 'CANCELED'}}, ended('13', 1)]);
  equal(all.table.state[4], 'CANCELED');
});

test('the latest report stays where the outcome has no default', () => {
  const all = loaded();
  applyEvents(
      all, [{number: '11', outcome: {model: 5, attempt: 1, outcome: 'INFEASIBLE', metrics: {values: {flops: 7}}}}]);
  equal(all.table.latest[4], 0.4);
  equal(all.table.violation[4], 0);
});

test('a failure of a known kind is counted with the others', () => {
  const all = loaded();
  applyEvents(all, [{
                number: '11',
                outcome: {
                  model: 5,
                  attempt: 1,
                  outcome: 'FAILED',
                  metrics: {values: {}},
                  failure: {reason: 'OUT_OF_MEMORY', message: 'too big', signal: 0}
                }
              }]);
  equal(all.table.failures.length, 1);
  equal(all.table.failureOf[4], 0);
});

test('a new model gets a row in every column, and the table is known to be incomplete', () => {
  const all = loaded();
  applyEvents(all, [{
                number: '11',
                time: time(8000),
                model: {
                  model: 8,
                  attempt: 1,
                  trial: 10,
                  started: {device: {kind: 'GPU', index: 1, node: 'n'}, resumed_steps: 0}
                }
              }]);
  const {table} = all;
  for (const column
           of [table.state, table.start, table.end, table.attempts, table.steps, table.latest, table.violation,
               table.front, table.stoppedStep, table.failureOf, ...table.choices.map((c) => c.chosen),
               ...table.metrics.values()])
    equal(column.length, 6);
  equal(table.state[5], 'RUNNING');
  equal([...table.unknown], [8]);
  equal(all.attempts.devices, ['n/cpu:0', 'n/cuda:1']);
  equal(all.attempts.device[1], 1);
});

test('an outcome brings the sample of its model, also with candidates that the space does not list', () => {
  const all = loaded();
  const outcome = (number, values) => ({
    number,
    outcome: {
      model: 8,
      outcome: 'SUCCEEDED',
      sample: {decisions: Object.entries(values).map(([label, value]) => ({label, index: [0], value: [value]}))}
    }
  });
  applyEvents(all, [outcome('11', {op: {s: 'skip'}, kernel: {i: '7'}, inputs: {list: {values: [{s: 'a'}]}}})]);
  const {table} = all;
  const row = table.rowOf.get(8);
  const chosen = () => table.choices.map((choice) => choice.candidates[choice.chosen[row]]);
  equal(chosen(), ['skip', 7, ['a']]);
  equal(table.choices[1].candidates, [3, 5, 7]);
  equal(table.unknown.size, 0);
  // The same list is the same candidate.
  applyEvents(all, [outcome('12', {op: {s: 'skip'}, kernel: {i: '3'}, inputs: {list: {values: [{s: 'a'}]}}})]);
  equal(chosen(), ['skip', 3, ['a']]);
  equal(table.choices[2].candidates.length, 4);
});

test('an attempt that goes on keeps the steps that it went on from, and one that begins anew none', () => {
  const all = loaded();
  const start = (attempt, kept, number) => ({
    number,
    time: time(9000),
    model: {
      model: 5,
      attempt,
      trial: 10 + attempt,
      started: {device: {kind: 'CPU', index: 0, node: 'n'}, resumed_steps: kept}
    }
  });
  applyEvents(all, [start(2, 1, '11')]);
  equal(all.curves.get('default').of.get(5).values, [0.25]);
  equal(all.table.steps[4], 1);
  equal(all.table.latest[4], 0.25);
  equal(all.table.incomplete, true);
  applyEvents(all, [start(3, 0, '12')]);
  equal(all.curves.get('default').of.get(5).values, []);
  equal(all.table.latest[4], null);
});

test('late events of an earlier attempt do not count', () => {
  const all = loaded();
  applyEvents(all, [
    {
      number: '11',
      time: time(9000),
      model: {
        model: 5,
        attempt: 2,
        trial: 10,
        started: {device: {kind: 'CPU', index: 0, node: 'n'}, resumed_steps: 0}
      }
    },
    {
      number: '12',
      time: time(9100),
      model: {model: 5, attempt: 1, trial: 9, intermediate: {step: 7, metrics: {values: {default: 9}}}}
    },
  ]);
  equal(all.table.latest[4], null);
  equal(all.curves.get('default').of.get(5).values, []);
});

test('states follow, and the failure of an experiment has the name that documents use', () => {
  const all = loaded();
  applyEvents(all, [{number: '11', time: time(9000), state: {state: 'FAILED', reason: 'the disk'}}]);
  equal([all.table.status, all.table.reason], ['FAILED', 'the disk']);
});

test('a space that becomes known brings choices with their conditions', () => {
  const all = loaded();
  all.table = decodeColumns({
    id: 'x',
    number: 0,
    status: 'RUNNING',
    objectives: [{metric: 'default', goal: 'MAXIMIZE'}],
    model: [1],
    statuses: ['QUEUED'],
    status_of: [0]
  });
  applyEvents(all, [{
                number: '1',
                space: {
                  choices: [
                    {
                      label: 'a',
                      kind: 'VALUE_CHOICE',
                      candidates: [{i: '3'}, {f: 0.5}, {s: 'x'}, {b: true}, {list: {values: [{i: '1'}]}}],
                      n_chosen: 1,
                      active_if: []
                    },
                    {
                      label: 'b',
                      kind: 'REPEAT',
                      candidates: [{i: '1'}],
                      n_chosen: 1,
                      active_if: [{all_of: [{label: 'a', chosen: [0, 2]}]}]
                    }
                  ]
                }
              }]);
  equal(all.table.choices[0].candidates, [3, 0.5, 'x', true, [1]]);
  equal(all.table.choices[1].activeIf, [[{label: 'a', chosen: 0}, {label: 'a', chosen: 2}]]);
  equal(all.table.choices[1].chosen, [null]);
});

test('a choice that the space does not list is told by its value, an old one by a known candidate', () => {
  const all = loaded();
  const outcome = (model, value) => ({
    model,
    attempt: 1,
    outcome: 'SUCCEEDED',
    metrics: {values: {default: 1}},
    sample: {decisions: [{label: 'late', value: [{s: value}]}, {label: 'op', index: [1], value: [{s: 'skip'}]}]}
  });
  applyEvents(all, [{number: '11', outcome: outcome(5, 'x')}, {number: '12', outcome: outcome(3, 'y')}]);
  const late = all.table.choices.find((c) => c.label === 'late');
  equal(late.candidates, ['x', 'y']);
  equal([late.chosen[4], late.chosen[2], late.chosen[0]], [0, 1, null]);
  equal(all.table.choices[0].chosen[4], 1);
  equal(all.table.choices[0].candidates, ['conv', 'skip']);
});

test('an integer beyond 2^53 is the candidate with the same digits', () => {
  const all = loaded();
  all.table.choices[0].candidates = readJson('[9007199254740992, 9007199254740993]');
  applyEvents(all, [{
                number: '11',
                outcome: {
                  model: 5,
                  attempt: 1,
                  outcome: 'SUCCEEDED',
                  sample: {decisions: [{label: 'op', index: [1], value: [{i: '9007199254740993'}]}]}
                }
              }]);
  equal([all.table.choices[0].candidates.length, all.table.choices[0].chosen[4]], [2, 1]);
});

test('times of an attempt that goes on count from the start of the first one', () => {
  const all = loaded();
  all.times.set('default', decodeCurves(curveBytes(new Map())));
  const model = (attempt, at, more) => ({time: time(at), model: {model: 6, attempt, trial: 9, ...more}});
  const report = (step) => ({intermediate: {step, metrics: {values: {default: 1}}}});
  applyEvents(all, [
    {number: '11', ...model(1, 10000, {started: {}})}, {number: '12', ...model(1, 12000, report(0))},
    {number: '13', ...model(2, 20000, {started: {resumed_steps: 1}})}, {number: '14', ...model(2, 23000, report(1))}
  ]);
  equal(all.times.get('default').of.get(6).values, [2, 13]);
  applyEvents(all, [
    {number: '15', ...model(3, 30000, {started: {}})}, {number: '16', ...model(3, 31000, report(0))}
  ]);
  equal(all.times.get('default').of.get(6).values, [1]);
});

test('fields that are left out are at their defaults', () => {
  const all = loaded();
  applyEvents(all, [
    {number: '11', time: time(6000), model: {model: 6, attempt: 1, trial: 10, started: {device: {kind: 'CPU'}}}},
    {number: '12', time: time(6500), model: {model: 6, attempt: 1, trial: 10, intermediate: {metrics: {values: {default: 0}}}}},
    {number: '13', outcome: {model: 6, attempt: 1, outcome: 'STOPPED_EARLY', metrics: {values: {default: 0}}}},
    {state: {state: 'RUNNING'}},
  ]);
  const {table} = all;
  const row = table.rowOf.get(6);
  equal([table.state[row], table.steps[row], table.stoppedStep[row]], ['STOPPED_EARLY', 1, null]);
  equal(table.metrics.get('default')[row], 0);
  equal(Array.from(all.curves.get('default').of.get(6).steps), [0]);
  equal(all.attempts.devices[all.attempts.device[all.attempts.indexOf.get('6/1')]], '/cpu:0');
  equal([table.status, table.reason], ['RUNNING', '']);
});
