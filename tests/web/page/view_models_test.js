import {ModelsView} from '../../../src/web/page/view_models.js';

import {equal, test} from './harness.js';
import {sampleTable} from './sample_table.js';

test('Shift selects from the model that was clicked, wherever it is sorted to meanwhile', () => {
  const store = {
    current: {table: sampleTable()},
    selected: new Set(),
    select(/** @type {Iterable<number>} */ models) {
      this.selected = new Set(models);
    }
  };
  const view = Object.assign(Object.create(ModelsView.prototype), {store, rows: [0, 1, 2, 3, 4], anchor: -1});
  const click = (/** @type {number} */ row, shiftKey = false) => view.selectRow(row, {shiftKey, ctrlKey: false});
  click(1);
  equal([...store.selected], [2]);
  view.rows = [4, 3, 0, 2, 1];
  click(2, true);
  equal([...store.selected].sort(), [1, 2, 3]);
  // Where the filter hides it, the click selects as any other.
  view.anchor = 2;
  view.rows = [4, 3, 0];
  click(1, true);
  equal([...store.selected], [4]);
});
