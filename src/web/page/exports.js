// CSV and JSON of what is shown. Pure.

/**
 * One cell of CSV. A text that a spreadsheet would take for a formula gets an apostrophe, which spreadsheets do not
 * show.
 * @param {unknown} value
 */
export function csvCell(value) {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') return String(value);
  let text = typeof value === 'string' ? value : JSON.stringify(value);
  if (/^[\s\u0000-\u0020]*[=+\-@\t\r|%]/.test(text) && !/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text))
    text = `'${text}`;
  return /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

/**
 * @param {string[]} header
 * @param {Iterable<unknown[]>} rows
 */
export function toCsv(header, rows) {
  const lines = [header.map(csvCell).join(',')];
  for (const row of rows) lines.push(row.map(csvCell).join(','));
  return `${lines.join('\r\n')}\r\n`;
}

/**
 * Names of keys: what another column has, too, gets a number ("depth", "depth (2)").
 * @param {string[]} header
 */
function keysOf(header) {
  /** @type {Set<string>} */
  const keys = new Set();
  for (const name of header) {
    let key = name;
    for (let n = 2; keys.has(key); ++n) key = `${name} (${n})`;
    keys.add(key);
  }
  return [...keys];
}

/**
 * Objects by column; numbers that JSON does not know are texts ("NaN", "Infinity"), as in `columns`.
 * @param {string[]} header
 * @param {Iterable<unknown[]>} rows
 */
export function toJson(header, rows) {
  const list = [];
  const keys = keysOf(header);
  for (const row of rows) list.push(Object.fromEntries(keys.map((key, i) => [key, row[i] ?? null])));
  return JSON.stringify(
      list, (_, value) => typeof value === 'number' && !Number.isFinite(value) ? String(value) : value, 1);
}

/**
 * A name that every file system takes.
 * @param {string} name
 */
export function fileName(name) {
  return name.replace(/[^\w.-]+/g, '_').replace(/^\.+/, '').slice(0, 100) || 'lanista';
}
