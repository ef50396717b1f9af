import {EventStreamReader} from '../../../src/web/page/sse.js';

import {check, equal, test, thrown} from './harness.js';

const text =
    ': hello\nid: 7\nevent: facts\ndata: {"events":\ndata: []}\n\nevent: ended\r\ndata: {}\r\n\r\n: tick\n\ndata:x\n\n';
const expected = [
  {id: '7', event: 'facts', data: '{"events":\n[]}'}, {id: '7', event: 'ended', data: '{}'},
  {id: '7', event: 'message', data: 'x'}
];

test('a stream is read whole', () => equal(new EventStreamReader().push(text), expected));

test('a stream is the same wherever it is cut', () => {
  for (let size = 1; size < 9; ++size) {
    const reader = new EventStreamReader();
    const messages = [];
    for (let at = 0; at < text.length; at += size) messages.push(...reader.push(text.slice(at, at + size)));
    equal(messages, expected);
  }
});

test('a line without end is refused at last', () => {
  const reader = new EventStreamReader();
  const block = 'x'.repeat(1 << 20);
  check(
      /too long/.test(thrown(() => {
                        for (let i = 0; i < 20; ++i) reader.push(block);
                      }).message),
      'a limit');
});
