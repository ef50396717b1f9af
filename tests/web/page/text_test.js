import {csvCell, fileName, toCsv, toJson} from '../../../src/web/page/exports.js';
import {asReported, cleanText, counted, formatAge, formatBytes, formatCount, formatDuration, formatNumber, formatUtc, oneLine, timeParts, valueText, zoneText} from '../../../src/web/page/format.js';
import {contrast, SERIES, STATUS, THEME} from '../../../src/web/page/palette.js';

import {check, equal, test} from './harness.js';

test('numbers', () => {
  equal(
      [0, 1234567, -1234, 0.123456, 1e-9, -1e-9, 1.5e12, 1e308, NaN, Infinity, -Infinity, null, undefined, 2.5e-5].map(
          (v) => formatNumber(v)),
      [
        '0', '1,234,567', '−1,234', '0.1235', '1.000e−9', '−1.000e−9', '1,500,000,000,000', '1.000e308', 'NaN', '∞', '−∞', '–', '–',
        '2.500e−5'
      ]);
  equal([null, 12, 12345, 1234567, 3e9].map(formatCount), ['?', '12', '12.3 k', '1.23 M', '3 G']);
  equal([0, 1023, 1536, 3 << 20].map(formatBytes), ['0 B', '1023 B', '1.5 KiB', '3 MiB']);
  equal(counted(1, 'model') + counted(2, 'model'), '1 model2 models');
});

test('durations', () => {
  equal(
      [0.0123, 59.94, 60, 3599.7, 3600, 86399, 90000, null, Infinity, -5].map(formatDuration),
      ['12 ms', '59.9 s', '1 min 00 s', '1 h 00 min', '1 h 00 min', '1 d 0 h', '1 d 1 h', '–', '∞', '−5 s']);
  equal(formatAge(0, 3 * 60000 + 12000), '3 min ago');
  equal(formatUtc(0), '1970-01-01 00:00:00 UTC');
  // The day only where it is another one; nothing where people live by UTC.
  equal(
      ['1970-01-01 02:00:00', '1969-12-31 19:00:00', '1970-01-01 00:00:00'].map((local) => timeParts(0, local)),
      [
        ['1970-01-01 02:00:00', '00:00:00 UTC'], ['1969-12-31 19:00:00', '1970-01-01 00:00:00 UTC'],
        ['1970-01-01 00:00:00 UTC', '']
      ]);
  equal([zoneText(0, 0), zoneText(0, -330), zoneText(0, 210)], ['UTC', 'UTC+05:30', 'UTC−03:30']);
});

test('text from outside: markup stays text, ANSI goes, controls and directions become visible', () => {
  equal(cleanText('\u001b[31mred\u001b[0m <b>x</b>'), 'red <b>x</b>');
  equal(cleanText('a\u0000b\u0007\u007f'), 'a␀b␇␡');
  equal(cleanText('x\u202eevil\u2066'), 'x\ufffdevil\ufffd');
  equal(cleanText('a\u061cb\u2028c\u2029'), 'a\ufffdb\ufffdc\ufffd');
  equal(cleanText('\u001b]0;title\u0007text\r\nmore'), 'text\nmore');
  equal(oneLine('a\nb\tc'), 'a b c');
  const long = cleanText('y'.repeat(1 << 20), 100);
  check(long.length < 150 && long.endsWith('more characters)'), 'clipped');
  equal(valueText([1, 'a']), '[1,"a"]');
});

test('cells of CSV that start a formula are defused, numbers are not', () => {
  equal(
      ['=1+1', '+x', '-x', '@x', '\t=1', ' =1', '|x', '%x'].map(csvCell),
      ['\'=1+1', '\'+x', '\'-x', '\'@x', '\'\t=1', '\' =1', '\'|x', '\'%x']);
  equal(
      ['-1.5e3', '+2', -3, 'a,b', 'a"b', 'a\nb', null, [1, 2]].map(csvCell),
      ['-1.5e3', '+2', '-3', '"a,b"', '"a""b"', '"a\nb"', '', '"[1,2]"']);
  equal(toCsv(['a', '=b'], [[1, 'x']]), 'a,\'=b\r\n1,x\r\n');
});

test('JSON keeps what it has no number for as text', () => {
  equal(JSON.parse(toJson(['a', 'b'], [[NaN, -Infinity], [null, 1]])), [{a: 'NaN', b: '-Infinity'}, {a: null, b: 1}]);
  // A metric and a choice of one name.
  equal(JSON.parse(toJson(['a', 'a (2)', 'a'], [[1, 2, 3]])), [{a: 1, 'a (2)': 2, 'a (3)': 3}]);
  equal(fileName('../a b:c'), '_a_b_c');
});

test('text has a contrast of 4.5, lines and marks of 3, in both themes', () => {
  for (const name of ['light', 'dark']) {
    const theme = THEME[name];
    for (const back of [theme.page, theme.card]) {
      for (const text
               of [theme.text, theme.muted, theme.accent, theme.mark, ...Object.values(STATUS).map((s) => s[name])])
        check(contrast(text, back) >= 4.5, `${name}: ${text} on ${back} is ${contrast(text, back)}`);
    }
    for (const line of [...SERIES[name], theme.faint])
      check(contrast(line, theme.card) >= 3, `${name}: line ${line} is ${contrast(line, theme.card)}`);
  }
  equal(Math.round(contrast('#000000', '#ffffff')), 21);
});

test('a float32 is written as the number that was reported', () => {
  for (const value of [0.9, 0.1, 1 / 3, 123456.79, 1e-30, 16777216, 0, -2.5, 0.8472222222222222]) {
    const written = asReported(Math.fround(value));
    equal(Math.fround(written), Math.fround(value));
    check(String(written).length <= 14, String(written));
  }
  equal(asReported(Math.fround(0.9)), 0.9);
  equal(asReported(16777216), 16777216);
  // Beyond float32 a number comes as it is.
  equal(asReported(0.8472222222222222), 0.8472222222222222);
  equal(asReported(1e300), 1e300);
  check(Number.isNaN(asReported(NaN)));
  equal(asReported(-Infinity), -Infinity);
});
