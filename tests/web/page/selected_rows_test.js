import {SelectedRows} from '../../../src/web/page/selected_rows.js';

import {equal, test} from './harness.js';
import {sampleTable} from './sample_table.js';

test('what depends on the selection is computed again when that changes, and nothing else is', () => {
  const current = /** @type {any} */ ({table: sampleTable(), notes: new Map()});
  const rows = new SelectedRows();
  /** What a new selection makes of the column "Selected", and whether it is a new answer. */
  const after = (/** @type {Record<string, string>} */ params) => {
    const before = rows.of(current, params, new Set([2]));
    const now = rows.of(current, params, new Set([1, 3]));
    const column = now.columns.find(({id}) => id === 'selected');
    return [[0, 1, 2].map((row) => column?.value(row)), now !== before];
  };
  for (const params of [{c: 'model,selected'}, {f: 'not selected'}, {s: '-selected'}])
    equal(after(params), [[true, false, true], true]);
  equal(after({c: 'model,status', f: 'model < 3'})[1], false);
});
