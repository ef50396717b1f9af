import {bestValue, experimentsTable, nextSort, shownExperiments} from '../../../src/web/page/experiments_list.js';

import {equal, test} from './harness.js';

const one = (id, name, status, seconds, best, more = {}) => ({
  id, name, status, seconds, reason: '', created: `2026-01-0${id.slice(-1)}T00:00:00.000Z`,
  objectives: [{metric: 'accuracy', goal: 'MAXIMIZE'}],
  best: best === null ? [] : [{model: 4, default: 0, metrics: {accuracy: best}}],
  models: {total: 5, unfinished: 1, failed: 2}, ...more
});
const LIST = [
  one('a-1', 'Digits', 'DONE', 30, 0.5), one('b-2', 'faces', 'RUNNING', 10, null), one('c-3', 'digits', 'STOPPED_EARLY', 20, 0.7),
  {id: 'x-4', name: null, status: 'UNREADABLE', reason: 'journal.db is damaged', best: [], objectives: []}
];
const ids = (text, sort) => shownExperiments(LIST, text, sort).map(({id}) => id);

test('experiments are listed the newest first, or in the order that was asked for', () => {
  equal(ids('', ''), ['x-4', 'c-3', 'b-2', 'a-1']);
  equal(ids('', 'took'), ['b-2', 'c-3', 'a-1', 'x-4']);
  equal(ids('', '-took'), ['a-1', 'c-3', 'b-2', 'x-4']);
  equal(ids('', '-best'), ['c-3', 'a-1', 'x-4', 'b-2']);
  equal(ids('', 'name'), ['c-3', 'a-1', 'b-2', 'x-4']);
  equal(ids('', 'constructor'), ['x-4', 'c-3', 'b-2', 'a-1']);
  equal(LIST.map(({id}) => id), ['a-1', 'b-2', 'c-3', 'x-4']);
});

test('all words of the filter must be there', () => {
  equal(ids('digits', ''), ['c-3', 'a-1']);
  equal(ids('  DIGITS stopped early ', ''), ['c-3']);
  equal(ids('damaged', ''), ['x-4']);
  equal(ids('nothing', ''), []);
});

test('a title is clicked up, down, and away', () => {
  equal([nextSort('', 'took'), nextSort('took', 'took'), nextSort('-took', 'took'), nextSort('-took', 'name')],
        ['took', '-took', null, 'name']);
});

test('the list as a file has what is known', () => {
  equal(bestValue(LIST[0]), 0.5);
  const {header, rows} = experimentsTable(LIST);
  equal(rows.map((row) => row.length), rows.map(() => header.length));
  equal(rows[0].slice(0, 7), ['a-1', 'Digits', 'DONE', 4, 2, 0.5, 4]);
  equal(rows[3], ['x-4', null, 'UNREADABLE', null, null, null, null, null, null, 'journal.db is damaged']);
});
