// Text for people: numbers, times, sizes, and text from outside. Pure.

/** What stands where nothing is known. */
export const NOTHING = '–';

/** Characters of a text from outside that are shown; the rest is a note. */
const MAX_TEXT = 20000;

/**
 * The shortest decimal that is this float32, as JSON has it: 0.9, not 0.8999999761581421. Other numbers stay as they are.
 * @param {number} value
 */
export function asReported(value) {
  let digits = 6;
  while (digits < 9 && Math.fround(Number(value.toPrecision(digits))) !== value) ++digits;
  return Math.fround(value) === value ? Number(value.toPrecision(digits)) : value;
}

/**
 * A number with as many digits as people read; `digits` counts the significant ones.
 * @param {number|null|undefined} value
 * @param {number} [digits]
 */
export function formatNumber(value, digits = 4) {
  if (value === null || value === undefined) return NOTHING;
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '∞' : '−∞';
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return grouped(value);
  const size = Math.abs(value);
  if (size >= 1e7 || size < 1e-4) return value.toExponential(digits - 1).replace('e+', 'e').replace(/-/g, '−');
  return String(Number(value.toPrecision(digits))).replace('-', '−');
}

/**
 * 1234567 as "1,234,567".
 * @param {number} value
 */
function grouped(value) {
  return String(Math.abs(value)).replace(/\B(?=(\d{3})+$)/g, ',').replace(/^/, value < 0 ? '−' : '');
}

/**
 * 1234567 as "1.23 M", as `show-graph` prints it.
 * @param {number|null|undefined} value
 */
export function formatCount(value) {
  if (value === null || value === undefined) return '?';
  for (const [limit, unit] of /** @type {[number, string][]} */ ([[1e9, 'G'], [1e6, 'M'], [1e4, 'k']])) {
    if (value >= limit) return `${Number((value / (limit === 1e4 ? 1e3 : limit)).toPrecision(3))} ${unit}`;
  }
  return String(Math.round(value));
}

/** @param {number|null|undefined} bytes */
export function formatBytes(bytes) {
  if (bytes === null || bytes === undefined) return NOTHING;
  let value = bytes;
  for (const unit of ['B', 'KiB', 'MiB', 'GiB']) {
    if (value < 1024) return `${unit === 'B' ? value : Number(value.toPrecision(3))} ${unit}`;
    value /= 1024;
  }
  return `${Number(value.toPrecision(3))} TiB`;
}

/**
 * Seconds as "850 ms", "12.3 s", "4 min 05 s", "2 h 13 min", "3 d 4 h".
 * @param {number|null|undefined} seconds
 * @returns {string}
 */
export function formatDuration(seconds) {
  if (seconds === null || seconds === undefined || Number.isNaN(seconds)) return NOTHING;
  if (!Number.isFinite(seconds)) return '∞';
  if (seconds < 0) return `−${formatDuration(-seconds)}`;
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${Number(seconds.toPrecision(3))} s`;
  const s = Math.round(seconds);
  const two = (/** @type {number} */ n) => String(n).padStart(2, '0');
  if (s < 3600) return `${Math.floor(s / 60)} min ${two(s % 60)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`;
  const hours = Math.round(seconds / 3600);
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/**
 * A time in the reader's zone.
 * @param {number|null|undefined} ms since 1970
 */
export function formatTime(ms) {
  if (ms === null || ms === undefined) return NOTHING;
  const t = new Date(ms);
  const two = (/** @type {number} */ n) => String(n).padStart(2, '0');
  return `${t.getFullYear()}-${two(t.getMonth() + 1)}-${two(t.getDate())} ${two(t.getHours())}:${
             two(t.getMinutes())}:` +
      two(t.getSeconds());
}

/**
 * The same time in UTC, for titles.
 * @param {number|null|undefined} ms since 1970
 */
export function formatUtc(ms) {
  return ms === null || ms === undefined ? '' : `${new Date(ms).toISOString().replace('T', ' ').slice(0, 19)} UTC`;
}

/**
 * A time in the reader's zone, and UTC to stand beside it, with the day only where it is another one. Where both are the
 * same, UTC alone, and ''.
 * @param {number} ms since 1970 @param {string} [local]
 */
export function timeParts(ms, local = formatTime(ms)) {
  const utc = formatUtc(ms);
  if (utc.startsWith(local)) return [utc, ''];
  return [local, utc.slice(0, 10) === local.slice(0, 10) ? utc.slice(11) : utc];
}

/**
 * A time with UTC beside it.
 * @param {number|null} ms since 1970
 */
export function timeText(ms) {
  if (ms === null) return NOTHING;
  const [time, beside] = timeParts(ms);
  return beside === '' ? time : `${time} (${beside})`;
}

/**
 * How far the reader's zone is from UTC at a time: "UTC+05:30".
 * @param {number} ms since 1970 @param {number} [offset]  minutes, as Date has them: west is positive
 */
export function zoneText(ms, offset = new Date(ms).getTimezoneOffset()) {
  const two = (/** @type {number} */ n) => String(n).padStart(2, '0');
  const minutes = Math.abs(offset);
  return offset === 0 ? 'UTC' : `UTC${offset > 0 ? '−' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}

/**
 * "3 min ago".
 * @param {number} ms since 1970 @param {number} now
 */
export function formatAge(ms, now) {
  const seconds = (now - ms) / 1000;
  if (seconds < 5) return 'just now';
  const rounded = seconds < 60 ? Math.round(seconds) : seconds;
  return `${formatDuration(rounded).replace(/ (min) \d\d s$/, ' $1')} ago`;
}

/**
 * Text from outside (labels, logs, exceptions) so that it can only be read: ANSI sequences are removed; other control
 * characters and those that change the direction of text become visible; a long one is clipped.
 * @param {unknown} text
 * @param {number} [limit]
 */
export function cleanText(text, limit = MAX_TEXT) {
  let value = typeof text === 'string' ? text : String(text);
  const length = value.length;
  if (length > limit) value = value.slice(0, limit);
  value = value
              // eslint-disable-next-line no-control-regex
              .replace(/\u001b\[[0-9;:?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)?/g, '')
              .replace(/\r\n/g, '\n')
              .replace(
                  /[\u0000-\u0008\u000b-\u001f\u007f]/g,
                  (c) => String.fromCharCode(0x2400 + (c === '\u007f' ? 0x21 : c.charCodeAt(0))))
              .replace(/[\u0080-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, '\ufffd');
  return length > limit ? `${value}… (${grouped(length - limit)} more characters)` : value;
}

/**
 * The same on one line.
 * @param {unknown} text @param {number} [limit]
 */
export function oneLine(text, limit = 300) {
  return cleanText(text, limit).replace(/[\n\t]+/g, ' ');
}

/**
 * A candidate or any other JSON value as people write it.
 * @param {unknown} value
 */
export function valueText(value) {
  if (value === null || value === undefined) return NOTHING;
  if (typeof value === 'string') return oneLine(value);
  if (typeof value === 'number') return String(value);
  return oneLine(JSON.stringify(value));
}

/**
 * "1 model", "5 models".
 * @param {number} count @param {string} noun
 */
export function counted(count, noun) {
  return `${formatNumber(count)} ${noun}${count === 1 ? '' : 's'}`;
}
