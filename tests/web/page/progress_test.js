import {progressText} from '../../../src/web/page/view_experiments.js';

import {equal, test} from './harness.js';

test('the words of a progress bar count each of its parts', () => {
  const models = {total: 2000, succeeded: 1500, stopped_early: 3, failed: 2, infeasible: 4, canceled: 1, unfinished: 490};
  const parts = '1,500 succeeded, 3 stopped early, 2 failed, 5 infeasible or canceled, 490 unfinished';
  equal(progressText(models), `1,510 models ended, ${parts}`);
  // Infeasible models do not count towards a limit.
  equal(progressText(models, 3000), `1,506 of 3,000 models ended, ${parts}`);
  equal(
      progressText({total: 0, succeeded: 0, stopped_early: 0, failed: 0, infeasible: 0, canceled: 0, unfinished: 0}),
      '0 models ended');
});
