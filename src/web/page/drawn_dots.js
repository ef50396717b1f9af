// Which dots of a picture need not be drawn: in a long search thousands lie on each other. Pure.

/** So many translucent dots on each other are as dark as more of them. */
const OPAQUE = 8;
/** More than the height of a picture, in half pixels. */
const ROWS = 1 << 16;

export class DrawnDots {
  constructor() {
    /** @type {Map<string, Map<number, number>>} how many there are, by kind and place */
    this.counts = new Map();
  }

  /**
   * Whether one more dot is seen there; it counts as drawn then.
   * @param {string} kind  dots of one kind look the same
   * @param {number} x  pixels of CSS
   * @param {number} y
   */
  add(kind, x, y) {
    let places = this.counts.get(kind);
    if (!places) this.counts.set(kind, places = new Map());
    // Screens show no finer steps than half a pixel. What lies above or below the picture is not seen anyway.
    const place = Math.round(2 * x) * ROWS + Math.min(ROWS - 1, Math.max(0, Math.round(2 * y)));
    const count = places.get(place) ?? 0;
    if (count >= OPAQUE) return false;
    places.set(place, count + 1);
    return true;
  }
}
