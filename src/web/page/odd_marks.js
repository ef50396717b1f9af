// What curves have that is no finite number, on the canvas: NaN in a strip of its own below, infinities at the edges.
// Marked, not dropped.

import {FONT} from './canvas.js';
import {counted} from './format.js';

/** Height of the strip for NaN below the frame, pixels. */
export const STRIP = 12;

export class OddMarks {
  constructor() {
    this.nans = 0;
    this.infinities = 0;
    /** Where they are, whole pixels. */
    this.nanAt = /** @type {Set<number>} */ (new Set());
    this.highAt = /** @type {Set<number>} */ (new Set());
    this.lowAt = /** @type {Set<number>} */ (new Set());
  }

  /** @param {number} px @param {number} value  not finite */
  add(px, value) {
    const at = Math.round(px);
    if (Number.isNaN(value)) {
      ++this.nans;
      this.nanAt.add(at);
    } else {
      ++this.infinities;
      (value > 0 ? this.highAt : this.lowAt).add(at);
    }
  }

  /**
   * @param {CanvasRenderingContext2D} ctx @param {import('./canvas.js').Frame} frame  without the strip
   * @param {string} color
   */
  draw(ctx, frame, color) {
    const inside = (/** @type {number} */ px) => px >= frame.left && px <= frame.right;
    ctx.strokeStyle = ctx.fillStyle = color;
    ctx.lineWidth = 1.5;
    for (const px of this.nanAt) {
      if (!inside(px)) continue;
      ctx.beginPath();
      ctx.moveTo(px - 3, frame.bottom + 3);
      ctx.lineTo(px + 3, frame.bottom + 9);
      ctx.moveTo(px + 3, frame.bottom + 3);
      ctx.lineTo(px - 3, frame.bottom + 9);
      ctx.stroke();
    }
    if (this.nans > 0) {
      ctx.font = FONT;
      ctx.textAlign = 'right';
      ctx.textBaseline = 'middle';
      ctx.fillText('NaN', frame.left - 6, frame.bottom + 8);
    }
    for (const [set, edge, way] of /** @type {[Set<number>, number, number][]} */ (
             [[this.highAt, frame.top, -1], [this.lowAt, frame.bottom, 1]])) {
      for (const px of set) {
        if (!inside(px)) continue;
        ctx.beginPath();
        ctx.moveTo(px - 4, edge);
        ctx.lineTo(px + 4, edge);
        ctx.lineTo(px, edge + 6 * way);
        ctx.fill();
      }
    }
  }

  /** What is marked, in words. */
  texts() {
    return [
      this.nans > 0 ? `${counted(this.nans, 'report')} of NaN, crosses in the strip below` : '',
      this.infinities > 0 ? `${counted(this.infinities, 'infinite report')}, triangles at the edge` : ''
    ].filter(Boolean);
  }
}
