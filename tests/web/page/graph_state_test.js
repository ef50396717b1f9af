import {keptOfOthers, readOpen, readZoom, writeOpen, writeZoom} from '../../../src/web/page/graph_state.js';

import {equal, test} from './harness.js';

const CELLS = ['a', 'a.b', 'c, d'];

test('open cells come back as they were', () => {
  const initial = new Set(['a']);
  for (const open of [[], ['a'], ['a.b'], ['a', 'c, d'], CELLS]) {
    equal([...readOpen(writeOpen(new Set(open), CELLS, initial) ?? '', CELLS, initial)].sort(), open);
  }
  equal(writeOpen(new Set(['a']), CELLS, initial), null);
  equal([writeOpen(new Set(), CELLS, initial), writeOpen(new Set(CELLS), CELLS, initial)], ['none', 'all']);
});

test('cells of another graph are left out', () => {
  equal([...readOpen('a,x,__proto__', CELLS, new Set())], ['a']);
});

test('a zoom comes back, and one that is none does not', () => {
  equal(readZoom(writeZoom({x: 10.4, y: -3.6, k: 0.51234})), {x: 10, y: -4, k: 0.512});
  equal(['', '1,2', '1,2,3,4', 'a,b,c', '1,2,0', '1,2,NaN', '1,2,99'].map(readZoom), [null, null, null, null, null, null, null]);
});

test('what is kept of a model goes when another one takes its side', () => {
  equal(keptOfOthers(null, [3, 7]), {});
  equal(keptOfOthers([3, 7], [3, 7]), {});
  equal(keptOfOthers([3, 7], [3, 9]), {or: null, zr: null});
  equal(keptOfOthers([3, 7], [7, 9]), {ol: null, zl: null, or: null, zr: null});
  equal(keptOfOthers([3, 7], []), {ol: null, zl: null, or: null, zr: null});
});
