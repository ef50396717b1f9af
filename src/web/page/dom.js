// Elements out of data: text is text, never markup.

import {statusText} from './columns.js';
import {toCsv, toJson} from './exports.js';
import {cleanText, formatTime, formatUtc, NOTHING, oneLine, timeParts} from './format.js';
import {statusStyle} from './palette.js';

/**
 * @param {Element} element
 * @param {Record<string, any>} attributes  `on` has listeners, `text` the text; null and false are left out
 */
function setAttributes(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === 'on') {
      for (const [type, listener] of Object.entries(value))
        element.addEventListener(type, /** @type {any} */ (listener));
    } else if (name === 'text') {
      element.textContent = value;
    } else {
      element.setAttribute(name, value === true ? '' : String(value));
    }
  }
}

/**
 * @param {string} tag
 * @param {Record<string, any>} [attributes]  see setAttributes
 * @param {...(Node|string|null|undefined|false)} children
 * @returns {any}
 */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  setAttributes(element, attributes);
  for (const child of children) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
  return element;
}

/** @param {string} tag @param {Record<string, any>} [attributes] @param {...(Node|string)} children @returns {any} */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  setAttributes(element, attributes);
  element.append(...children);
  return element;
}

/**
 * Replaces what is in an element.
 * @param {Element} element @param {...(Node|string|null|false|undefined)} children
 */
export function fill(element, ...children) {
  element.replaceChildren(
      .../** @type {any[]} */ (children.filter((c) => c !== null && c !== undefined && c !== false)));
}

/** What can have the focus. */
const CONTROLS = 'button, input, select, textarea, a, summary, [tabindex]';

/**
 * What people call a control; `data-key` where its text changes.
 * @param {Element} element
 */
function nameOf(element) {
  const name = element.getAttribute('data-key') ?? element.getAttribute('aria-label') ??
      element.closest('label')?.textContent ?? element.textContent ?? '';
  return `${element.tagName} ${name}`;
}

/**
 * The controls in a place that can have the focus (none in a closed menu can), of this name.
 * @param {HTMLElement} place @param {string} name
 */
function controlsNamed(place, name) {
  const controls = /** @type {HTMLElement[]} */ ([...place.querySelectorAll(CONTROLS)]);
  return controls.filter((control) => control.getClientRects().length > 0 && nameOf(control) === name);
}

/**
 * Fills a place anew: what had the focus has it again, a menu that was open is open, what was scrolled is where it was.
 * The focus of a control that is gone goes to the place, so that Tab goes on from there.
 * @param {HTMLElement} place @param {...(Node|string|null|false|undefined)} children
 */
export function refill(place, ...children) {
  const active = document.activeElement;
  const focused = active && active !== place && place.contains(active) ? nameOf(active) : null;
  // Of equal names (a button in each menu), the one in the same place among them.
  const ordinal = focused === null ? 0 : controlsNamed(place, focused).indexOf(/** @type {HTMLElement} */ (active));
  const open = [...place.querySelectorAll('[aria-haspopup][aria-expanded="true"]')].map(nameOf);
  const scrolled = new Map(
      [...place.querySelectorAll('[role="region"]')].map((region) => [nameOf(region), [region.scrollLeft, region.scrollTop]]));
  fill(place, ...children);
  for (const region of place.querySelectorAll('[role="region"]')) {
    [region.scrollLeft, region.scrollTop] = scrolled.get(nameOf(region)) ?? [0, 0];
  }
  for (const opener of place.querySelectorAll('[aria-haspopup]')) {
    if (open.includes(nameOf(opener))) /** @type {HTMLElement} */
      (opener).click();
  }
  if (focused === null) return;
  const again = controlsNamed(place, focused)[ordinal];
  // A menu that was opened again has the focus.
  if (!again && place.contains(document.activeElement)) return;
  if (!again) place.tabIndex = -1;
  (again ?? place).focus({preventScroll: true});
}

/** @param {string} label @param {(event: Event) => void} click @param {Record<string, any>} [attributes] */
export function button(label, click, attributes = {}) {
  return el('button', {type: 'button', on: {click}, ...attributes}, label);
}

/**
 * A button that may be disabled: it then stays reachable and says why.
 * @param {string} label @param {() => void} click @param {string} because  empty: enabled @param {Record<string, any>}
 *     [attributes]
 */
export function actionButton(label, click, because, attributes = {}) {
  const disabled = because !== '';
  const made = button(label, () => {
    if (!disabled) click();
  }, {
    ...attributes,
    'aria-disabled': disabled ? 'true' : null,
    title: disabled ? because : attributes.title ?? null,
    'aria-description': disabled ? because : null
  });
  if (disabled) made.append(el('span', {class: 'why', 'aria-hidden': 'true'}, because));
  return made;
}

/**
 * A labelled select.
 * @param {string} label @param {[string, string][]} options  value and text @param {string} value
 * @param {(value: string) => void} change
 */
export function select(label, options, value, change) {
  const field =
      el('select', {on: {change: () => change(field.value)}},
         ...options.map(([v, text]) => el('option', {value: v, selected: v === value}, text)));
  field.value = value;
  return el('label', {class: 'field'}, el('span', {}, label), field);
}

/** @param {string} label @param {boolean} checked @param {(checked: boolean) => void} change */
export function checkbox(label, checked, change) {
  const box = el('input', {type: 'checkbox', on: {change: () => change(box.checked)}});
  box.checked = checked;
  return el('label', {class: 'check'}, box, el('span', {}, label));
}

/**
 * A status: its glyph, its word, its colour.
 * @param {string} status
 */
export function statusBadge(status) {
  return el(
      'span', {class: `status status-${status.toLowerCase().replace(/[^a-z_]/g, '')}`},
      el('span', {class: 'glyph', 'aria-hidden': 'true'}, statusStyle(status).glyph),
      ` ${oneLine(statusText(status), 40)}`);
}

/**
 * A time in the reader's zone with UTC in its title.
 * @param {number|null} ms @param {string} [text]
 */
export function timeElement(ms, text) {
  if (ms === null) return el('span', {}, NOTHING);
  return el(
      'time', {datetime: new Date(ms).toISOString(), title: `${formatTime(ms)} here, ${formatUtc(ms)}`},
      text ?? formatTime(ms));
}

/**
 * The same with UTC beside it.
 * @param {number|null} ms
 */
export function timeWithUtc(ms) {
  if (ms === null) return timeElement(ms);
  const [time, beside] = timeParts(ms);
  if (beside === '') return timeElement(ms, time);
  return el('span', {}, timeElement(ms, time), ' ', el('span', {class: 'muted'}, `(${beside})`));
}

/**
 * A block of text from outside.
 * @param {string} text @param {Record<string, any>} [attributes]
 */
export function textBlock(text, attributes = {}) {
  return el('pre', {class: 'text', ...attributes}, cleanText(text));
}

/**
 * The states of a part that is not there (yet).
 * @param {'loading'|'empty'|'error'} state @param {string} title @param {string} [more]
 */
export function stateBox(state, title, more = '') {
  return el(
      'div', {class: `state state-${state}`, role: state === 'error' ? 'alert' : 'status'},
      el('span', {class: 'state-icon', 'aria-hidden': 'true'}, {loading: '', empty: '∅', error: '!'}[state]),
      el('div', {}, el('strong', {}, oneLine(title)), more ? el('p', {}, oneLine(more, 600)) : null));
}

/**
 * Says something to who cannot see it.
 * @param {string} text
 */
export function announce(text) {
  const live = document.getElementById('live');
  if (live) live.textContent = text;
}

/**
 * Offers bytes as a file.
 * @param {string} name @param {Blob} blob
 */
export function saveFile(name, blob) {
  const url = URL.createObjectURL(blob);
  const link = el('a', {href: url, download: name, hidden: true});
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/**
 * A button that offers a file.
 * @param {string} what  for the button's name @param {string} form  'CSV': the file's ending, too
 * @param {() => string} name  of the file, without its ending @param {() => Blob|Promise<Blob|null>} make
 */
export function saveButton(what, form, name, make) {
  return button(form, async () => {
    const blob = await make();
    if (blob) saveFile(`${name()}.${form.toLowerCase()}`, blob);
  }, {class: 'quiet', 'aria-label': `${what} as ${form}`});
}

/**
 * What a part shows, as files.
 * @param {string} what  for the buttons' names @param {() => string} name  of the files, without an ending
 * @param {() => {header: string[], rows: unknown[][]}} content
 */
export function saveButtons(what, name, content) {
  const save = (/** @type {string} */ form, /** @type {string} */ type, /** @type {typeof toCsv} */ write) =>
      saveButton(what, form, name, () => {
        const {header, rows} = content();
        return new Blob([write(header, rows)], {type});
      });
  return [save('CSV', 'text/csv', toCsv), save('JSON', 'application/json', toJson)];
}

/** @param {HTMLCanvasElement} canvas @returns {Promise<Blob|null>} */
export function pngOf(canvas) {
  return new Promise((resolve) => canvas.toBlob(resolve));
}

/**
 * A place in which a table is scrolled, by keyboard, too; refill leaves it where it was.
 * @param {string} name @param {Record<string, any>} attributes @param {...Node} children
 */
export function tableRegion(name, attributes, ...children) {
  const region = {class: 'chart-table', tabindex: '0', role: 'region', 'aria-label': `${name} as a table`};
  return el('div', {...region, ...attributes}, ...children);
}

/**
 * A plain table with a caption.
 * @param {string} caption @param {string[]} header @param {(string|Node)[][]} rows @param {Record<string, any>}
 *     [attributes]
 */
export function plainTable(caption, header, rows, attributes = {}) {
  return el(
      'table', attributes, el('caption', {class: attributes.shown ? '' : 'hidden-text'}, caption),
      el('thead', {}, el('tr', {}, ...header.map((h) => el('th', {scope: 'col'}, h)))),
      el('tbody', {}, ...rows.map((row) => el('tr', {}, ...row.map((cell) => el('td', {}, cell))))));
}
