// Colours, and whether they can be told apart. Pure.
//
// Eight colours of Okabe and Ito ("Color Universal Design", 2008), darkened or lightened where the background asks for
// it: every one has a contrast of 3:1 at least as a line, and text is never coloured by them alone.

/** Of selected models, in the order of selection. */
export const SERIES = {
  light: ['#0072b2', '#b85000', '#00795a', '#a8467f', '#8a6d00', '#2d7fb8', '#5b3f95', '#333333'],
  dark: ['#56b4e9', '#f09a4c', '#2dc79a', '#e08fbf', '#e6c229', '#8fc7ee', '#b79cf0', '#e8e8e8'],
};

/** Status: the glyph tells it, the colour helps. */
export const STATUS = {
  QUEUED: {glyph: '◌', light: '#5a6270', dark: '#a5adba'},
  CREATED: {glyph: '◌', light: '#5a6270', dark: '#a5adba'},
  RUNNING: {glyph: '▶', light: '#0067a5', dark: '#62b8f0'},
  STOPPING: {glyph: '▷', light: '#0067a5', dark: '#62b8f0'},
  SUCCEEDED: {glyph: '✓', light: '#00694e', dark: '#3fd0a5'},
  DONE: {glyph: '✓', light: '#00694e', dark: '#3fd0a5'},
  FAILED: {glyph: '✕', light: '#a93a00', dark: '#ff9a62'},
  STOPPED_EARLY: {glyph: '◧', light: '#7a5b00', dark: '#e3bf3c'},
  STOPPED: {glyph: '■', light: '#5a6270', dark: '#a5adba'},
  INFEASIBLE: {glyph: '⊘', light: '#8a3a70', dark: '#e59bc8'},
  CANCELED: {glyph: '–', light: '#5a6270', dark: '#a5adba'},
  INTERRUPTED: {glyph: '‖', light: '#8a3a70', dark: '#e59bc8'},
  LOST: {glyph: '?', light: '#8a3a70', dark: '#e59bc8'},
  UNMERGED: {glyph: '⑂', light: '#7a5b00', dark: '#e3bf3c'},
  MIXED: {glyph: '±', light: '#7a5b00', dark: '#e3bf3c'},
  UNREADABLE: {glyph: '!', light: '#a93a00', dark: '#ff9a62'},
  JOINED: {glyph: '✓', light: '#00694e', dark: '#3fd0a5'},
  SILENT: {glyph: '?', light: '#8a3a70', dark: '#e59bc8'},
  DRAINING: {glyph: '▷', light: '#0067a5', dark: '#62b8f0'},
  COMING: {glyph: '◌', light: '#5a6270', dark: '#a5adba'},
};

/** @param {string} status */
export function statusStyle(status) {
  return /** @type {Record<string, {glyph: string, light: string, dark: string}>} */ (STATUS)[status] ??
      {glyph: '?', light: '#5a6270', dark: '#a5adba'};
}

/** Backgrounds and text of style.css, for what is drawn on canvas and for the test of contrasts. */
export const THEME = {
  light: {
    page: '#f4f5f7',
    card: '#ffffff',
    text: '#1a1d21',
    muted: '#565d68',
    line: '#d3d8df',
    accent: '#00609c',
    faint: '#5b8db3',
    grid: '#e6e9ed',
    mark: '#a93a00'
  },
  dark: {
    page: '#14171b',
    card: '#1d2126',
    text: '#e8eaed',
    muted: '#a5adba',
    line: '#3a414a',
    accent: '#6cbcf5',
    faint: '#5f93bd',
    grid: '#2b3138',
    mark: '#ff9a62'
  },
};

/** @param {string} color "#rrggbb" */
function luminance(color) {
  const parts = [1, 3, 5].map((i) => {
    const c = parseInt(color.slice(i, i + 2), 16) / 255;
    return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
}

/**
 * Contrast of two colours by WCAG 2, from 1 to 21.
 * @param {string} a @param {string} b
 */
export function contrast(a, b) {
  const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (high + 0.05) / (low + 0.05);
}
