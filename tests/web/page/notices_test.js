// When views are told of changes: with a clock that the test turns.

import {Notices} from '../../../src/web/page/notices.js';

import {check, equal, test} from './harness.js';

/** Frames come every 10 ms, while the page is seen. What is drawn takes the time that it spends. */
class FakeClock {
  constructor() {
    this.time = 1000;
    this.seen = true;
    /** @type {{at: number, run: () => void}[]} */
    this.timers = [];
    /** @type {(() => void)[]} */
    this.frames = [];
    /** @type {(() => void)[]} */
    this.paints = [];
    /** What happens when a frame is drawn and not yet painted. */
    this.drawn = () => {};
    /** What the browser takes to paint a frame, ms. */
    this.paintCost = 0;
  }

  now() {
    return this.time;
  }

  later(run, ms) {
    this.timers.push({at: this.time + ms, run});
  }

  frame(run) {
    this.frames.push(run);
  }

  painted(run) {
    this.paints.push(run);
  }

  /** So many ms go by, and all that is due happens. */
  pass(ms) {
    for (const end = this.time + ms; this.time < end;) {
      for (const timer of this.timers.filter(({at}) => at <= this.time)) {
        this.timers.splice(this.timers.indexOf(timer), 1);
        timer.run();
      }
      if (this.seen && this.frames.length > 0) {
        for (const run of this.frames.splice(0)) run();
        this.drawn();
        this.time += this.paintCost;
        for (const run of this.paints.splice(0)) run();
      }
      this.time += 10;
    }
  }
}

/** Notices of which a view needs so many ms for an update and for a glance. */
function watched(updateCost, glanceCost) {
  const clock = new FakeClock();
  const notices = new Notices(clock);
  const told = {updates: [], glances: 0, cost: 0};
  notices.subscribe(
      (changes) => {
        told.updates.push([...changes].sort());
        told.cost += updateCost;
        clock.time += updateCost;
      },
      () => {
        ++told.glances;
        told.cost += glanceCost;
        clock.time += glanceCost;
      });
  return {clock, notices, told};
}

/** Events come every 50 ms, for so long. */
function follow({clock, notices}, ms) {
  for (const end = clock.time + ms; clock.time < end;) {
    notices.tell('table', true);
    clock.pass(50);
  }
}

test('an event is shown in the next frame where that is cheap', () => {
  const {clock, notices, told} = watched(1, 1);
  for (let i = 0; i < 5; ++i) {
    notices.tell('table', true);
    notices.tell('table', true);
    clock.pass(10);
    equal([told.updates.length, told.glances], [i + 1, 0]);
    clock.pass(500);
  }
  equal(told.updates[0], ['table']);
});

test('where a view is dear, events take a hundredth of the time, and a glance shows them meanwhile', () => {
  const view = watched(40, 2);
  follow(view, 20000);
  const {told} = view;
  check(told.updates.length >= 5, `${told.updates.length} updates`);
  check(told.cost - 2 * told.glances <= 240, `updates take ${told.cost - 2 * told.glances} of 20000 ms`);
  check(told.glances >= 75 && told.glances <= 140, `${told.glances} glances`);
});

test('a glance that is dear takes a twentieth of the time', () => {
  const view = watched(100, 60);
  follow(view, 20000);
  const {glances} = view.told;
  check(glances >= 10 && 60 * glances <= 1200, `${glances} glances`);
});

test('what the browser takes to paint counts', () => {
  const cheap = watched(2, 1);
  const dear = watched(2, 1);
  dear.clock.paintCost = 30;
  follow(cheap, 10000);
  follow(dear, 10000);
  check(dear.told.updates.length < cheap.told.updates.length / 2, `${dear.told.updates.length} updates`);
});

test('an event that comes between drawing and painting waits as any other', () => {
  const {clock, notices, told} = watched(40, 1);
  clock.drawn = () => notices.tell('table', true);
  notices.tell('table', true);
  clock.pass(100);
  equal(told.updates.length, 1);
  clock.pass(15000);
  check(told.updates.length >= 3 && told.updates.length <= 5, `${told.updates.length} updates`);
  check(told.glances <= 120, `${told.glances} glances`);
});

test('an event that comes while a dear view is drawn is seen in the next frame', () => {
  const {clock, notices, told} = watched(300, 1);
  notices.tell('table', true);
  clock.drawn = () => {
    clock.drawn = () => {};
    notices.tell('table', true);
  };
  clock.pass(10);
  equal([told.updates.length, told.glances], [1, 0]);
  clock.pass(20);
  equal([told.updates.length, told.glances], [1, 1]);
});

test('nobody waits for longer than ten seconds', () => {
  const view = watched(500, 1);
  follow(view, 60000);
  check(view.told.updates.length >= 6, `${view.told.updates.length} updates`);
});

test('what the reader does is shown at once, with all that waits', () => {
  const view = watched(100, 1);
  const {clock, notices, told} = view;
  follow(view, 300);
  const before = told.updates.length;
  notices.tell('table', true);
  notices.tell('selection');
  notices.tell('params');
  clock.pass(10);
  equal(told.updates.slice(before), [['params', 'selection', 'table']]);
  // There is nothing left that a glance could show.
  const {glances} = told;
  clock.pass(5000);
  equal([told.updates.length, told.glances], [before + 1, glances]);
});

test('nothing is drawn for events while nobody sees the page, and all of it once somebody does', () => {
  const view = watched(5, 1);
  const {clock, told} = view;
  clock.seen = false;
  follow(view, 5000);
  equal([told.updates.length, told.glances], [0, 0]);
  clock.seen = true;
  clock.pass(20);
  equal([told.updates, told.glances], [[['table']], 0]);
});
