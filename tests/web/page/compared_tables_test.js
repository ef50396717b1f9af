import {ComparedTables} from '../../../src/web/page/compared_tables.js';

import {equal, test} from './harness.js';

const listOf = (/** @type {number} */ total, status = 'RUNNING') => [{id: 'a', status, models: {total}}];

test('a compared experiment is loaded again when it has moved on, and only then', async () => {
  let loads = 0;
  const tables = new ComparedTables(async () => /** @type {any} */ ({load: ++loads}), () => {});
  await tables.update('a', null);
  equal(loads, 0);
  for (const [list, expected] of [
           [listOf(3), 1], [listOf(3), 1], [listOf(4), 2], [listOf(4, 'DONE'), 3], [listOf(4, 'DONE'), 3]]) {
    await tables.update('a', /** @type {any[]} */ (list));
    equal([loads, tables.get('a')], [expected, {load: expected}]);
  }
});

test('a compared experiment that could not be loaded is tried again with the next list', async () => {
  let loads = 0;
  let told = 0;
  let broken = true;
  const tables = new ComparedTables(async () => {
    ++loads;
    if (broken) throw new Error('the head restarts');
    return /** @type {any} */ ({});
  }, () => ++told);
  const list = listOf(3, 'DONE');
  await tables.update('a', list);
  await tables.update('a', list);
  equal([loads, told, tables.failed('a')], [1, 1, true]);
  broken = false;
  await tables.update('a', listOf(3, 'DONE'));
  equal([loads, told, tables.failed('a')], [2, 2, false]);
  // A table that is there stays while a newer one cannot be loaded.
  broken = true;
  await tables.update('a', listOf(4));
  equal([tables.failed('a'), tables.get('a')], [false, {}]);
});

test('a table that is on its way is not asked for twice', async () => {
  let loads = 0;
  let go = () => {};
  const tables = new ComparedTables(() => {
    ++loads;
    return new Promise((resolve) => {
      go = () => resolve(/** @type {any} */ ({}));
    });
  }, () => {});
  const first = tables.update('a', listOf(1));
  await tables.update('a', listOf(2));
  equal(loads, 1);
  go();
  await first;
  tables.update('a', listOf(2));
  equal(loads, 2);
});
