import {allColumns, defaultColumns, findColumn, measures} from '../../../src/web/page/columns.js';
import {decodeColumns, readJson} from '../../../src/web/page/decode.js';
import {compileFilter, FilterError, filterRows, quoteForFilter} from '../../../src/web/page/filter.js';
import {joinList, readSort, sortRows, splitList} from '../../../src/web/page/sort.js';

import {check, equal, test, thrown} from './harness.js';
import {sampleDocument, sampleTable} from './sample_table.js';

const table = sampleTable();
const marks = {
  selected: new Set([2]),
  notes: new Map([[1, {star: true, note: 'keep "this"'}]])
};
const columns = allColumns(table, marks);
const kept = (text) => filterRows(5, compileFilter(text, columns)).map((row) => table.model[row]);

for (const [text, models] of [
         ['', [1, 2, 3, 4, 5]],
         ['  ', [1, 2, 3, 4, 5]],
         ['accuracy > 0.85', [1, 4]],
         ['accuracy>0.85', [1, 4]],
         ['metric.accuracy >= 0.9 and op = conv', [1, 4]],
         ['op = skip or kernel = 5', [2, 3, 4]],
         ['op = skip || kernel == 5 && accuracy > 0.9', [2, 4]],
         ['not op = conv', [2, 5]],
         ['op != conv', [2, 5]],
         ['kernel is missing', [2, 5]],
         ['kernel is not missing and kernel < 4', [1]],
         ['default is nan', [4]],
         ['flops is finite', [1, 2]],
         ['flops > 1e6', [4]],
         ['flops = inf', [4]],
         ['default != 0.9', [2, 3, 4, 5]],
         ['inputs = c', [1, 2, 4]],
         ['inputs = a and not inputs = b', [1, 4]],
         ['inputs = "[a, c]"', [1, 4]],
         ['inputs != "[A, c]"', [2, 3, 5]],
         ['inputs in ("[b, c]", "[a, b]")', [2, 3]],
         ['inputs = "[c, a]"', []],
         ['model in (1, 3, 9)', [1, 3]],
         ['model not in (1, 3)', [2, 4, 5]],
         ['status = succeeded', [1, 2, 4]],
         ['status in (failed, RUNNING)', [3, 5]],
         ['reason = out_of_memory', [3]],
         ['message ~ BIG', [3]],
         ['message !~ big', [1, 2, 4, 5]],
         ['selected', [2]],
         ['not selected and status = succeeded', [1, 4]],
         ['star = yes', [1]],
         ['note = \'keep "this"\'', [1]],
         ['note = "keep \\"this\\""', [1]],
         ['duration >= 2s', [1, 2]],
         ['duration < 0.05m', [1, 3, 4]],
         ['start > 1970-01-01T00:00:03.5Z', [4, 5]],
         ['((model = 1) or (model = 2))', [1, 2]],
         ['"op" = "skip"', [2]],
         ['`choice.op` = skip', [2]],
         ['!(op = conv)', [2, 5]],
]) {
  test(`filter: ${text}`, () => equal(kept(text), models));
}

// page_units_test.sh runs this west of UTC.
test('a day, and a time without a zone, are those of the reader', () => {
  const since = (/** @type {number} */ ms) => table.model.filter((_, row) => (table.start[row] ?? -1) >= ms);
  equal(kept('start >= 1970-01-01'), since(new Date(1970, 0, 1).getTime()));
  equal(kept('start >= 1970-01-01T00:00'), kept('start >= 1970-01-01'));
  for (const text of ['1970', '1970-01']) equal(kept(`start >= ${text}`), kept('start >= 1970-01-01'));
});

test('a day, a month or a year is all of it', () => {
  const at = new Date(0);
  const two = (/** @type {number} */ number) => String(number).padStart(2, '0');
  const year = String(at.getFullYear());
  const month = `${year}-${two(at.getMonth() + 1)}`;
  for (const span of [year, month, `${month}-${two(at.getDate())}`]) {
    for (const operator of ['=', '<=', '>=']) equal(kept(`start ${operator} ${span}`), [1, 2, 3, 4, 5]);
    for (const operator of ['!=', '<', '>']) equal(kept(`start ${operator} ${span}`), []);
  }
  equal(kept('start = 1970-01-01T00:00:02Z'), [2]);
  equal(kept('start > 1970-01-01T00:00:02Z'), [3, 4, 5]);
  equal(kept('start <= 1970-01-01T00:00:02Z'), [1, 2]);
});

for (const [text, start, end, words] of [
         ['accurcy > 0.9', 0, 7, 'did you mean accuracy'],
         ['op = skp', 5, 8, 'it has conv, skip'],
         ['op = [conv]', 5, 11, 'it has conv, skip'],
         ['inputs = "[a, d]"', 9, 17, 'it has a, b, c'],
         ['inputs = "[a, b"', 9, 16, 'it has a, b, c'],
         ['accuracy > high', 11, 15, 'is a number'],
         ['accuracy > ', 11, 12, 'expected a value'],
         ['accuracy', 8, 9, 'expected an operator'],
         ['accuracy > 1 op = conv', 13, 15, 'expected "and" or "or"'],
         ['(model = 1', 0, 1, 'not closed'],
         ['model = 1)', 9, 10, 'before ")"'],
         ['op = "skip', 5, 10, 'no end'],
         ['op > conv', 5, 9, 'no numbers'],
         ['model in 3', 9, 10, 'expected "("'],
         ['duration > soon', 11, 15, 'no duration'],
         ['start > soon', 8, 12, 'no time'],
         ['start > 2026-02-31', 8, 18, 'no time'],
         ['start > 2026-02-31T00:00', 8, 24, 'no time'],
         ['start > 2026-13', 8, 15, 'no time'],
         ['default = nan', 10, 13, 'is nan'],
         ['model is odd', 9, 12, 'missing, nan or finite'],
         ['model is constructor', 9, 20, 'missing, nan or finite'],
         ['model is not __proto__', 13, 22, 'missing, nan or finite'],
         ['star > 3', 7, 8, 'yes or no'],
         ['and', 0, 3, 'no column'],
         ['> 3', 0, 1, 'column\'s name'],
         ['model = 1 & model = 2', 10, 11, 'means nothing'],
]) {
  test(`filter error: ${text}`, () => {
    const error = thrown(() => compileFilter(text, columns));
    check(error instanceof FilterError, `a FilterError, not ${error}`);
    equal([error.start, error.end], [start, end]);
    check(error.message.includes(words), error.message);
  });
}

test('filters with deep nesting or of any characters end with an error, not a crash', () => {
  check(thrown(() => compileFilter('('.repeat(100000), columns)) instanceof FilterError, 'parentheses');
  check(thrown(() => compileFilter('not '.repeat(100000), columns)) instanceof FilterError, 'not');
  let state = 1;
  const pieces = [
    '(', ')',  'and', 'or', 'not', 'op', '=',      '<', 'in',    'is', 'missing',
    '"', '\'', ',',   '3',  'NaN', '\\', '\u202e', '≥', 'model', ' '
  ];
  for (let i = 0; i < 3000; ++i) {
    let text = '';
    for (let k = 0; k < 8; ++k)
      text += pieces[(state = state * 1103515245 + 12345 & 0x7fffffff) % pieces.length] + (k % 3 ? ' ' : '');
    try {
      compileFilter(text, columns)(0);
    } catch (error) {
      check(error instanceof FilterError && error.start <= text.length && error.end > error.start, `${text}: ${error}`);
    }
  }
});

test('filters that a generator makes keep what their parts keep; damaged ones work or point to the damage', () => {
  let state = 14;
  /** @param {number} n */
  const draw = (n) => (state = Math.imul(state, 1103515245) + 12345 >>> 0, (state >>> 8) % n);
  const pick = (list) => list[draw(list.length)];
  const names = ['accuracy', 'default', 'model', 'status', 'op', 'choice.op', 'duration', 'star', '"message"'];
  const values = ['0.9', '-3', '1e308', 'skip', 'conv', 'SUCCEEDED', 'NaN', '"a b"', '\'x\'', '`y`'];
  const comparison = () => {
    const name = pick(names);
    switch (draw(5)) {
      case 0:
        return `${name} ${pick(['is', 'is not'])} ${pick(['missing', 'nan', 'finite'])}`;
      case 1:
        return `${name} ${pick(['in', 'not in'])} (${pick(values)}, ${pick(values)})`;
      case 2:
        return `${name} ~ ${pick(values)}`;
      default:
        return `${name} ${pick(['=', '==', '!=', '<', '<=', '>', '>='])} ${pick(values)}`;
    }
  };
  const rows = (text) => new Set(filterRows(5, compileFilter(text, columns)));
  /** A filter of this depth, and the rows that it keeps; null: one of its comparisons means nothing for its column. */
  const make = (depth) => {
    if (depth === 0) {
      const text = comparison();
      try {
        return {text, rows: rows(text)};
      } catch (error) {
        check(error instanceof FilterError, `${text}: ${error}`);
        return null;
      }
    }
    const a = make(depth - 1);
    const b = make(depth - 1);
    if (!a || !b) return a ?? b;
    const all = [0, 1, 2, 3, 4];
    switch (draw(3)) {
      case 0:
        return {text: `${pick(['not', '!'])} (${a.text})`, rows: new Set(all.filter((row) => !a.rows.has(row)))};
      case 1:
        return {
          text: `(${a.text}) ${pick(['and', '&&'])} (${b.text})`,
          rows: new Set(all.filter((row) => a.rows.has(row) && b.rows.has(row)))
        };
      default:
        return {
          text: `(${a.text}) ${pick(['or', '||', 'OR'])} (${b.text})`,
          rows: new Set(all.filter((row) => a.rows.has(row) || b.rows.has(row)))
        };
    }
  };
  let made = 0;
  for (let i = 0; i < 2000; ++i) {
    const filter = make(draw(4));
    if (!filter) continue;
    ++made;
    equal(rows(filter.text), filter.rows);
    const at = draw(filter.text.length);
    const damaged =
        filter.text.slice(0, at) + pick(['', '(', ')', '"', ' ', 'not ', ',', '=']) + filter.text.slice(at + draw(2));
    try {
      compileFilter(damaged, columns)(0);
    } catch (error) {
      check(
          error instanceof FilterError && error.start >= 0 && error.start <= damaged.length && error.end > error.start,
          `${damaged}: ${error}`);
    }
  }
  check(made > 1000, `only ${made} filters mean something`);
});

test('filters of random words and characters end, and with an error of their own that points into the text', () => {
  let state = 20;
  /** @param {number} n */
  const draw = (n) => (state = Math.imul(state, 1664525) + 1013904223 >>> 0, (state >>> 8) % n);
  const pick = (list) => list[draw(list.length)];
  // Among the names and values are those that every object of JavaScript has.
  const inherited = ['constructor', '__proto__', 'hasOwnProperty', 'toString', 'valueOf', 'length'];
  const strange =
      inherited.map((name) => ({...columns.find((c) => c.id === 'choice.op'), id: `choice.${name}`, title: name}));
  const all = [...columns, ...strange];
  const words = [
    ...inherited,
    ...columns.map((c) => c.id),
    'and',
    'or',
    'not',
    'in',
    'is',
    'missing',
    'nan',
    'finite',
    'AND',
    'IN',
    'IS',
    '-inf',
    '1e999',
    '0x10',
    '.',
    '-',
    '2026-13-45',
    '5ms',
    '..s',
    '9'.repeat(400),
    'x'.repeat(70),
    '1e-400s',
    ''
  ];
  const signs =
      ['(', ')', ',', '=', '==', '!=', '<', '<=', '>', '>=', '~', '!~', '!', '&&', '||', '≤', '≥', '≠', '&', '|'];
  const odd =
      ['"', '\'', '`', '\\', '\0', '\n', '\u00a0', '\u202e', '\ud83d', '\ude00', '😀', 'é', 'e\u0301', '%', ';', '$'];
  const word = () => {
    const text = pick(words);
    const quote = pick(['', '', '', '"', '\'', '`']);
    return `${quote}${text}${quote}`;
  };
  /** What a comparison looks like, more or less. */
  const comparison = () => {
    const name = draw(4) === 0 ? word() : `"${pick(all).id}"`;
    switch (draw(4)) {
      case 0:
        return `${name} is ${pick(['', 'not '])}${word()}`;
      case 1:
        return `${name} ${pick(['', 'not '])}in (${Array.from({length: draw(4)}, word).join(pick([',', ', ', ' ']))})`;
      default:
        return `${name} ${pick(signs)} ${word()}`;
    }
  };
  const piece = () => [word, comparison, comparison, () => pick(signs), () => pick(odd)][draw(5)]();
  let right = 0;
  for (let i = 0; i < 20000; ++i) {
    const text = Array.from({length: 1 + draw(4)}, piece).join(pick(['', ' ', ' and ', ' or ']));
    try {
      const filter = compileFilter(text, all);
      ++right;
      equal([0, 1, 2, 3, 4].map((row) => typeof filter(row)), new Array(5).fill('boolean'));
    } catch (error) {
      check(error instanceof FilterError, `${JSON.stringify(text)}: ${error}`);
      // What is missing at the end is missing behind the last character.
      check(
          error.start >= 0 && error.start <= text.length && error.end > error.start && error.end <= text.length + 1,
          `${JSON.stringify(text)}: ${error.start} to ${error.end}`);
      check(error.message !== '', JSON.stringify(text));
    }
  }
  check(right > 300, `only ${right} filters mean something`);
  // As long as a link may be, without a pause that a reader would notice as a hang.
  for (const part of ['model = 1 or ', 'not in (', '((', '"', 'model in (1,', '!', 'a'])
    check(thrown(() => compileFilter(part.repeat(100000), all)) instanceof FilterError, part);
});

test('what is quoted for a filter means itself', () => {
  for (const text of ['skip', 'a b', 'or', 'x"y', 'a\\b', '(', '3']) {
    const quoted = quoteForFilter(text);
    equal(
        filterRows(
            1, compileFilter(`message = ${quoted}`, [{...columns.find((c) => c.id === 'message'), value: () => text}])),
        [0]);
  }
});

test('names are looked for among the model\'s own, metrics, choices', () => {
  equal(findColumn(columns, 'default').id, 'metric.default');
  equal(findColumn(columns, 'op').id, 'choice.op');
  equal(findColumn(columns, 'status').id, 'status');
  equal(findColumn(columns, 'nothing'), null);
  check(defaultColumns(table).every((id) => findColumn(columns, id)), 'all default columns exist');
});

const sorted = (text) =>
    sortRows([0, 1, 2, 3, 4], readSort(text, (id) => findColumn(columns, id))).map((row) => table.model[row]);

test('sorting puts NaN behind numbers and what is missing last, both ways', () => {
  equal(sorted('metric.default'), [2, 1, 4, 3, 5]);
  equal(sorted('-metric.default'), [1, 2, 4, 3, 5]);
});

test('sorting by several columns is stable, and candidates keep the order of the space', () => {
  equal(sorted('choice.op,-model'), [4, 3, 1, 2, 5]);
  equal(sorted('-choice.op,model'), [2, 1, 3, 4, 5]);
  equal(sorted(''), [1, 2, 3, 4, 5]);
  equal(sorted('nothing'), [1, 2, 3, 4, 5]);
});

test('a candidate that is a list is one candidate', () => {
  const document = sampleDocument();
  const candidates = [[3, 3], [1], 'a, b'];
  document.choices = [
    {label: 'shape', candidates, chosen: [1, 0, 2, null, 1]},
    {label: 'shapes', candidates, n_chosen: 2, chosen: [[0, 1], [1, 2], [0, 2], null, [0, 1]]}
  ];
  const lists = allColumns(decodeColumns(document), marks);
  const models = (text) => filterRows(5, compileFilter(text, lists)).map((row) => row + 1);
  equal(models('shape = [1]'), [1, 5]);
  equal(models('shape in ("[3,3]", "a, b")'), [2, 3]);
  equal(models('shape != [1]'), [2, 3, 4]);
  equal(models('shapes = [1]'), [1, 2, 5]);
  equal(models('shapes = "[[3,3], [1]]"'), [1, 5]);
  equal(models('shapes = "[[1], a, b]"'), [2]);
  const order = (id) => sortRows([0, 1, 2, 3, 4], readSort(id, (name) => findColumn(lists, name)));
  equal(order('shape'), [1, 0, 4, 2, 3]);
  equal(order('-shape'), [2, 0, 4, 1, 3]);
  equal(order('shapes'), [0, 4, 2, 1, 3]);
});

test('candidates that differ in capitals only are told apart', () => {
  const document = sampleDocument();
  const candidates = ['relu', 'ReLU', 'tanh'];
  document.choices = [
    {label: 'act', candidates, chosen: [0, 1, 2, null, 1]},
    {label: 'acts', candidates, n_chosen: 2, chosen: [[0, 2], [1, 2], [0, 1], null, [1, 2]]}
  ];
  const choices = allColumns(decodeColumns(document), marks);
  const models = (text) => filterRows(5, compileFilter(text, choices)).map((row) => row + 1);
  equal(models('act = relu'), [1]);
  equal(models('act in (ReLU)'), [2, 5]);
  equal(models('act != ReLU'), [1, 3, 4]);
  equal(models('acts = ReLU'), [2, 3, 5]);
  equal(models('acts = "[relu, tanh]"'), [1]);
  equal(models('acts = "[ReLU, tanh]"'), [2, 5]);
  // What no candidate is spelled like means all that it may mean.
  equal(models('act = RELU'), [1, 2, 5]);
  equal(models('act = Tanh'), [3]);
  equal(models('acts = "[RELU, tanh]"'), [1, 2, 5]);
});

test('integers beyond 2^53 are told apart, and are numbers', () => {
  const document = readJson(JSON.stringify(sampleDocument())
                                .replace('"candidates":[3,5]', '"candidates":[9007199254740993,9007199254740992]'));
  const columns = allColumns(decodeColumns(document), marks);
  const models = (text) => filterRows(5, compileFilter(text, columns)).map((row) => row + 1);
  const kernel = findColumn(columns, 'kernel');
  equal([0, 2].map((row) => kernel.text(row)), ['9007199254740993', '9007199254740992']);
  equal(models('kernel = 9007199254740993'), [1]);
  equal(models(`kernel = ${quoteForFilter(kernel.candidates[1])}`), [3, 4]);
  equal(models('kernel > 5'), [1, 3, 4]);
});

test('lists in addresses keep commas and backslashes of names', () => {
  for (const list of [['a', 'b'], ['a,b', 'c\\'], [], ['-metric.x,y']]) equal(splitList(joinList(list)), list);
});

test('many rows are filtered and sorted', () => {
  const big = {...columns.find((c) => c.id === 'metric.accuracy'), value: (row) => (row * 7919) % 6000};
  const result = sortRows(filterRows(6000, compileFilter('accuracy > 3000', [big])), [{column: big, descending: true}]);
  equal(result.length, 2999);
  equal(big.value(result[0]), 5999);
});

test('what models cost has columns once it is known, and then a name means them', () => {
  equal(findColumn(columns, 'flops').id, 'metric.flops');
  const built = {...table, params: [10, null, 30, null, null], flops: [7, null, null, null, null]};
  const known = allColumns(built, marks);
  equal(findColumn(known, 'flops').id, 'flops');
  equal(findColumn(known, 'params').text(2), '30');
  equal(filterRows(5, compileFilter('params > 10', known)).map((row) => table.model[row]), [3]);
  equal(filterRows(5, compileFilter('metric.flops = 50', known)).map((row) => table.model[row]), [2]);
  const ids = (of, objectives) =>
      measures(allColumns(of, marks), {...of, objectives}).map((c) => c.id.replace('metric.', 'm.'));
  equal(ids(table, []), ['m.default', 'm.accuracy', 'm.flops', 'duration']);
  // The metric says something else, or of models whose costs nobody recorded.
  equal(ids(built, []), ['m.default', 'm.accuracy', 'm.flops', 'duration', 'params', 'flops']);
  const same = {...built, flops: table.metrics.get('flops')};
  equal(ids(same, []), ['m.default', 'm.accuracy', 'duration', 'params', 'flops']);
  // An objective is the metric.
  equal(ids(same, table.objectives), ['m.default', 'm.accuracy', 'm.flops', 'duration', 'params', 'flops']);
});
