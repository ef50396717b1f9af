// The language of filters: `accuracy > 0.9 and cells.0.op = skip`. docs/web_views.md describes it. Pure.
//
//   expression = conjunction {("or" | "||") conjunction}
//   conjunction = term {("and" | "&&") term}
//   term = ("not" | "!") term | "(" expression ")" | comparison
//   comparison = name operator value | name ["not"] "in" "(" value {"," value} ")" | name "is" ["not"] state | name
//   operator = "=" | "==" | "!=" | "<" | "<=" | ">" | ">=" | "~" | "!~"
//   state = "missing" | "nan" | "finite"
//
// A name or a value may stand in quotes ("..", '..' or `..`).

import {findColumn} from './columns.js';
import {valueText} from './format.js';

/** What is wrong with a filter, and where: characters `start` to `end` of its text. */
export class FilterError extends Error {
  /** @param {string} message @param {number} start @param {number} end */
  constructor(message, start, end) {
    super(message);
    this.start = start;
    this.end = Math.max(end, start + 1);
  }
}

/**
 * @typedef {Object} Token
 * @property {'word'|'quoted'|'operator'|'end'} kind
 * @property {string} text
 * @property {number} start
 * @property {number} end
 */

/** Most nested parentheses and "not": the parser calls itself. */
const MAX_DEPTH = 200;

/** @param {string} text @returns {Token[]} */
export function tokenize(text) {
  /** @type {Token[]} */
  const tokens = [];
  let at = 0;
  while (at < text.length) {
    const c = text[at];
    if (/\s/.test(c)) {
      ++at;
      continue;
    }
    const start = at;
    if (c === '"' || c === '\'' || c === '`') {
      let value = '';
      ++at;
      while (at < text.length && text[at] !== c) {
        if (text[at] === '\\' && at + 1 < text.length) ++at;
        value += text[at++];
      }
      if (at >= text.length) throw new FilterError(`the quote ${c} has no end`, start, text.length);
      tokens.push({kind: 'quoted', text: value, start, end: ++at});
      continue;
    }
    const operator = /^(?:==|!=|<=|>=|!~|&&|\|\||[=<>~(),!≤≥≠])/.exec(text.slice(at, at + 2));
    if (operator) {
      at += operator[0].length;
      tokens.push({kind: 'operator', text: operator[0], start, end: at});
      continue;
    }
    while (at < text.length && !/[\s=<>~(),!"'`&|≤≥≠]/.test(text[at])) ++at;
    if (at === start) throw new FilterError(`'${c}' means nothing here`, start, start + 1);
    tokens.push({kind: 'word', text: text.slice(start, at), start, end: at});
  }
  tokens.push({kind: 'end', text: '', start: text.length, end: text.length});
  return tokens;
}

/** @type {Record<string, string>} */
const OPERATORS = {
  '=': '=',
  '==': '=',
  '!=': '!=',
  '≠': '!=',
  '<': '<',
  '<=': '<=',
  '≤': '<=',
  '>': '>',
  '>=': '>=',
  '≥': '>=',
  '~': '~',
  '!~': '!~'
};

/**
 * Compiles a filter; an empty one keeps every row.
 * @param {string} text
 * @param {import('./columns.js').Column[]} columns
 * @returns {(row: number) => boolean}
 * @throws {FilterError}
 */
export function compileFilter(text, columns) {
  const tokens = tokenize(text);
  if (tokens.length === 1) return () => true;
  let next = 0;

  const peek = () => tokens[next];
  const isWord = (/** @type {string} */ word) => peek().kind === 'word' && peek().text.toLowerCase() === word;
  const isOperator = (/** @type {string[]} */...texts) => peek().kind === 'operator' && texts.includes(peek().text);
  const fail = (/** @type {string} */ message, token = peek()) => {
    throw new FilterError(message, token.start, token.end);
  };

  /** @param {number} depth @returns {(row: number) => boolean} */
  function expression(depth) {
    const parts = [conjunction(depth)];
    while (isWord('or') || isOperator('||')) {
      ++next;
      parts.push(conjunction(depth));
    }
    return parts.length === 1 ? parts[0] : (row) => parts.some((part) => part(row));
  }

  /** @param {number} depth @returns {(row: number) => boolean} */
  function conjunction(depth) {
    const parts = [term(depth)];
    while (isWord('and') || isOperator('&&')) {
      ++next;
      parts.push(term(depth));
    }
    return parts.length === 1 ? parts[0] : (row) => parts.every((part) => part(row));
  }

  /** @param {number} depth @returns {(row: number) => boolean} */
  function term(depth) {
    if (depth > MAX_DEPTH) fail(`more than ${MAX_DEPTH} levels of parentheses and "not"`);
    if (isWord('not') || isOperator('!')) {
      ++next;
      const inner = term(depth + 1);
      return (row) => !inner(row);
    }
    if (isOperator('(')) {
      const open = peek();
      ++next;
      const inner = expression(depth + 1);
      if (!isOperator(')'))
        fail(
            peek().kind === 'end' ? 'this parenthesis is not closed' : `expected ")", "and" or "or"`,
            peek().kind === 'end' ? open : peek());
      ++next;
      return inner;
    }
    return comparison();
  }

  /** @returns {(row: number) => boolean} */
  function comparison() {
    const name = peek();
    if (name.kind === 'end') fail('expected a column\'s name here');
    if (name.kind === 'operator') fail(`expected a column's name before "${name.text}"`);
    const column = findColumn(columns, name.text);
    if (!column) {
      const near = nearest(name.text, columns);
      fail(`there is no column "${name.text}"${near ? `; did you mean ${near}?` : ''}`, name);
    }
    ++next;
    const known = /** @type {import('./columns.js').Column} */ (column);
    if (isWord('is')) return isState(known);
    if (isWord('in')) return isIn(known, false);
    if (isWord('not') && tokens[next + 1]?.text.toLowerCase() === 'in') {
      ++next;
      return isIn(known, true);
    }
    if (peek().kind === 'operator' && OPERATORS[peek().text]) {
      const operator = OPERATORS[peek().text];
      ++next;
      return compare(known, operator, value());
    }
    if (known.type === 'flag') return (row) => known.value(row);
    return fail(`expected an operator after "${name.text}": = != < <= > >= ~ in is`);
  }

  /** @returns {Token} */
  function value() {
    const token = peek();
    if (token.kind === 'end') fail('expected a value here');
    if (token.kind === 'operator') fail(`expected a value before "${token.text}"`);
    ++next;
    return token;
  }

  /** @param {import('./columns.js').Column} column @returns {(row: number) => boolean} */
  function isState(column) {
    ++next;
    const negated = isWord('not');
    if (negated) ++next;
    const token = value();
    const state = token.text.toLowerCase();
    // A Map: an object also has entries for the names of its methods.
    const test = new Map(/** @type {[string, (v: any) => boolean][]} */ ([
                   ['missing', (v) => v === null || v === undefined],
                   ['nan', (v) => Number.isNaN(v)],
                   ['finite', (v) => Number.isFinite(v)],
                 ])).get(state);
    if (!test) return fail(`"is" goes with missing, nan or finite, not with "${token.text}"`, token);
    return (row) => test(column.value(row)) !== negated;
  }

  /** @param {import('./columns.js').Column} column @param {boolean} negated @returns {(row: number) => boolean} */
  function isIn(column, negated) {
    ++next;
    if (!isOperator('(')) fail('expected "(" and a list of values after "in"');
    ++next;
    const tests = [compare(column, '=', value())];
    while (isOperator(',')) {
      ++next;
      tests.push(compare(column, '=', value()));
    }
    if (!isOperator(')')) fail('expected "," or ")"');
    ++next;
    return (row) => tests.some((test) => test(row)) !== negated;
  }

  const filter = expression(0);
  if (peek().kind !== 'end') fail(`expected "and" or "or" before "${peek().text}"`);
  return filter;
}

/**
 * Seconds of "90", "90s", "2.5m", "3h", "1d"; NaN: none of these.
 * @param {string} text
 */
function readDuration(text) {
  const match = /^([0-9.]+(?:e[+-]?\d+)?)(ms|s|m|min|h|d)?$/i.exec(text);
  if (!match) return NaN;
  const units = /** @type {Record<string, number>} */ ({ms: 0.001, s: 1, m: 60, min: 60, h: 3600, d: 86400});
  return Number(match[1]) * units[(match[2] ?? 's').toLowerCase()];
}

/**
 * A moment, or a whole day, month or year in the reader's zone, as the table shows times (Date.parse takes such a one
 * as in UTC): where it begins, and where the next one does. NaN: it is none.
 * @param {string} text
 * @returns {[number, number]}
 */
function readTime(text) {
  const [, year, month, day, rest] = /^(\d{4})(?:-(\d\d)(?:-(\d\d)(.+)?)?)?$/.exec(text) ?? [];
  // Date.parse goes on into the next month.
  const days = new Date(Number(year), Number(month ?? 1), 0).getDate();
  if (year === undefined || Number(day ?? 1) > days) return [NaN, NaN];
  if (rest !== undefined) return [Date.parse(text), Date.parse(text)];
  const [y, m, d] = [Number(year), Number(month ?? 1) - 1, Number(day ?? 1)];
  const next = day !== undefined ? [y, m, d + 1] : month !== undefined ? [y, m + 1, 1] : [y + 1, 0, 1];
  const from = Date.parse(`${year}-${month ?? '01'}-${day ?? '01'}T00:00`);
  return [from, new Date(next[0], next[1], next[2]).getTime()];
}

/** @param {string} text */
function readFilterNumber(text) {
  if (/^[+-]?(inf|infinity)$/i.test(text)) return text.startsWith('-') ? -Infinity : Infinity;
  return text.trim() === '' ? NaN : Number(text);
}

/**
 * @param {import('./columns.js').Column} column
 * @param {string} operator
 * @param {Token} token
 * @returns {(row: number) => boolean}
 */
function compare(column, operator, token) {
  const fail = (/** @type {string} */ message) => {
    throw new FilterError(message, token.start, token.end);
  };
  if (operator === '~' || operator === '!~') {
    const part = token.text.toLowerCase();
    return (row) => column.text(row).toLowerCase().includes(part) === (operator === '~');
  }
  if (column.type === 'flag') {
    const wanted = /^(yes|true|1)$/i.test(token.text);
    if (!wanted && !/^(no|false|0)$/i.test(token.text)) fail(`"${column.title}" is yes or no`);
    if (operator !== '=' && operator !== '!=') fail(`"${column.title}" is yes or no: compare it with = or !=`);
    return (row) => (column.value(row) === wanted) === (operator === '=');
  }
  if (column.candidates && (operator === '=' || operator === '!=')) return compareChoice(column, operator, token);
  if (column.type === 'text') {
    if (operator !== '=' && operator !== '!=') {
      if (column.candidates) fail(`the candidates of ${column.title} are no numbers: compare with =, !=, ~ or in`);
      fail(`${column.title} is text: compare it with =, !=, ~ or in`);
    }
    const wanted = token.text.toLowerCase();
    const status = wanted.replace(/ /g, '_');
    return (row) => {
      const value = column.value(row);
      const same = value !== null &&
          (value.toLowerCase() === wanted || (column.id === 'status' && value.toLowerCase() === status));
      return same === (operator === '=');
    };
  }
  const number = column.type === 'duration' ? readDuration(token.text) : readFilterNumber(token.text);
  const [from, next] = column.type === 'time' ? readTime(token.text) : [number, number];
  if (Number.isNaN(from)) {
    if (column.type === 'duration') fail(`"${token.text}" is no duration: write 90s, 2.5m, 3h or 1d`);
    if (column.type === 'time') fail(`"${token.text}" is no time: write 2026, 2026-01, 2026-01-31 or 2026-01-31T12:00`);
    if (/^nan$/i.test(token.text)) fail(`nothing equals NaN: write "${column.title} is nan"`);
    fail(`${column.title} is a number, "${token.text}" is none`);
  }
  const upTo = (/** @type {number} */ v) => v < next || v === from;
  const tests = /** @type {Record<string, (v: number) => boolean>} */ ({
    '=': (v) => v >= from && upTo(v),
    '!=': (v) => !(v >= from && upTo(v)),
    '<': (v) => v < from,
    '<=': upTo,
    '>': (v) => v >= next && v !== from,
    '>=': (v) => v >= from,
  });
  const test = tests[operator];
  // What is missing differs from every value, and is neither more nor less.
  return (row) => {
    const value = column.value(row);
    if (value === null || value === undefined) return operator === '!=';
    return Array.isArray(value) ? value.some(test) : test(value);
  };
}

/**
 * @param {import('./columns.js').Column} column
 * @param {string} operator
 * @param {Token} token
 * @returns {(row: number) => boolean}
 */
function compareChoice(column, operator, token) {
  const candidates = column.candidates ?? [];
  const number = readFilterNumber(token.text);
  const texts = candidates.map((c) => valueText(c));
  const several = column.several?.() ?? false;
  // Candidates may differ in capitals only: what is spelled as in the space means nothing else.
  const isExact = texts.includes(token.text) || (several && isCombination(token.text, texts));
  const spelled = (/** @type {string} */ t) => isExact ? t : t.toLowerCase();
  const text = spelled(token.text);
  const names = texts.map(spelled);
  const wanted =
      new Set(candidates.flatMap((c, i) => (typeof c === 'number' ? c === number : names[i] === text) ? [i] : []));
  const together = several && isCombination(text, names);
  if (wanted.size === 0 && !together) {
    const known = candidates.slice(0, 8).map(valueText).join(', ');
    throw new FilterError(
        `${column.title} has no candidate "${token.text}"; it has ${known}${candidates.length > 8 ? ', …' : ''}`,
        token.start, token.end);
  }
  return (row) => {
    // By the numbers of candidates: a candidate may be a list itself.
    const chosen = column.chosen?.(row) ?? null;
    const same = Array.isArray(chosen) ?
        chosen.some((index) => wanted.has(index)) || (together && spelled(column.text(row)) === text) :
        chosen !== null && wanted.has(chosen);
    return same === (operator === '=');
  };
}

/**
 * Whether a text names candidates that are chosen together, as the table shows them: "[a, b]".
 * @param {string} text @param {string[]} names  of the candidates
 */
function isCombination(text, names) {
  if (!text.startsWith('[')) return false;
  // Where names may begin. A name may hold what stands between two of them: all ways to read the text are followed.
  const begins = new Set([1]);
  for (const begin of begins) {
    for (const name of names) {
      if (!text.startsWith(name, begin)) continue;
      const rest = text.slice(begin + name.length);
      if (rest === ']') return true;
      if (rest.startsWith(', ')) begins.add(begin + name.length + 2);
    }
  }
  return false;
}

/**
 * The name that looks most like it; "": none does.
 * @param {string} name @param {import('./columns.js').Column[]} columns
 */
function nearest(name, columns) {
  let best = '';
  let least = Math.max(2, Math.floor(name.length / 3)) + 1;
  for (const column of columns) {
    for (const candidate of [column.id, column.id.replace(/^(metric|choice)\./, '')]) {
      if (candidate.length > 60) continue;
      const distance = editDistance(name.toLowerCase().slice(0, 60), candidate.toLowerCase());
      if (distance < least) {
        least = distance;
        best = candidate;
      }
    }
  }
  return best;
}

/** @param {string} a @param {string} b */
function editDistance(a, b) {
  let row = Array.from({length: b.length + 1}, (_, j) => j);
  for (let i = 1; i <= a.length; ++i) {
    const above = row;
    row = [i];
    for (let j = 1; j <= b.length; ++j) {
      row.push(Math.min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1)));
    }
  }
  return row[b.length];
}

/**
 * A name or value as a filter writes it: in quotes where it must be.
 * @param {unknown} value
 */
export function quoteForFilter(value) {
  const text = typeof value === 'string' ? value : valueText(value);
  if (/^[\p{L}\p{N}_.:/+-]+$/u.test(text) && !/^(and|or|not|in|is)$/i.test(text)) return text;
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}

/**
 * The rows that a filter keeps, in their order.
 * @param {number} rows @param {(row: number) => boolean} filter
 */
export function filterRows(rows, filter) {
  const kept = [];
  for (let row = 0; row < rows; ++row) {
    if (filter(row)) kept.push(row);
  }
  return kept;
}
