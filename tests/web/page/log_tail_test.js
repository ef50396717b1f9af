import {LogTail} from '../../../src/web/page/log_tail.js';

import {equal, test} from './harness.js';

const MIB = 1 << 20;

/** Answers one request as the server does. */
function read(tail, log, attempt = 1) {
  const query = new URLSearchParams(tail.query());
  const offset = Number(query.get('offset'));
  const bytes = new TextEncoder().encode(log.slice(offset, offset + Number(query.get('limit'))));
  return tail.take(attempt, log.length, bytes.buffer);
}

test('of a long log its end is read, and then what comes', () => {
  const tail = new LogTail();
  let log = 'a'.repeat(MIB) + 'b'.repeat(1000);
  equal(read(tail, log), true);
  equal(read(tail, log), false);
  equal(
      [tail.attempt, tail.size, tail.text.length, tail.text.slice(-1001)],
      [1, log.length, MIB / 4, `a${'b'.repeat(1000)}`]);
  equal(read(tail, log), false);
  log += 'c';
  equal(read(tail, log), false);
  equal(tail.text.slice(-2), 'bc');
});

test('all that was printed since the last time is read, however much it is', () => {
  const tail = new LogTail();
  read(tail, 'begin');
  read(tail, 'begin');
  const log = `begin${'x'.repeat(3 * MIB)}end`;
  let reads = 1;
  while (read(tail, log)) ++reads;
  equal([reads, tail.offset, tail.text.slice(-4)], [4, log.length, 'xend']);
});

test('a log that was cut is read from its end', () => {
  const tail = new LogTail();
  const long = 'x'.repeat(2 * MIB);
  while (read(tail, long)) continue;
  const cut = `${'y'.repeat(MIB)}z`;
  equal(read(tail, cut), true);
  equal(read(tail, cut), false);
  equal([tail.offset, tail.text.length, tail.text.slice(-2)], [cut.length, MIB / 4, 'yz']);
});

test('an empty log, and the log of another attempt', () => {
  const tail = new LogTail();
  equal([read(tail, ''), read(tail, ''), tail.text], [false, false, '']);
  read(tail, 'one');
  tail.restart();
  read(tail, 'two', 2);
  read(tail, 'two', 2);
  equal([tail.attempt, tail.text], [2, 'two']);
});

test('the log of an earlier attempt is asked for by its number', () => {
  const tail = new LogTail(1);
  equal(tail.query(), 'attempt=1&offset=0&limit=0');
  read(tail, 'one');
  tail.restart();
  equal([new LogTail().query(), tail.query()], ['attempt=0&offset=0&limit=0', 'attempt=1&offset=0&limit=0']);
});
