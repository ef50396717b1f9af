// Put into the page before its own scripts: measures how long it takes to show something.
(() => {
  const QUIET = 200;
  const state = {canvas: 0, dom: 0};
  for (const name of ['stroke', 'fill', 'fillRect', 'fillText', 'putImageData', 'drawImage']) {
    const original = CanvasRenderingContext2D.prototype[name];
    CanvasRenderingContext2D.prototype[name] = function(...values) {
      original.apply(this, values);
      state.canvas = performance.now();
    };
  }
  new MutationObserver(() => {
    state.dom = performance.now();
  }).observe(document, {subtree: true, childList: true, attributes: true, characterData: true});

  const nextFrame = () => new Promise((resolve) => requestAnimationFrame(resolve));

  /** Canvases are painted later than they are drawn: reading a pixel waits for that. */
  const finish = (kind) => {
    if (kind === 'dom') return document.body.offsetHeight;
    for (const canvas of document.querySelectorAll('canvas')) {
      if (canvas.offsetParent) canvas.getContext('2d').getImageData(0, 0, 1, 1);
    }
    return 0;
  };

  /** When what came last behind `begin` was shown, of a kind of change; the page is quiet then. */
  const settled = async (begin, kind, ready = () => true) => {
    let shown = 0;
    for (let seen = begin;;) {
      await nextFrame();
      if (state[kind] > seen) {
        seen = state[kind];
        finish(kind);
        shown = performance.now();
      }
      if (shown > 0 && performance.now() - shown > QUIET && ready()) return shown;
    }
  };

  const ended = () => {
    let count = 0;
    for (const tile of document.querySelectorAll('.tile')) {
      if (/succeeded|failed/.test(tile.lastChild.textContent))
        count += Number(tile.firstChild.textContent.replace(/\D/g, ''));
    }
    return count;
  };

  window.bench = {
    /** Milliseconds since the link was opened. */
    overview: () => settled(
        0, 'canvas',
        () => document.querySelectorAll('.tile').length > 1 && document.querySelector('.state-loading') === null),

    /** Milliseconds. */
    async go(hash, kind) {
      const begin = performance.now();
      location.hash = hash;
      return await settled(begin, kind) - begin;
    },
    async filter(text) {
      const field = document.getElementById('filter');
      const begin = performance.now();
      field.value = text;
      field.dispatchEvent(new Event('input'));
      return await settled(begin, 'dom') - begin;
    },
    async click(selector, kind) {
      const begin = performance.now();
      document.querySelector(selector).click();
      return await settled(begin, kind) - begin;
    },

    /** The longest frame, milliseconds, while the table is scrolled by some rows a frame. */
    async scroll(frames) {
      const grid = document.querySelector('.grid');
      let longest = 0;
      await nextFrame();
      for (let i = 0, before = await nextFrame(); i < frames; ++i) {
        grid.scrollTop += 170;
        const now = await nextFrame();
        longest = Math.max(longest, now - before);
        before = now;
      }
      return longest;
    },

    /** Milliseconds: a graph is laid out, drawn and in sight. */
    async graph(nodes) {
      const [{buildGraph}, {GraphDrawing}] = await Promise.all(
          ['layout.js', 'graph_drawing.js'].map((name) => import(new URL(name, document.baseURI).href)));
      const graph = {
        nodes: Array.from({length: nodes}, (_, i) => ({
          name: `layer_${i}`,
          type: 'Linear',
          attributes: {in_features: 16, out_features: 16},
          // Of the few before it, and long edges.
          inputs: [i - 1 - i % 3, ...(i % 9 === 0 ? [i - 40] : [])].filter((k) => k >= 0).map((k) => `layer_${k}`),
          shape: [-1, 16],
          parameters: 272,
          flops: 528,
          depth: 0,
        })),
      };
      await nextFrame();
      const begin = performance.now();
      const drawing = new GraphDrawing(buildGraph(graph), {label: 'graph'});
      document.querySelector('main').append(drawing.element);
      // The frame behind the one that shows it.
      await nextFrame();
      await nextFrame();
      const took = performance.now() - begin;
      if (drawing.element.querySelectorAll('g[data-id]').length !== nodes) throw new Error('a node is not drawn');
      drawing.destroy();
      drawing.element.remove();
      return took;
    },

    ended,
    /** [[milliseconds since 1970, models that had ended]], from now on. */
    watchEnded() {
      const seen = window.bench.seen = [];
      let last = ended();
      const look = () => {
        const count = ended();
        if (count === last) return;
        last = count;
        requestAnimationFrame(() => seen.push([performance.timeOrigin + performance.now(), count]));
      };
      new MutationObserver(look).observe(
          document.querySelector('.tiles'), {subtree: true, childList: true, characterData: true});
      return last;
    },
  };
})();
