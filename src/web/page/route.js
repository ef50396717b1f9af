// Addresses: `#/e/ID/models?f=accuracy+>+0.9&s=-metric.accuracy` and back. Pure.

/** Views of one experiment, in the order of the navigation. */
export const VIEWS = /** @type {const} */ (['overview', 'models', 'curves', 'choices', 'devices', 'cgo', 'compare']);

/**
 * @typedef {Object} Route
 * @property {string} view  'experiments', one of VIEWS, 'model' or 'graph'
 * @property {string|null} id  the experiment
 * @property {number|null} model  of the views 'model' and 'graph'
 * @property {Record<string, string>} params  filter (f), sort (s), columns (c), selection (sel), and what views keep
 */

/** @param {string} hash @returns {Route} */
export function readRoute(hash) {
  const text = hash.replace(/^#/, '');
  const query = text.indexOf('?');
  const path = (query < 0 ? text : text.slice(0, query)).split('/').filter((part) => part !== '').map(decode);
  /** @type {Record<string, string>} */
  const params = {};
  if (query >= 0) {
    for (const [name, value] of new URLSearchParams(text.slice(query + 1))) params[name] = value;
  }
  const none = {view: 'experiments', id: null, model: null, params};
  if (path[0] !== 'e' || !path[1]) return none;
  const model = Number(path[3]);
  if ((path[2] === 'model' || path[2] === 'graph') && Number.isInteger(model) && model > 0) {
    return {view: path[2], id: path[1], model, params};
  }
  const view = VIEWS.find((v) => v === path[2]) ?? 'overview';
  return {view, id: path[1], model: null, params};
}

/** @param {string} part */
function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** @param {Route} route */
export function writeRoute(route) {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(route.params)) {
    if (value !== '' && value !== undefined && value !== null) params.set(name, value);
  }
  const query = params.toString();
  let path = '#/';
  if (route.id !== null) {
    path += `e/${encodeURIComponent(route.id)}/${route.view}`;
    if (route.model !== null) path += `/${route.model}`;
  }
  return query ? `${path}?${query}` : path;
}

/** What all views of an experiment share, and what stays behind when the view changes. */
const SHARED = ['f', 's', 'c', 'sel'];

/**
 * The address of another view of the same experiment.
 * @param {Route} route @param {string} view @param {number|null} [model] @returns {Route}
 */
export function otherView(route, view, model = null) {
  /** @type {Record<string, string>} */
  const params = {};
  for (const name of SHARED) {
    if (route.params[name]) params[name] = route.params[name];
  }
  return {view, id: route.id, model, params};
}

/** A selection of more models is sorted: as ranges it makes a short address. */
const ORDERED = 100;

/**
 * The order that an address keeps of a selection.
 * @param {Iterable<number>} models
 */
export function selectionOrder(models) {
  const list = [...models];
  return list.length > ORDERED ? list.sort((a, b) => a - b) : list;
}

/**
 * "3,7,9-12" as models, in this order: it gives them their colours, and their places beside each other.
 * @param {string|undefined} text
 */
export function readSelection(text) {
  /** @type {Set<number>} */
  const models = new Set();
  for (const part of (text ?? '').split(',')) {
    const match = /^(\d+)(?:-(\d+))?$/.exec(part.trim());
    if (!match) continue;
    const last = Math.min(Number(match[2] ?? match[1]), Number(match[1]) + 100000);
    for (let model = Number(match[1]); model <= last; ++model) models.add(model);
  }
  return models;
}

/** @param {Iterable<number>} models */
export function writeSelection(models) {
  const list = selectionOrder(models);
  const parts = [];
  for (let i = 0; i < list.length; ++i) {
    const first = list[i];
    while (i + 1 < list.length && list[i + 1] === list[i] + 1) ++i;
    parts.push(list[i] === first ? `${first}` : `${first}-${list[i]}`);
  }
  return parts.join(',');
}
