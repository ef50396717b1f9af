// How far apart two colours are, to normal eyes and to those that lack one kind of cones.

/**
 * What is seen of linear RGB, by who: Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of
 * Color Vision Deficiency", IEEE TVCG 15(6), 2009, at full severity.
 * @type {Record<string, number[][]>}
 */
export const EYES = {
  normal: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protanopia: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  tritanopia: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
};

/** @param {number[][]} matrix @param {number[]} v */
const times = (matrix, v) => matrix.map((row) => row[0] * v[0] + row[1] * v[1] + row[2] * v[2]);

/**
 * CIELAB of a colour, as these eyes see it.
 * @param {string} color "#rrggbb" @param {string} eyes
 */
function labOf(color, eyes) {
  const linear = [1, 3, 5].map((i) => {
    const c = parseInt(color.slice(i, i + 2), 16) / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  const seen = times(EYES[eyes], linear).map((c) => Math.min(1, Math.max(0, c)));
  const xyz = times(
      [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]], seen);
  const [x, y, z] = [xyz[0] / 0.95047, xyz[1], xyz[2] / 1.08883].map(
      (t) => t > 216 / 24389 ? Math.cbrt(t) : (24389 / 27 * t + 16) / 116);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

/**
 * CIEDE2000 of two colours in CIELAB: Sharma, Wu and Dalal, "The CIEDE2000 Color-Difference Formula", Color Research &
 * Application 30(1), 2005.
 * @param {number[]} first @param {number[]} second
 */
export function ciede2000([l1, a1, b1], [l2, a2, b2]) {
  const degrees = Math.PI / 180;
  const share = (/** @type {number} */ c) => Math.sqrt(c ** 7 / (c ** 7 + 25 ** 7));
  const g = 0.5 * (1 - share((Math.hypot(a1, b1) + Math.hypot(a2, b2)) / 2));
  const [c1, c2] = [Math.hypot(a1 * (1 + g), b1), Math.hypot(a2 * (1 + g), b2)];
  const hue = (/** @type {number} */ a, /** @type {number} */ b) =>
      (Math.atan2(b, a * (1 + g)) / degrees + 360) % 360;
  const [h1, h2] = [hue(a1, b1), hue(a2, b2)];
  const gray = c1 * c2 === 0;
  const turn = gray ? 0 : (h2 - h1 + 540) % 360 - 180;
  const far = !gray && Math.abs(h1 - h2) > 180;
  const h = gray ? h1 + h2 : far ? ((h1 + h2 + 360) / 2) % 360 : (h1 + h2) / 2;
  const l = (l1 + l2) / 2 - 50;
  const c = (c1 + c2) / 2;
  const t = 1 - 0.17 * Math.cos((h - 30) * degrees) + 0.24 * Math.cos(2 * h * degrees) +
      0.32 * Math.cos((3 * h + 6) * degrees) - 0.2 * Math.cos((4 * h - 63) * degrees);
  const dl = (l2 - l1) / (1 + 0.015 * l ** 2 / Math.sqrt(20 + l ** 2));
  const dc = (c2 - c1) / (1 + 0.045 * c);
  const dh = 2 * Math.sqrt(c1 * c2) * Math.sin(turn / 2 * degrees) / (1 + 0.015 * c * t);
  const rotation = -Math.sin(60 * degrees * Math.exp(-(((h - 275) / 25) ** 2))) * 2 * share(c);
  return Math.sqrt(dl ** 2 + dc ** 2 + dh ** 2 + rotation * dc * dh);
}

/**
 * @param {string} a "#rrggbb" @param {string} b @param {string} eyes
 */
export function distance(a, b, eyes) {
  return ciede2000(labOf(a, eyes), labOf(b, eyes));
}
