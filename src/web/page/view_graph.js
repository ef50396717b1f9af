// The architecture of one model.

import {ApiError, isAbsent} from './api.js';
import {choiceDepths} from './axes.js';
import {chosenText} from './columns.js';
import {button, el, fill, plainTable, pngOf, saveButton, stateBox, tableRegion} from './dom.js';
import {toCsv} from './exports.js';
import {counted, formatCount, formatNumber, oneLine, valueText} from './format.js';
import {attributesText, GraphDrawing, shapeText} from './graph_drawing.js';
import {allNodes} from './layout.js';
import {ModelGraphs} from './model_graphs.js';
import {otherView, writeRoute} from './route.js';

/** Nodes of the table in the page; the CSV has all. */
const LISTED = 500;

export class GraphView {
  /** @param {import('./store.js').Store} store */
  constructor(store) {
    this.store = store;
    this.model = /** @type {number} */ (store.route.model);
    this.title = `Architecture of model ${this.model}`;
    this.graphs = new ModelGraphs(store);
    /** @type {import('./model_graphs.js').ModelGraph|null} what is drawn */
    this.shown = null;
    this.place = el('div', {class: 'view'});
    this.element =
        el('div', {class: 'view'},
           el('div', {class: 'row spread'}, el('h1', {}, this.title),
              el('div', {class: 'row'},
                 el('a', {href: writeRoute(otherView(store.route, 'model', this.model))}, `Model ${this.model}`))),
           this.place);
    fill(
        this.place,
        stateBox('loading', 'The graph is being made …', 'It is made as an export makes it: this may take a moment.'));
    this.show();
  }

  destroy() {
    this.graphs.destroy();
    this.drawing?.destroy();
  }

  /** @param {Set<string>} changes */
  update(changes) {
    this.graphs.follow(changes);
    this.show();
  }

  headIsBack() {
    this.graphs.headIsBack();
  }

  show() {
    const got = this.graphs.get(this.model);
    if (got instanceof ApiError) {
      // The model may have a row by now.
      this.showSample(got);
    } else if (got && got !== this.shown) {
      this.shown = got;
      try {
        this.draw(got);
      } catch (error) {
        this.showSample(new ApiError(-1, String(error)));
      }
    }
  }

  /**
   * No graph: says why, and shows the sample as a tree.
   * @param {ApiError} why
   */
  showSample(why) {
    const {current} = this.store;
    const row = current?.table.rowOf.get(this.model);
    const absent = isAbsent(why);
    const box = stateBox(
        absent ? 'empty' : 'error', absent ? 'There is no graph of this model' : 'The graph cannot be shown',
        why.message);
    if (!current || row === undefined) {
      fill(this.place, box);
      return;
    }
    const depths = choiceDepths(current.table.choices);
    fill(
        this.place, box,
        el('section', {class: 'card view'}, el('h2', {}, 'What was chosen'),
           el('ul', {class: 'plain'}, ...current.table.choices.map((choice) => {
             const text = chosenText(choice, row);
             const item =
                 el('li', {}, `${oneLine(choice.label, 120)}: `,
                    text === null ? el('span', {class: 'off'}, 'not chosen') : el('strong', {class: 'mono'}, text));
             item.style.paddingLeft = `${Math.min(6, depths.get(choice.label) ?? 0) * 20}px`;
             return item;
           }))));
  }

  /** @param {import('./model_graphs.js').ModelGraph} made */
  draw({document, graph}) {
    const nodes = allNodes(graph.nodes);
    const details =
        el('section', {class: 'card view', 'aria-label': 'Node', 'aria-live': 'polite'},
           el('p', {class: 'muted'}, 'Click a node, or walk with the arrow keys, to see all of it.'));
    const {store} = this;
    const drawing = new GraphDrawing(graph, {
      label: this.title,
      pointed: (node) => fill(details, ...describeNode(node)),
      kept: {open: store.param('open'), zoom: store.param('z')},
      moved: ({open, zoom}) => store.setParams({open, z: zoom})
    });
    this.drawing = drawing;
    drawing.makeReachable();
    const found = el('span', {class: 'muted', role: 'status'});
    const search = el('input', {
      type: 'search',
      'aria-label': 'Search nodes',
      placeholder: 'name, operator, attribute',
      on: {
        input: () => {
          const count = drawing.search(search.value);
          found.textContent = search.value ? counted(count, 'node') : '';
          store.setParams({q: search.value});
        }
      }
    });
    search.value = store.param('q');
    if (search.value) found.textContent = counted(drawing.search(search.value, false), 'node');
    const table = tableRegion('Nodes', {hidden: true});
    const tableButton = button('Table', () => {
      table.hidden = !table.hidden;
      tableButton.setAttribute('aria-pressed', String(!table.hidden));
      if (!table.hidden && !table.firstChild) {
        fill(
            table,
            plainTable(
                'Nodes', ['Node', 'Type', 'Shape', 'Parameters', 'FLOPs', 'Attributes'],
                nodes.slice(0, LISTED).map(
                    (node) =>
                        [`${'  '.repeat(node.depth)}${oneLine(node.path, 120)}`, oneLine(node.type, 80),
                         shapeText(node.shape), formatNumber(node.parameters), formatNumber(node.flops),
                         oneLine(attributesText(node), 200)])),
            nodes.length > LISTED ? el('p', {}, `${nodes.length - LISTED} more are in the CSV.`) : null);
      }
    }, {'aria-pressed': 'false', class: 'quiet'});
    const save = (/** @type {string} */ form, /** @type {() => Blob|Promise<Blob|null>} */ make) =>
        saveButton(`Architecture of model ${this.model}`, form, () => `model_${this.model}_graph`, make);
    fill(
        this.place,
        el('div', {class: 'row spread card'},
           el('div', {class: 'row'},
              el('span', {},
                 `${oneLine(graph.name, 60)}: ${counted(nodes.length, 'node')}, ${
                     formatCount(graph.parameters)} parameters, ${formatCount(graph.flops)} FLOPs`),
              search, found),
           el('div', {class: 'tools'}, button('Open all', () => drawing.foldAll(true), {class: 'quiet'}),
              button('Fold all', () => drawing.foldAll(false), {class: 'quiet'}),
              button('+', () => drawing.scaleBy(1.4), {class: 'quiet', 'aria-label': 'Zoom in'}),
              button('−', () => drawing.scaleBy(1 / 1.4), {class: 'quiet', 'aria-label': 'Zoom out'}),
              button('Fit', () => drawing.fit(true), {class: 'quiet'}), tableButton,
              save('CSV', () => new Blob([nodesAsCsv(nodes)], {type: 'text/csv'})),
              save('JSON', () => new Blob([JSON.stringify(document, null, 1)], {type: 'application/json'})),
              save('SVG', () => new Blob([drawing.toSvg()], {type: 'image/svg+xml'})),
              save('PNG', () => pngOf(drawing.toCanvas())))),
        ...graph.warnings.map((warning) => el('p', {class: 'muted message'}, `warning: ${oneLine(warning, 400)}`)),
        el('div', {class: 'split'}, drawing.element, details), table,
        el('p', {class: 'sentence'},
           'Double click or Enter folds a cell. Thick blue frames have parameters, dashed ones were chosen. Arrow keys follow the edges, + and − zoom, 0 fits.'));
  }
}

/** @param {import('./layout.js').GraphNode[]} nodes */
function nodesAsCsv(nodes) {
  return toCsv(
      ['node', 'type', 'shape', 'parameters', 'flops', 'attributes'],
      nodes.map((n) => [n.path, n.type, shapeText(n.shape), n.parameters, n.flops, attributesText(n)]));
}

/** @param {import('./layout.js').GraphNode|null} node */
function describeNode(node) {
  if (!node) return [el('p', {class: 'muted'}, 'An input of the graph.')];
  const fact =
      (/** @type {string} */ name,
       /** @type {string} */ value) => [el('dt', {}, name), el('dd', {class: 'mono'}, value)];
  return [
    el('h2', {}, oneLine(node.path, 200)),
    el('dl', {class: 'facts'}, ...fact('type', oneLine(node.type, 200)),
       ...node.choice ? fact('chosen by', oneLine(node.choice, 200)) : [],
       ...node.outputs.length > 0 ? fact('output', oneLine(node.outputs.join(', '), 400)) : [],
       ...fact('parameters', formatNumber(node.parameters)), ...fact('FLOPs', formatNumber(node.flops)),
       ...node.inputs.length > 0 ? fact('from', oneLine(node.inputs.join(', '), 400)) : [],
       ...Object.entries(node.attributes).flatMap(([name, value]) => fact(oneLine(name, 80), valueText(value))))
  ];
}
