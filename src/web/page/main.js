// The page's frame: header, navigation, the view that the address names, keys.

import {actionsMenu, openNotice} from './actions.js';
import {themeName} from './canvas.js';
import {announce, button, el, fill, stateBox, statusBadge} from './dom.js';
import {FilterBar} from './filter_bar.js';
import {formatNumber, oneLine} from './format.js';
import {otherView, VIEWS, writeRoute} from './route.js';
import {Store} from './store.js';
import {CgoView} from './view_cgo.js';
import {ChoicesView} from './view_choices.js';
import {CompareView} from './view_compare.js';
import {CurvesView} from './view_curves.js';
import {DevicesView} from './view_devices.js';
import {ExperimentsView} from './view_experiments.js';
import {GraphView} from './view_graph.js';
import {ModelView} from './view_model.js';
import {ModelsView} from './view_models.js';
import {OverviewView} from './view_overview.js';

/** @type {Record<string, any>} */
const CLASSES = {
  experiments: ExperimentsView,
  overview: OverviewView,
  models: ModelsView,
  curves: CurvesView,
  choices: ChoicesView,
  devices: DevicesView,
  cgo: CgoView,
  compare: CompareView,
  model: ModelView,
  graph: GraphView
};
/** @type {Record<string, string>} */
const TITLES = {
  overview: 'Overview',
  models: 'Models',
  curves: 'Curves',
  choices: 'Choices',
  devices: 'Devices',
  cgo: 'CGO',
  compare: 'Compare'
};
/** Changes that the frame alone shows. */
const OF_THE_FRAME = new Set(['connection', 'info', 'back']);
/** Views in which filter and selection stand above. */
const FILTERED = new Set(['overview', 'models', 'curves', 'choices', 'devices', 'cgo', 'compare']);

const KEYS = [
  ['?', 'this list'], ['/', 'to the filter'], ['j', 'jump to a model'], ['g then e', 'experiments'],
  ['g then o', 'overview'], ['g then m', 'models'], ['g then c', 'curves'], ['g then h', 'choices'],
  ['g then d', 'devices'], ['g then g', 'CGO'], ['g then p', 'compare'], ['x', 'clear the selection'], ['t', 'dark or light'],
  ['Esc', 'leave a field, close a menu'],
  ['← ↑ → ↓', 'in the table: cell by cell; in a chart: point by point; in a graph: along the edges'],
  ['↑ ↓ and ← →', 'in curves and parallel coordinates: from line to line, and along a line'],
  ['+ − 0', 'in a graph, in curves, in the timeline: larger, smaller, all of it'],
  ['Shift with ← ↑ → ↓', 'in curves, in the timeline: move what is shown'],
  ['Space', 'in the table: select the row, or sort by the column (Shift: by it, too)'],
  ['Enter', 'open a model; select a chart\'s point; fold a cell'],
  ['Home, End, Page ↑ ↓', 'in the table, with Ctrl: first and last row']
];
/** @type {Record<string, string>} */
const GO = {
  o: 'overview',
  m: 'models',
  c: 'curves',
  h: 'choices',
  d: 'devices',
  g: 'cgo',
  p: 'compare'
};

const store = new Store();
const place = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const [header, banner, nav, main, frame] = ['header', 'banner', 'nav', 'main', 'frame'].map(place);
const filterBar = new FilterBar(store);
const actions = actionsMenu(store);
/** @type {any} */
let view = null;
let viewKey = '';

const brand =
    el('a', {class: 'brand', href: '#/', title: 'All experiments'},
       el('img', {src: 'icon.svg', alt: '', width: '24', height: '24'}), 'Lanista');
const crumb = el('div', {class: 'crumb'});
const connection = el('span', {class: 'connection', role: 'status'});
const themeButton = button('', () => switchTheme(), {class: 'quiet'});
fill(
    header, brand, crumb,
    el('div', {class: 'right'}, connection, actions, themeButton,
       button('?', () => showKeys(), {class: 'quiet', 'aria-label': 'Keys', title: 'Keys (?)'})));

function showTheme() {
  const dark = themeName() === 'dark';
  themeButton.textContent = dark ? '☀' : '☾';
  themeButton.setAttribute('aria-label', dark ? 'Light colours' : 'Dark colours');
  themeButton.title = `${dark ? 'Light' : 'Dark'} colours (t)`;
}

function switchTheme() {
  const next = themeName() === 'dark' ? 'light' : 'dark';
  document.documentElement.dataset.theme = next;
  try {
    localStorage.setItem('lanista-theme', next);
  } catch {
    // Storage may be switched off: the choice holds until the page is loaded again.
  }
  showTheme();
  store.changed('theme');
}

function showKeys() {
  openNotice(
      'Keys', [el('div', {class: 'keys'},
                  ...KEYS.flatMap(([key, what]) => [el('span', {}, el('kbd', {}, key)), el('span', {}, what)]))]);
}

function drawHeader() {
  const {current, route} = store;
  fill(
      crumb,
      route.id === null ? null :
                          el('span', {class: 'name', title: oneLine(current?.show?.name ?? route.id)},
                             oneLine(current?.show?.name ?? route.id, 80)),
      route.id === null ? null : el('span', {class: 'muted mono'}, oneLine(route.id, 60)),
      current ? statusBadge(current.table.status) : null);
  actions.hidden = !current;
  const states = /** @type {Record<string, [string, string]>} */ ({
    live: ['live', 'live'],
    idle: ['', store.route.id === null ? 'connected' : 'up to date'],
    lost: ['lost', 'lost the head'],
    denied: ['lost', 'no access'],
    loading: ['', 'connecting'],
    paused: ['', 'paused']
  });
  const [kind, text] = states[store.connection] ?? states.loading;
  connection.className = `connection ${kind}`;
  fill(connection, el('i', {'aria-hidden': 'true'}), text);
  document.title =
      `${view?.title ?? 'Lanista'}${route.id ? ` · ${oneLine(current?.show?.name ?? route.id, 60)}` : ''} · Lanista`;
}

function drawNav() {
  const {current, route} = store;
  frame.classList.toggle('alone', route.id === null);
  nav.hidden = route.id === null;
  if (route.id === null) return;
  const merges = Boolean(current?.config?.merges_models);
  const key = JSON.stringify([route, current?.table.model.length, store.selected.size, merges]);
  if (key === drawNav.key) return;
  drawNav.key = key;
  const focused = nav.contains(document.activeElement) ? document.activeElement?.getAttribute('href') : null;
  const counts = /** @type {Record<string, string>} */ ({
    models: current ? formatNumber(current.table.model.length) : '',
    compare: store.selected.size > 0 ? String(store.selected.size) : ''
  });
  fill(
      nav,
      el('ul', {}, el('li', {}, el('a', {class: 'back', href: '#/'}, '◂ Experiments')),
         ...VIEWS.filter((name) => name !== 'cgo' || merges || route.view === 'cgo').map(
             (name) =>
                 el('li', {},
                    el('a',
                       {href: writeRoute(otherView(route, name)), 'aria-current': route.view === name ? 'page' : null},
                       TITLES[name], counts[name] ? el('span', {class: 'count'}, counts[name]) : null))),
         route.model !== null ? el('li', {},
                                   el('a', {href: writeRoute(route), 'aria-current': 'page'},
                                      `${route.view === 'graph' ? 'Architecture' : 'Model'} ${route.model}`)) :
                                null));
  const here = /** @type {HTMLElement|null} */ (nav.querySelector('[aria-current="page"]'));
  if (focused) here?.focus();
  // Where views stand side by side, the one that is shown is in sight.
  if (here && nav.scrollWidth > nav.clientWidth) nav.scrollLeft = here.offsetLeft - nav.clientWidth / 3;
}
drawNav.key = '';

/** Why what is shown may be old; '': it is not. */
function bannerText() {
  const old = 'What is shown is what was known before.';
  if (store.connection === 'lost') {
    const seconds = Math.max(0, Math.ceil((store.retryAt - Date.now()) / 1000));
    return `Lost the head, trying again${seconds > 0 ? ` in ${seconds} s.` : ' …'} ${old}`;
  }
  return store.current && store.error ? `${oneLine(store.error.message, 300)}. ${old}` : '';
}

function drawBanner() {
  const text = bannerText();
  if (text === '') {
    if (banner.firstChild) fill(banner);
    return;
  }
  if (!banner.firstChild) {
    fill(
        banner,
        el('div', {class: 'banner', role: 'alert'}, el('span', {class: 'spin', 'aria-hidden': 'true'}),
           el('span', {}, text), button('Try now', () => {
             store.stream.retry();
             store.poll();
           })));
  } else {
    /** @type {Element} */ (banner.querySelectorAll('span')[1]).textContent = text;
  }
}

function drawSignIn() {
  const field =
      el('input', {type: 'text', autocomplete: 'off', spellcheck: 'false', 'aria-label': 'Link or token', size: '44'});
  return el(
      'form', {
        class: 'card view',
        on: {
          submit: (/** @type {Event} */ event) => {
            event.preventDefault();
            const text = field.value.trim();
            const token = text.replace(/^.*#token=/, '');
            if (token) store.useToken(token);
          }
        }
      },
      el('h1', {}, 'This page needs its link'),
      el('p', {},
         'The command that started this page has printed a link with a token, "page: http://…/#token=…". Open it, or paste it here.'),
      el('div', {class: 'row'}, field, el('button', {type: 'submit', class: 'primary'}, 'Open')));
}

/** What stands in the main place instead of a view, if anything. */
function obstacle() {
  if (store.connection === 'denied') return {key: 'denied', element: drawSignIn};
  if (store.route.id === null) return null;
  if (store.current) return null;
  if (store.error && store.error.status === 404) {
    return {
      key: `none ${store.route.id}`,
      element: () => stateBox('error', 'There is no such experiment', store.error?.message)
    };
  }
  if (store.connection === 'lost')
    return {
      key: 'lost',
      element: () =>
          stateBox('error', 'Lost the head, trying again', 'The page goes on by itself as soon as it answers.')
    };
  if (store.error)
    return {
      key: `error ${store.error.message}`,
      element: () => stateBox('error', 'This experiment cannot be shown', store.error?.message)
    };
  return {key: 'loading', element: () => stateBox('loading', 'Loading the experiment …')};
}

/** @param {Set<string>} changes */
function update(changes) {
  const before = obstacle();
  const key = before ? before.key : JSON.stringify([store.route.view, store.route.id, store.route.model]);
  const first = key !== viewKey;
  if (first) {
    viewKey = key;
    view?.destroy();
    view = null;
    if (before) {
      fill(main, before.element());
    } else {
      view = new CLASSES[store.route.view](store);
      const isFiltered = FILTERED.has(store.route.view);
      fill(
          main, isFiltered ? el('h1', {class: 'hidden-text'}, view.title) : null, isFiltered ? filterBar.element : null,
          view.element);
      if (document.activeElement === document.body || nav.contains(document.activeElement)) announce(view.title);
    }
    window.scrollTo(0, 0);
  }
  drawNav();
  drawBanner();
  if (view) {
    const begun = performance.now();
    if (FILTERED.has(store.route.view)) filterBar.update();
    const seen = first ? new Set(['all']) : changes;
    if ([...seen].some((change) => !OF_THE_FRAME.has(change))) view.update(seen);
    if (changes.has('back')) view.headIsBack?.();
    performance.measure('update', {start: begun, end: performance.now()});
    if (performance.getEntriesByType('measure').length > 500) performance.clearMeasures();
  }
  drawHeader();
}

let going = 0;
document.addEventListener('keydown', (event) => {
  const target = /** @type {Element} */ (event.target);
  if (event.key === 'Escape' && target.matches('input, textarea, select')) {
    /** @type {HTMLElement} */ (target).blur();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey ||
      target.matches('input:not([type="checkbox"]), textarea, select') || document.querySelector('dialog[open]'))
    return;
  const {route} = store;
  if (going && performance.now() - going < 1500) {
    going = 0;
    if (event.key === 'e') {
      location.hash = '#/';
      event.preventDefault();
    } else if (route.id !== null && GO[event.key]) {
      store.go(otherView(route, GO[event.key]));
      event.preventDefault();
    }
    return;
  }
  going = 0;
  switch (event.key) {
    case '?':
      showKeys();
      break;
    case 'g':
      going = performance.now();
      break;
    case 't':
      switchTheme();
      break;
    case 'x':
      if (route.id !== null) store.select([]);
      break;
    case '/':
      document.getElementById('filter')?.focus();
      break;
    case 'j':
      if (route.id === null) return;
      if (route.view !== 'models') store.go(otherView(route, 'models'));
      setTimeout(() => document.getElementById('jump')?.focus(), 60);
      break;
    default:
      return;
  }
  event.preventDefault();
});

// The address is the view's, so the link may not change it.
place('skip').addEventListener('click', (event) => {
  event.preventDefault();
  main.focus();
});
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  showTheme();
  store.changed('theme');
});
setInterval(() => {
  if (store.connection === 'lost') drawBanner();
}, 1000);

showTheme();
store.subscribe((changes) => update(changes), () => {
  if (store.current) view?.glance?.();
});
store.start();
