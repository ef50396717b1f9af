// What charts draw with: the theme's colours, axes, dots, marks and names.

import {oneLine} from './format.js';
import {THEME} from './palette.js';

export const d3 = /** @type {any} */ (globalThis).d3;

/** Statuses whose marks are no dots. */
const OUTLINED = new Set(['FAILED', 'STOPPED_EARLY', 'INFEASIBLE', 'CANCELED']);

/** @returns {'light'|'dark'} */
export function themeName() {
  const chosen = document.documentElement.dataset.theme;
  if (chosen === 'light' || chosen === 'dark') return chosen;
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
}

export function theme() {
  return THEME[themeName()];
}

export const FONT = '12px system-ui, -apple-system, "Segoe UI", sans-serif';

/** @typedef {{left: number, top: number, right: number, bottom: number}} Frame  pixels, of what is inside the axes */

/**
 * Axes with their grid, at the left and below.
 * @param {CanvasRenderingContext2D} ctx
 * @param {Frame} frame
 * @param {{x: any, y: any, xTitle: string, yTitle: string, xFormat?: (v: any) => string, yFormat?: (v: any) => string,
 *     below?: number}} axes d3 scales; `below`: pixels between the frame and what is written below it
 */
export function drawAxes(ctx, frame, {x, y, xTitle, yTitle, xFormat, yFormat, below = 0}) {
  const colors = theme();
  ctx.font = FONT;
  ctx.lineWidth = 1;
  const countX = Math.max(2, Math.floor((frame.right - frame.left) / 90));
  const countY = Math.max(2, Math.floor((frame.bottom - frame.top) / 45));
  const formatX = xFormat ?? x.tickFormat(countX);
  const formatY = yFormat ?? y.tickFormat(countY);
  ctx.textAlign = 'right';
  ctx.textBaseline = 'middle';
  for (const tick of y.ticks(countY)) {
    const at = Math.round(y(tick)) + 0.5;
    ctx.strokeStyle = colors.grid;
    ctx.beginPath();
    ctx.moveTo(frame.left, at);
    ctx.lineTo(frame.right, at);
    ctx.stroke();
    ctx.fillStyle = colors.muted;
    const text = formatY(tick);
    if (text) ctx.fillText(text, frame.left - 6, at);
  }
  ctx.textAlign = 'center';
  ctx.textBaseline = 'top';
  let last = -Infinity;
  for (const tick of x.ticks(countX)) {
    const at = Math.round(x(tick)) + 0.5;
    ctx.strokeStyle = colors.grid;
    ctx.beginPath();
    ctx.moveTo(at, frame.top);
    ctx.lineTo(at, frame.bottom);
    ctx.stroke();
    const text = formatX(tick);
    const half = ctx.measureText(text).width / 2;
    if (!text || at - half < last + 6) continue;
    last = at + half;
    ctx.fillStyle = colors.muted;
    ctx.fillText(text, Math.min(at, frame.right + 12 - half), frame.bottom + 6 + below);
  }
  ctx.strokeStyle = colors.line;
  ctx.strokeRect(frame.left + 0.5, frame.top + 0.5, frame.right - frame.left, frame.bottom - frame.top);
  ctx.fillStyle = colors.text;
  ctx.textAlign = 'right';
  ctx.textBaseline = 'bottom';
  ctx.fillText(oneLine(xTitle, 60), frame.right, frame.bottom + 36 + below);
  ctx.textAlign = 'left';
  ctx.fillText(oneLine(yTitle, 60), Math.max(4, frame.left - 44), frame.top - 8);
}

/**
 * The frame of a chart of this size.
 * @param {number} width @param {number} height @returns {Frame}
 */
export function frameOf(width, height) {
  return {left: 56, top: 24, right: width - 14, bottom: height - 40};
}

/**
 * A domain that is no single point and has some air.
 * @param {Iterable<number>} values finite @param {number} [air] @returns {[number, number]}
 */
export function paddedDomain(values, air = 0.04) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low > high) return [0, 1];
  if (low === high) {
    const half = low === 0 ? 1 : Math.abs(low) * 0.1;
    return [low - half, high + half];
  }
  // The difference of the largest numbers is none.
  const pad = high * air - low * air;
  // Air does not make negative numbers of positive ones.
  return [low >= 0 ? Math.max(0, low - pad) : low - pad, high + pad];
}

/**
 * A dot. A small one is a square, which is drawn many times faster and looks the same.
 * @param {CanvasRenderingContext2D} ctx @param {number} x @param {number} y @param {number} r
 */
export function drawDot(ctx, x, y, r) {
  if (r < 2) {
    const half = r * Math.sqrt(Math.PI) / 2;
    ctx.fillRect(x - half, y - half, 2 * half, 2 * half);
    return;
  }
  ctx.beginPath();
  ctx.arc(x, y, r, 0, 2 * Math.PI);
  ctx.fill();
}

/**
 * Names a line, left of a place and above it: in the colour of text, which is easier to read than that of a line,
 * beside a dot in the line's.
 * @param {CanvasRenderingContext2D} ctx @param {string} text @param {string} color @param {number} x @param {number} y
 */
export function drawName(ctx, text, color, x, y) {
  ctx.textAlign = 'right';
  ctx.textBaseline = 'bottom';
  ctx.fillStyle = color;
  drawDot(ctx, x - ctx.measureText(text).width - 7, y - 7, 3);
  ctx.fillStyle = theme().text;
  ctx.fillText(text, x, y);
}

/**
 * A mark whose shape tells the status, too.
 * @param {CanvasRenderingContext2D} ctx @param {string} state @param {number} x @param {number} y @param {number} r
 */
export function drawMark(ctx, state, x, y, r) {
  if (!OUTLINED.has(state)) {
    drawDot(ctx, x, y, r);
    return;
  }
  ctx.beginPath();
  if (state === 'FAILED') {
    ctx.moveTo(x - r, y - r);
    ctx.lineTo(x + r, y + r);
    ctx.moveTo(x + r, y - r);
    ctx.lineTo(x - r, y + r);
    ctx.stroke();
  } else if (state === 'CANCELED') {
    ctx.moveTo(x - r, y);
    ctx.lineTo(x + r, y);
    ctx.stroke();
  } else if (state === 'STOPPED_EARLY') {
    ctx.rect(x - r, y - r, 2 * r, 2 * r);
    ctx.stroke();
  } else {
    ctx.moveTo(x, y - r);
    ctx.lineTo(x + r, y + r);
    ctx.lineTo(x - r, y + r);
    ctx.closePath();
    ctx.stroke();
  }
}
