// Which models no other beats. Pure.

/** @param {number[]} a @param {number[]} b at least as good in all, better in one; more is better */
function beats(a, b) {
  let better = false;
  for (let k = 0; k < a.length; ++k) {
    if (a[k] < b[k]) return false;
    if (a[k] > b[k]) better = true;
  }
  return better;
}

/**
 * The fronts of single values: equal ones share theirs.
 * @param {number[]} values  without NaN @returns {number[]}
 */
function ranksOf(values) {
  /** @type {Map<number, number>} */
  const ranks = new Map();
  for (const value of Float64Array.from(values).sort().reverse()) {
    if (!ranks.has(value)) ranks.set(value, ranks.size);
  }
  return values.map((value) => /** @type {number} */ (ranks.get(value)));
}

/**
 * For each point (more is better) the number of its front: 0 if no other beats it, 1 if only those of front 0 do, and
 * so on. Fronts are filled in the order of the first value, and a front is found by bisection: a point that a front
 * beats is beaten by all fronts before it (Zhang et al., 2015).
 * @param {number[][]} points  without NaN
 * @returns {number[]}
 */
export function findFronts(points) {
  if (points.length > 0 && points[0].length === 1) return ranksOf(points.map(([value]) => value));
  const order = points.map((_, i) => i).sort((i, j) => {
    for (let k = 0; k < points[i].length; ++k) {
      if (points[i][k] !== points[j][k]) return points[j][k] > points[i][k] ? 1 : -1;
    }
    return i - j;
  });
  /** @type {number[][]} */
  const fronts = [];
  const result = new Array(points.length).fill(0);
  const few = points.length > 0 && points[0].length <= 2;
  const beaten = (/** @type {number[]} */ front, /** @type {number} */ i) => {
    // With one or two values the latest member of a front has the best second one.
    if (few) return beats(points[front[front.length - 1]], points[i]);
    for (let m = front.length - 1; m >= 0; --m) {
      if (beats(points[front[m]], points[i])) return true;
    }
    return false;
  };
  for (const i of order) {
    let low = 0;
    let high = fronts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (beaten(fronts[middle], i)) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    if (low === fronts.length) fronts.push([]);
    fronts[low].push(i);
    result[i] = low;
  }
  return result;
}

/**
 * How far a value is outside of a limit, in units of the limit.
 * @param {number} beyond @param {number} limit
 */
function relative(beyond, limit) {
  if (!(beyond > 0)) return 0;
  return limit === 0 ? beyond : beyond / Math.abs(limit);
}

/**
 * How far metrics break the limits, all together; 0: not at all.
 * @param {import('./decode.js').Constraint[]} constraints
 * @param {(metric: string) => number|null|undefined} valueOf
 */
export function findViolation(constraints, valueOf) {
  let violation = 0;
  for (const {metric, max, min} of constraints) {
    const value = valueOf(metric);
    if (value === null || value === undefined) continue;
    let one = 0;
    if (max !== null) one = Math.max(one, relative(value - max, max));
    if (min !== null) one = Math.max(one, relative(min - value, min));
    violation += one;
  }
  return violation;
}
