import {leaseText, nodeLines} from '../../../src/web/page/nodes.js';

import {equal, test} from './harness.js';

const node = (more) => ({
  name: 'n-1', state: 'JOINED', devices: 2, busy: 0, trials: [], program: 'p', other_program: false, since: null, version: '1',
  because: '', data: [], labels: {}, ...more
});

test('a node says what it runs, the trials of the shown experiment first', () => {
  const [line] = nodeLines({nodes: [node({
                             busy: 2,
                             since: '2026-01-31T12:00:00.000Z',
                             trials: [
                               {experiment: 'other', trial: 9, models: [1]}, {experiment: 'mine', trial: 4, models: [7]},
                               {experiment: 'mine', trial: 5, models: [1, 2, 3, 4, 5, 6, 7]}
                             ]
                           })]},
                           'mine');
  equal(line.trials, 'trial 4 (model 7), trial 5 (models 1, 2, 3, 4, 5, 6 …), trial 9 of other');
  equal([line.busy, line.since, line.about], ['2 of 2', Date.UTC(2026, 0, 31, 12), '']);
});

test('a node without work, one that is to come, and names that are no names', () => {
  const lines = nodeLines({nodes: [
                            node({}), node({name: 'job\u202e 3', state: 'COMING', because: 'waits in the\nqueue', devices: 1}),
                            node({other_program: true, data: ['mnist'], labels: {zone: 'a'}})
                          ]},
                          'mine');
  equal(lines[0].trials, '–');
  equal([lines[1].name, lines[1].about, lines[1].busy], ['job\ufffd 3', 'waits in the queue', '0 of 1']);
  equal(lines[2].about, 'has another trial program than the head; data: mnist; zone=a');
});

test('many trials of a node are counted', () => {
  const trials = Array.from({length: 8}, (_, i) => ({experiment: 'x', trial: i + 1, models: [i]}));
  equal(nodeLines({nodes: [node({trials})]}, 'mine')[0].trials.endsWith('trial 6 of x, and 2 more'), true);
});

test('a slot names the trial that holds it', () => {
  const bar = (trial, device, models, end) => ({trial, device, models, start: 1, end, outcome: null});
  const bars = [bar(1, 0, [1], 5), bar(2, 0, [2], null), bar(3, 1, [3, 4], null), bar(4, 2, [5], 9)];
  equal([0, 1, 2, 3].map((device) => leaseText(bars, device)), ['trial 2, model 2', 'trial 3, 2 models', '', '']);
});
