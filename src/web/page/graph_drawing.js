// A graph as SVG: boxes, lines, folding, zoom, the keyboard.

import {d3} from './canvas.js';
import {announce, svg} from './dom.js';
import {formatCount, oneLine, valueText} from './format.js';
import {readOpen, readZoom, writeOpen, writeZoom} from './graph_state.js';
import {allNodes, layoutGraph} from './layout.js';

/** Cells are open at first up to so many boxes. */
const OPEN_UP_TO = 60;
/** Text that is drawn smaller cannot be read. */
const READABLE = 0.35;

/** @param {any[]|null} shape */
export function shapeText(shape) {
  return shape === null ? '' : `[${shape.map((d) => d === -1 ? '?' : d).join(', ')}]`;
}

/**
 * The attributes that tell nodes apart, on one line.
 * @param {import('./layout.js').GraphNode} node
 */
export function attributesText(node) {
  return Object.entries(node.attributes).map(([name, value]) => `${name}=${valueText(value)}`).join(' ');
}

/** @param {import('./layout.js').GraphNode} node */
function linesOf(node) {
  const lines = [oneLine(node.name, 40), oneLine(node.type, 40)];
  const attributes = oneLine(attributesText(node), 400);
  if (attributes) lines.push(attributes.length > 44 ? `${attributes.slice(0, 43)}…` : attributes);
  const costs = [
    shapeText(node.shape), node.parameters ? `${formatCount(node.parameters)} params` : '',
    node.flops ? `${formatCount(node.flops)} FLOPs` : ''
  ].filter(Boolean);
  if (costs.length > 0) lines.push(costs.join('  '));
  if (node.choice) lines.push(`chosen: ${oneLine(node.choice, 38)}`);
  return lines;
}

export class GraphDrawing {
  /**
   * @param {import('./layout.js').Graph} graph
   * @param {{label: string, kinds?: Map<string, string>, pointed?: (node: import('./layout.js').GraphNode|null) =>
   *     void, kept?: {open: string, zoom: string}, moved?: (kept: {open: string|null, zoom: string|null}) => void}}
   *     options  kinds: path -> class, of a diff; kept: what an address holds of it; moved: that is another one now
   */
  constructor(graph, options) {
    this.graph = graph;
    this.options = options;
    const nodes = allNodes(graph.nodes);
    this.byPath = new Map(nodes.map((node) => [node.path, node]));
    const few = nodes.length <= OPEN_UP_TO;
    this.cells = nodes.filter((node) => node.children.length > 0).map((node) => node.path);
    this.initial = new Set(few ? this.cells : []);
    this.open = readOpen(options.kept?.open ?? '', this.cells, this.initial);
    this.found = '';
    this.current = '';
    /** @type {{open: string|null, zoom: string|null}} */
    this.told = {open: options.kept?.open || null, zoom: options.kept?.zoom || null};
    this.canvas = svg('g');
    this.svg = svg('svg', {role: 'group', 'aria-label': options.label}, this.canvas);
    this.element = document.createElement('div');
    this.element.className = 'graph-place';
    this.element.append(this.svg);
    this.zoom = d3.zoom()
                    .scaleExtent([0.02, 4])
                    // d3's own asks for a length that an element outside of the document does not have.
                    .extent(() => [[0, 0], [this.element.clientWidth, this.element.clientHeight]])
                    .on('zoom',
                        () => {
                          if (d3.event.sourceEvent) this.fits = false;
                          this.canvas.setAttribute('transform', d3.event.transform.toString());
                        })
                    .on('end', () => this.tell());
    d3.select(this.svg).call(this.zoom).on('dblclick.zoom', null);
    this.svg.addEventListener('keydown', (/** @type {KeyboardEvent} */ event) => this.key(event));
    this.drawn = {
      boxes: /** @type {import('./layout.js').Placed[]} */ ([]),
      lines: /** @type {import('./layout.js').Line[]} */ ([]),
      width: 0,
      height: 0
    };
    this.layoutMs = 0;
    const measure = document.createElement('canvas').getContext('2d');
    if (measure) measure.font = '12px system-ui, sans-serif';
    this.measure = measure;
    // The whole of it is in sight, wherever that is.
    this.fits = true;
    const zoom = readZoom(options.kept?.zoom ?? '');
    this.fitted = zoom !== null;
    if (zoom) {
      this.fits = false;
      d3.select(this.svg).call(this.zoom.transform, d3.zoomIdentity.translate(zoom.x, zoom.y).scale(zoom.k));
    }
    this.observer = new ResizeObserver(() => {
      if (!this.fitted && this.element.clientWidth > 0) this.fit();
    });
    this.observer.observe(this.element);
    this.draw();
  }

  destroy() {
    this.observer.disconnect();
    // A wheel's zoom ends later than its last turn: the address is another view's by then.
    this.options = {...this.options, moved: undefined};
  }

  /** Says what an address should keep, where that is not what it has. */
  tell() {
    const kept = {
      open: writeOpen(this.open, this.cells, this.initial),
      zoom: this.fits ? null : writeZoom(d3.zoomTransform(this.svg))
    };
    if (kept.open === this.told.open && kept.zoom === this.told.zoom) return;
    this.told = kept;
    this.options.moved?.(kept);
  }

  /** Sets the zoom. @param {any} transform @param {boolean} fits */
  zoomTo(transform, fits) {
    this.fits = fits;
    d3.select(this.svg).call(this.zoom.transform, transform);
  }

  /** @param {import('./layout.js').GraphNode|null} node @param {string} name */
  sizeOf(node, name) {
    const lines = node ? linesOf(node) : [oneLine(name, 40), 'input'];
    const width = Math.max(...lines.map((line) => this.measure?.measureText(line).width ?? line.length * 7));
    return {width: Math.ceil(width) + 26, height: 12 + 16 * lines.length};
  }

  draw() {
    const begun = performance.now();
    this.drawn = layoutGraph(this.graph, (path) => this.open.has(path), (node, name) => this.sizeOf(node, name));
    this.layoutMs = performance.now() - begun;
    this.canvas.replaceChildren();
    const line = d3.line().curve(d3.curveMonotoneY);
    for (const box of this.drawn.boxes.filter((b) => b.open)) this.canvas.append(this.box(box));
    for (const edge of this.drawn.lines) {
      this.canvas.append(svg('path', {class: 'edge', d: line(edge.points)}));
      const [x, y] = edge.points[edge.points.length - 1];
      this.canvas.append(svg('path', {class: 'edge-head', d: `M${x - 3.5},${y - 6}L${x + 3.5},${y - 6}L${x},${y}Z`}));
    }
    for (const box of this.drawn.boxes.filter((b) => !b.open)) this.canvas.append(this.box(box));
    performance.measure('draw graph', {start: begun, end: performance.now()});
  }

  /** @param {import('./layout.js').Placed} box */
  box(box) {
    const {node} = box;
    const folds = node !== null && node.children.length > 0;
    const kind = this.kindOf(box);
    const classes = [
      'node', folds ? 'cell' : '', node?.parameters ? 'weighted' : '', node?.choice ? 'choice' : '',
      kind === 'left' || kind === 'right' ? 'only' :
          kind === 'changed'              ? 'changed' :
                                            '',
      node && this.matches(node) ? 'found' : '', this.current === box.id ? 'current' : ''
    ].filter(Boolean).join(' ');
    const lines = node ? box.open ? [`▾ ${oneLine(node.name, 40)}: ${oneLine(node.type, 40)}${
                                        node.parameters ? `, ${formatCount(node.parameters)} params` : ''}`] :
                                    linesOf(node) :
                         [oneLine(box.id.slice(6).split('/').pop(), 40), 'input'];
    if (folds && !box.open) lines[0] = `▸ ${lines[0]}`;
    const words = node ?
        `${oneLine(node.path, 200)}, ${oneLine(node.type, 100)}${node.shape ? `, shape ${shapeText(node.shape)}` : ''}${
            node.parameters ? `, ${formatCount(node.parameters)} parameters` :
                              ''}${node.flops ? `, ${formatCount(node.flops)} FLOPs` : ''}${
            kind && kind !== 'same' ? `, ${{left: 'only here', right: 'only here', changed: 'changed'}[kind] ?? ''}` :
                                      ''}` :
                                      lines.join(' ');
    const group =
        svg('g', {
          class: classes,
          transform: `translate(${box.x},${box.y})`,
          tabindex: this.current === box.id ? '0' : '-1',
          role: folds ? 'button' : 'img',
          'aria-label': words,
          'aria-expanded': folds ? String(box.open) : null,
          'data-id': box.id,
          on: {
            click: (/** @type {Event} */ event) => {
              event.stopPropagation();
              this.goTo(box.id);
            },
            dblclick: (/** @type {Event} */ event) => {
              event.stopPropagation();
              if (folds) this.fold(box.id);
            }
          }
        },
            svg('title', {text: node ? `${words}\n${oneLine(attributesText(node), 600)}` : words}),
            svg('rect', {width: box.width, height: box.height, rx: 6}));
    lines.forEach((text, i) => group.append(svg('text', {x: 13, y: 20 + 16 * i, class: i === 0 ? '' : 'sub', text})));
    return group;
  }

  /**
   * What a diff says of a box: 'same', 'changed', 'left' or 'right' (only there); '': there is no diff.
   * @param {import('./layout.js').Placed} box
   */
  kindOf({id, node, open}) {
    const own = this.options.kinds?.get(id) ?? '';
    // A cell that hides a difference shows that it does.
    return own === 'same' && node && !open && this.hidesDifference(node) ? 'changed' : own;
  }

  /** @param {import('./layout.js').GraphNode} node */
  hidesDifference(node) {
    return allNodes(node.children).some((child) => this.options.kinds?.get(child.path) !== 'same');
  }

  /** @param {import('./layout.js').GraphNode} node */
  matches(node) {
    if (!this.found) return false;
    return `${node.path} ${node.type} ${attributesText(node)} ${node.choice ?? ''}`.toLowerCase().includes(this.found);
  }

  /**
   * Marks what has the text, and opens the cells that it is in.
   * @param {string} text @param {boolean} [goes]  false: marks it only @returns {number} how many
   */
  search(text, goes = true) {
    this.found = text.trim().toLowerCase();
    let count = 0;
    /** @type {(node: import('./layout.js').GraphNode) => boolean} */
    const visit = (node) => {
      let inside = false;
      for (const child of node.children) inside = visit(child) || inside;
      if (inside && goes) this.open.add(node.path);
      const own = this.matches(node);
      count += own ? 1 : 0;
      return own || inside;
    };
    for (const node of this.graph.nodes) visit(node);
    this.draw();
    const first = this.drawn.boxes.find((box) => box.node && this.matches(box.node));
    if (first && goes) this.show(first);
    if (goes) this.tell();
    return count;
  }

  /** @param {string} path */
  fold(path) {
    if (!this.open.delete(path)) this.open.add(path);
    this.draw();
    this.focus(path);
    // The zoom is that of the drawing as it was.
    this.fits = false;
    this.tell();
  }

  /** @param {boolean} open */
  foldAll(open) {
    this.open = new Set(
        open ? [...this.byPath.values()].filter((node) => node.children.length > 0).map((node) => node.path) : []);
    this.draw();
    this.fit();
  }

  /**
   * Shows the graph. A long one is shown from its top, at a size that can be read, unless all of it is wanted.
   * @param {boolean} [whole]
   */
  fit(whole = false) {
    const {clientWidth: width, clientHeight: height} = this.element;
    if (width === 0 || this.drawn.width === 0) return;
    this.fitted = true;
    const all = Math.min(1.1, (width - 32) / this.drawn.width, (height - 32) / this.drawn.height);
    const readable = Math.max(READABLE, all);
    const scale = whole ? all : readable;
    const x = (width - this.drawn.width * scale) / 2;
    this.zoomTo(
        d3.zoomIdentity.translate(x, Math.max(16, (height - this.drawn.height * scale) / 2)).scale(scale),
        scale === readable);
  }

  /** @param {number} factor */
  scaleBy(factor) {
    this.fits = false;
    d3.select(this.svg).call(this.zoom.scaleBy, factor);
  }

  /** @param {import('./layout.js').Placed} box */
  show(box) {
    const {clientWidth: width, clientHeight: height} = this.element;
    const {k} = d3.zoomTransform(this.svg);
    this.zoomTo(
        d3.zoomIdentity
            .translate(
                width / 2 - (box.x + box.width / 2) * k,
                height / 2 - (box.y + Math.min(box.height, height / k) / 2) * k)
            .scale(k),
        false);
  }

  /** @param {string} id */
  goTo(id) {
    this.current = id;
    for (const group of this.canvas.querySelectorAll('.node')) {
      const mine = group.getAttribute('data-id') === id;
      group.classList.toggle('current', mine);
      group.setAttribute('tabindex', mine ? '0' : '-1');
    }
    this.options.pointed?.(this.byPath.get(id) ?? null);
  }

  /** @param {string} id */
  focus(id) {
    this.goTo(id);
    const group = [...this.canvas.querySelectorAll('.node')].find((g) => g.getAttribute('data-id') === id);
    /** @type {any} */ (group)?.focus({preventScroll: true});
    const box = this.drawn.boxes.find((b) => b.id === id);
    if (!box) return;
    const t = d3.zoomTransform(this.svg);
    const [x, y] = [t.applyX(box.x), t.applyY(box.y)];
    if (x < 0 || y < 0 || x + box.width * t.k > this.element.clientWidth ||
        y + box.height * t.k > this.element.clientHeight)
      this.show(box);
  }

  /**
   * Arrows follow the edges; left and right also step through a layer.
   * @param {KeyboardEvent} event
   */
  key(event) {
    const boxes = this.drawn.boxes;
    if (boxes.length === 0) return;
    const at = boxes.find((box) => box.id === this.current) ?? boxes[0];
    const beside = () => boxes.filter((box) => !box.open && Math.abs(box.y - at.y) < 2).sort((a, b) => a.x - b.x);
    const step = (/** @type {number} */ by) => {
      const row = beside();
      const i = row.findIndex((box) => box.id === at.id);
      return row[Math.max(0, Math.min(row.length - 1, i + by))]?.id;
    };
    let next;
    switch (event.key) {
      case 'ArrowDown':
        next = this.drawn.lines.find((l) => l.from === at.id)?.to ?? boxes[boxes.indexOf(at) + 1]?.id;
        break;
      case 'ArrowUp':
        next = this.drawn.lines.find((l) => l.to === at.id)?.from ?? boxes[boxes.indexOf(at) - 1]?.id;
        break;
      case 'ArrowRight':
        next = step(1);
        break;
      case 'ArrowLeft':
        next = step(-1);
        break;
      case 'Enter':
      case ' ':
        if (at.node && at.node.children.length > 0) {
          this.fold(at.id);
          announce(this.open.has(at.id) ? 'open' : 'folded');
        }
        break;
      case '+':
        this.scaleBy(1.3);
        break;
      case '-':
        this.scaleBy(1 / 1.3);
        break;
      case '0':
        this.fit(true);
        break;
      default:
        return;
    }
    if (next) this.focus(next);
    event.preventDefault();
    event.stopPropagation();
  }

  /** So that the keyboard gets in. */
  makeReachable() {
    if (this.drawn.boxes.length > 0) this.goTo(this.drawn.boxes[0].id);
  }

  /** The whole drawing as an SVG file of its own: what the page's styles say is written into it. */
  toSvg() {
    const copy = /** @type {SVGSVGElement} */ (this.svg.cloneNode(true));
    const originals = this.svg.querySelectorAll('rect, text, path');
    copy.querySelectorAll('rect, text, path').forEach((element, i) => {
      const style = getComputedStyle(originals[i]);
      for (const name of ['fill', 'stroke', 'stroke-width', 'stroke-dasharray', 'font-size', 'font-family'])
        element.setAttribute(name, style.getPropertyValue(name));
    });
    copy.querySelector('g')?.setAttribute('transform', 'translate(16,16)');
    copy.setAttribute('width', String(this.drawn.width + 32));
    copy.setAttribute('height', String(this.drawn.height + 32));
    copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
    return new XMLSerializer().serializeToString(copy);
  }

  /** The same as pixels, drawn by hand: an image of an SVG would want another rule of the content policy. */
  toCanvas() {
    const style = getComputedStyle(document.documentElement);
    const color = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
    const scale = Math.min(2, 8000 / Math.max(this.drawn.width, this.drawn.height, 1));
    const canvas = document.createElement('canvas');
    canvas.width = Math.ceil((this.drawn.width + 32) * scale);
    canvas.height = Math.ceil((this.drawn.height + 32) * scale);
    const ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
    ctx.fillStyle = color('--card');
    ctx.fillRect(0, 0, canvas.width, canvas.height);
    ctx.setTransform(scale, 0, 0, scale, 16 * scale, 16 * scale);
    const line = d3.line().curve(d3.curveMonotoneY).context(ctx);
    const paint = (/** @type {import('./layout.js').Placed} */ box) => {
      const kind = this.kindOf(box);
      const only = kind === 'left' || kind === 'right';
      const found = box.node && this.matches(box.node);
      ctx.fillStyle = color(found ? '--chosen' : box.open ? '--page' : '--card');
      ctx.strokeStyle = color(
          only                                       ? '--mark' :
              kind === 'changed' || box.node?.choice ? '--warn' :
              box.node?.parameters                   ? '--accent' :
                                                       '--muted');
      ctx.lineWidth = only || kind === 'changed' ? 3 : 1;
      ctx.setLineDash(only ? [3, 3] : kind !== 'changed' && box.node?.choice ? [5, 2] : []);
      ctx.fillRect(box.x, box.y, box.width, box.height);
      ctx.strokeRect(box.x, box.y, box.width, box.height);
      const lines = box.node ?
          box.open ? [`${oneLine(box.node.name, 40)}: ${oneLine(box.node.type, 40)}`] : linesOf(box.node) :
          [oneLine(box.id.slice(6).split('/').pop(), 40), 'input'];
      ctx.fillStyle = color('--text');
      lines.forEach((text, i) => {
        ctx.font = `${i === 0 ? 12 : 11}px system-ui, sans-serif`;
        ctx.fillText(text, box.x + 13, box.y + 20 + 16 * i);
      });
    };
    for (const box of this.drawn.boxes.filter((b) => b.open)) paint(box);
    ctx.strokeStyle = color('--muted');
    ctx.lineWidth = 1;
    ctx.setLineDash([]);
    for (const edge of this.drawn.lines) {
      ctx.beginPath();
      line(edge.points);
      ctx.stroke();
    }
    for (const box of this.drawn.boxes.filter((b) => !b.open)) paint(box);
    return canvas;
  }
}
