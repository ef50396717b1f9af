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
