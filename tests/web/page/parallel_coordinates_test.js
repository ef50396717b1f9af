import {ParallelCoordinates} from '../../../src/web/page/parallel_coordinates.js';

import {equal, test} from './harness.js';

/** What D3 has of an axis: where its brush was put, and who is told of drags. */
class FakePlace {
  constructor() {
    /** @type {any[]} */
    this.moves = [];
    /** @type {Record<string, () => void>} */
    this.listeners = {};
    this.brush = Object.assign(() => {}, {
      move: (/** @type {any} */ _, /** @type {any} */ area) => this.moves.push(area),
      on: (/** @type {string} */ type, /** @type {() => void} */ listener) => {
        this.listeners[type] = listener;
        return this.brush;
      }
    });
  }

  call(/** @type {any} */ run, /** @type {any[]} */...more) {
    run(this, ...more);
  }
}

/** What D3 has of an axis and its handle: where they were put, and who is told of drags. */
class FakeGroup {
  constructor() {
    /** @type {Record<string, any>} */
    this.attributes = {};
    /** @type {Record<string, () => void>} */
    this.listeners = {};
    /** How often the handle was given a drag. */
    this.drags = 0;
    this.drag = {
      on: (/** @type {string} */ type, /** @type {() => void} */ listener) => {
        this.listeners[type] = listener;
        return this.drag;
      }
    };
  }

  attr(/** @type {string} */ name, /** @type {any} */ value) {
    this.attributes[name] = value;
    return this;
  }

  select() {
    const handle = {
      attr: () => handle,
      style: () => handle,
      call: () => {
        ++this.drags;
      }
    };
    return handle;
  }
}

test('a brush that is being dragged is not moved when models end meanwhile, and what it then covers is kept', () => {
  let brushes = new Map([['other', [0, 1]]]);
  const coordinates = Object.assign(Object.create(ParallelCoordinates.prototype), {
    chart: {height: 508},
    dragged: new Set(),
    view: {
      brushes: () => new Map(brushes),
      setBrushes: (/** @type {any} */ next) => {
        brushes = next;
      }
    }
  });
  const place = new FakePlace();
  const redraw = () => coordinates.placeBrush('mine', place, place.brush);
  redraw();
  equal(place.moves, [null]);
  place.listeners.start();
  redraw();
  redraw();
  equal(place.moves, [null]);
  coordinates.released('mine', [178, 278]);
  equal([...brushes], [['other', [0, 1]], ['mine', [0.5, 0.75]]]);
  redraw();
  equal(place.moves, [null, [178, 278]]);
  coordinates.released('mine', null);
  equal([...brushes.keys()], ['other']);
});

test('an axis that is being moved stays under the pointer when models end meanwhile', () => {
  const params = /** @type {any[]} */ ([]);
  const coordinates = Object.assign(Object.create(ParallelCoordinates.prototype), {
    chart: {width: 530},
    moved: new Set(),
    view: {order: ['a', 'b', 'c']},
    store: {setParams: (/** @type {any} */ next) => params.push(next), changed: () => {}}
  });
  const group = new FakeGroup();
  const redraw = () => coordinates.placeAxis('a', group, group.drag);
  redraw();
  equal([group.attributes.transform, group.drags], ['translate(30,0)', 1]);
  group.listeners.start();
  group.attr('transform', 'translate(300,0)');
  redraw();
  equal([group.attributes.transform, group.drags], ['translate(300,0)', 1]);
  coordinates.dropped('a', 300);
  equal(params, [{axes: 'b,a,c'}]);
  redraw();
  equal([group.attributes.transform, group.drags], ['translate(30,0)', 2]);
});
