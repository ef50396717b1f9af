import {goalOf, ParetoChart} from '../../../src/web/page/pareto_chart.js';

import {check, equal, test} from './harness.js';

test('a column is better as the reader says, else as the objective says, else as its name suggests', () => {
  const objectives = [{metric: 'loss', goal: 'MAXIMIZE'}];
  equal(
      [['MINIMIZE', 'metric.loss'], ['', 'metric.loss'], ['nonsense', 'metric.loss'], ['', 'duration'], ['', 'params'],
       ['', 'metric.recall'], ['MINIMIZE', 'metric.recall'], ['', undefined]].map(([chosen, id]) => goalOf(chosen, id, objectives)),
      ['MINIMIZE', 'MAXIMIZE', 'MAXIMIZE', 'MINIMIZE', 'MINIMIZE', 'MAXIMIZE', 'MINIMIZE', 'MAXIMIZE']);
});

test('the sentence below a Pareto front says which way its columns are better', () => {
  const drawn = {
    x: {title: 'recall'}, y: {title: 'churn'}, goalX: 'MAXIMIZE', goalY: 'MINIMIZE', rows: [0, 1, 2], front: new Set([1])
  };
  const sentence = ParetoChart.prototype.sentence.call({drawn});
  check(
      sentence.startsWith('1 model of 3 that no other beats in churn (less is better) and recall (more is better)'),
      sentence);
});
