// The columns of the table of models: names, values, text. Pure.

import {isNumber} from './decode.js';
import {formatDuration, formatNumber, formatTime, NOTHING, oneLine, valueText} from './format.js';

/**
 * @typedef {'number'|'text'|'time'|'duration'|'flag'} ColumnType
 *
 * @typedef {Object} Column
 * @property {string} id  in addresses and filters
 * @property {string} title
 * @property {'model'|'metric'|'choice'} group
 * @property {ColumnType} type
 * @property {(row: number) => any} value  for sorting and filtering: number, text, list or null
 * @property {(row: number) => string} text
 * @property {(row: number) => any} raw  for JSON and CSV
 * @property {unknown[]} [candidates]  of a choice
 * @property {(row: number) => number|number[]|null} [chosen]  of a choice: the candidate's number; where several are
 *     chosen together, a list of numbers
 * @property {() => boolean} [several]  of a choice: whether several are chosen together
 * @property {number} [choice]  its number
 */

/**
 * @typedef {Object} Marks  what the user has marked
 * @property {Set<number>} selected  models
 * @property {Map<number, import('./notes.js').Note>} notes
 */

/**
 * Seconds that a model took; of one that runs, until now.
 * @param {import('./decode.js').Table} table
 * @param {number} row
 * @param {number} [now]
 */
export function durationOf(table, row, now) {
  const start = table.start[row];
  if (start === null) return null;
  const end = table.end[row] ?? (table.state[row] === 'RUNNING' && now !== undefined ? now : null);
  return end === null ? null : Math.max(0, (end - start) / 1000);
}

/**
 * What was chosen: a candidate, a list of them, or null.
 * @param {import('./decode.js').Choice} choice @param {number} row
 */
export function chosenValue(choice, row) {
  const chosen = choice.chosen[row];
  if (chosen === null || chosen === undefined) return null;
  return Array.isArray(chosen) ? chosen.map((i) => choice.candidates[i]) : choice.candidates[chosen];
}

/**
 * The same as text; null: not chosen.
 * @param {import('./decode.js').Choice} choice @param {number} row
 */
export function chosenText(choice, row) {
  const chosen = choice.chosen[row];
  if (chosen === null || chosen === undefined) return null;
  return Array.isArray(chosen) ? `[${chosen.map((i) => valueText(choice.candidates[i])).join(', ')}]` :
                                 valueText(choice.candidates[chosen]);
}

/**
 * Whether several candidates are chosen together, as far as that is known.
 * @param {import('./decode.js').Choice} choice
 */
export function choosesSeveral(choice) {
  return choice.nChosen > 1 || choice.chosen.some(Array.isArray);
}

/**
 * Statuses as people read them.
 * @param {string} status
 */
export function statusText(status) {
  return status.toLowerCase().replace(/_/g, ' ');
}

/**
 * All columns of a table: what every model has, metrics, choices.
 * @param {import('./decode.js').Table} table
 * @param {Marks} marks
 * @returns {Column[]}
 */
export function allColumns(table, marks) {
  const number = (/** @type {string} */ id, /** @type {string} */ title, /** @type {(number|null)[]} */ values) => ({
    id,
    title,
    group: /** @type {const} */ ('model'),
    type: /** @type {const} */ ('number'),
    value: (/** @type {number} */ row) => values[row],
    raw: (/** @type {number} */ row) => values[row],
    text: (/** @type {number} */ row) => formatNumber(values[row]),
  });
  const text =
      (/** @type {string} */ id, /** @type {string} */ title, /** @type {(row: number) => string|null} */ value) => ({
        id,
        title,
        group: /** @type {const} */ ('model'),
        type: /** @type {const} */ ('text'),
        value,
        raw: value,
        text: (/** @type {number} */ row) => {
          const t = value(row);
          return t === null ? NOTHING : oneLine(t);
        },
      });
  const time = (/** @type {string} */ id, /** @type {string} */ title, /** @type {(number|null)[]} */ values) => ({
    id,
    title,
    group: /** @type {const} */ ('model'),
    type: /** @type {const} */ ('time'),
    value: (/** @type {number} */ row) => values[row],
    raw: (/** @type {number} */ row) => {
      const ms = values[row];
      return ms === null ? null : new Date(ms).toISOString();
    },
    text: (/** @type {number} */ row) => formatTime(values[row]),
  });
  const flag = (/** @type {string} */ id, /** @type {string} */ title, /** @type {(row: number) => boolean} */ value) =>
      ({
        id,
        title,
        group: /** @type {const} */ ('model'),
        type: /** @type {const} */ ('flag'),
        value,
        raw: value,
        text: (/** @type {number} */ row) => value(row) ? 'yes' : '',
      });
  const failure = (/** @type {number} */ row) => {
    const index = table.failureOf[row];
    return index === null || index === undefined ? null : table.failures[index];
  };
  const duration = (/** @type {number} */ row) => durationOf(table, row);
  // Without them a name such as `flops` means the metric that an evaluator reports.
  const costs = [number('params', 'Parameters', table.params), number('flops', 'FLOPs', table.flops)].filter(
      (column) => table[/** @type {'params'|'flops'} */ (column.id)].some((value) => value !== null));
  const note = (/** @type {number} */ row) => marks.notes.get(table.model[row]);
  /** @type {Column[]} */
  const columns = [
    number('model', 'Model', table.model),
    {...text('status', 'Status', (row) => table.state[row]), text: (row) => statusText(table.state[row])},
    {
      id: 'duration',
      title: 'Duration',
      group: 'model',
      type: 'duration',
      value: duration,
      raw: duration,
      text: (row) => formatDuration(duration(row))
    },
    number('steps', 'Steps', table.steps),
    number('attempts', 'Attempts', table.attempts),
    ...costs,
    time('start', 'Start', table.start),
    time('end', 'End', table.end),
    number('latest', 'Latest', table.latest),
    number('front', 'Front', table.front),
    number('violation', 'Violation', table.violation),
    number('stopped_step', 'Stopped at step', table.stoppedStep),
    text('reason', 'Reason', (row) => failure(row)?.reason ?? null),
    text('message', 'Message', (row) => failure(row)?.message ?? null),
    flag('star', 'Star', (row) => note(row)?.star ?? false),
    text('note', 'Note', (row) => note(row)?.note || null),
    flag('selected', 'Selected', (row) => marks.selected.has(table.model[row])),
  ];
  for (const [name, values] of table.metrics) {
    columns.push({
      id: `metric.${name}`,
      title: name,
      group: 'metric',
      type: 'number',
      value: (row) => values[row],
      raw: (row) => values[row],
      text: (row) => formatNumber(values[row]),
    });
  }
  table.choices.forEach((choice, index) => {
    const numeric = choice.candidates.length > 0 && choice.candidates.every(isNumber);
    columns.push({
      id: `choice.${choice.label}`,
      title: choice.label,
      group: 'choice',
      type: numeric ? 'number' : 'text',
      value: (row) => {
        const value = chosenValue(choice, row);
        if (!numeric || value === null) return value;
        return Array.isArray(value) ? value.map(Number) : Number(value);
      },
      raw: (row) => chosenValue(choice, row),
      text: (row) => chosenText(choice, row) ?? NOTHING,
      candidates: choice.candidates,
      chosen: (row) => choice.chosen[row] ?? null,
      several: () => choosesSeveral(choice),
      choice: index,
    });
  });
  return columns;
}

/**
 * What a table shows where nobody has said otherwise: the objectives first, then choices that differ.
 * @param {import('./decode.js').Table} table
 * @returns {string[]} ids
 */
export function defaultColumns(table) {
  const metrics =
      [...new Set([...table.objectives.map((o) => o.metric), ...table.constraints.map((c) => c.metric)])].filter(
          (metric) => table.metrics.has(metric));
  return [
    'model', 'status', ...metrics.map((m) => `metric.${m}`), 'duration', 'steps',
    ...table.choices.slice(0, 12).map((c) => `choice.${c.label}`)
  ];
}

/**
 * What models can be measured by: metrics, how long they took, and what they cost. A metric that only repeats a cost is
 * left out, where it is no objective.
 * @param {Column[]} columns
 * @param {import('./decode.js').Table} table
 */
export function measures(columns, table) {
  const ofModels = columns.filter((c) => ['duration', 'params', 'flops'].includes(c.id));
  const objectives = new Set(table.objectives.map((o) => `metric.${o.metric}`));
  const repeats = (/** @type {Column} */ metric) => {
    const cost = ofModels.find((c) => `metric.${c.id}` === metric.id);
    return cost !== undefined && !objectives.has(metric.id) &&
        table.model.every((_, row) => metric.value(row) === null || metric.value(row) === cost.value(row));
  };
  return columns.filter((c) => c.group === 'metric' && !repeats(c)).concat(ofModels);
}

/**
 * The metrics that curves can show: those that models report; before the first report, those that have final values.
 * `default` is the first.
 * @param {import('./decode.js').Table} table
 */
export function curveMetrics(table) {
  const names = table.reported.size > 0 ? [...table.reported] : ['default', ...table.metrics.keys()];
  return [...new Set(names)].sort((a, b) => Number(b === 'default') - Number(a === 'default'));
}

/**
 * The column that a name in a filter or an address means; a name without a group is looked for among the model's own,
 * then metrics, then choices.
 * @param {Column[]} columns
 * @param {string} name
 */
export function findColumn(columns, name) {
  return columns.find((c) => c.id === name) ?? columns.find((c) => c.id === `metric.${name}`) ??
      columns.find((c) => c.id === `choice.${name}`) ?? null;
}
