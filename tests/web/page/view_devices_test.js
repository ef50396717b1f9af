import {DevicesView} from '../../../src/web/page/view_devices.js';

import {equal, test} from './harness.js';

test('the clock waits for its time as events do, and stands when nothing runs', () => {
  /** @type {any[]} */
  const told = [];
  const store = {
    current: {table: {status: 'RUNNING'}, attempts: {}},
    changed: (/** @type {any[]} */...what) => told.push(what),
  };
  const view = Object.assign(Object.create(DevicesView.prototype), {store});
  view.tick();
  equal(told, [['clock', true]]);
  store.current.table.status = 'DONE';
  view.tick();
  store.current = /** @type {any} */ ({table: {status: 'RUNNING'}, attempts: null});
  view.tick();
  store.current = /** @type {any} */ (null);
  view.tick();
  equal(told.length, 1);
});
