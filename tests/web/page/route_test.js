import {otherView, readRoute, readSelection, writeRoute, writeSelection} from '../../../src/web/page/route.js';

import {equal, test} from './harness.js';

test('addresses come back as they were', () => {
  for (const hash
           of ['#/', '#/e/a-1/models?f=accuracy+%3E+0.9+and+op+%3D+%22a%26b%22&s=-metric.x%2Cmodel&sel=1%2C3-5',
               '#/e/a%2Fb/model/7', '#/e/x/graph/12?m=loss']) {
    equal(writeRoute(readRoute(hash)), hash);
  }
});

test('addresses that mean nothing lead somewhere', () => {
  equal(readRoute('').view, 'experiments');
  equal(readRoute('#/nonsense/%E0%A4%A').view, 'experiments');
  equal(readRoute('#/e/x/nonsense').view, 'overview');
  equal(readRoute('#/e/x/model/-3').view, 'overview');
  equal(readRoute('#/e/x/model/1e99x').model, null);
});

test('filter, sort, columns and selection go along to other views, what a view keeps does not', () => {
  const route = readRoute('#/e/x/curves?f=a&s=b&c=d&sel=4&log=1&z=1,2,3,4');
  equal(otherView(route, 'choices').params, {f: 'a', s: 'b', c: 'd', sel: '4'});
  equal(writeRoute(otherView(route, 'model', 4)).startsWith('#/e/x/model/4?'), true);
});

test('selections are short in addresses', () => {
  equal(writeSelection(new Set([1, 2, 3, 9])), '1-3,9');
  // In the order of the clicks, which decides on colours and sides.
  equal([...readSelection(writeSelection(new Set([3, 1, 2, 9, 8])))], [3, 1, 2, 9, 8]);
  equal([...readSelection('1-3,9,x,-5,4-')], [1, 2, 3, 9]);
  equal(readSelection('1-999999999').size, 100001);
});
