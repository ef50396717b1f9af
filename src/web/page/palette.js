// Colours, and whether they can be told apart. Pure.
//
// Eight colours near those of Okabe and Ito ("Color Universal Design", 2008), moved apart until any two differ by a
// CIEDE2000 of 12, to normal eyes and to those without red, green or blue cones, and until every one has a contrast of
// 3:1 at least as a line. Tests measure both. Text is never coloured by them alone.

/** Of selected models, in the order of selection. */
export const SERIES = {
  light: ['#0f5bda', '#a13700', '#05795a', '#a44d84', '#9c7d21', '#368dc6', '#523280', '#323435'],
  dark: ['#56b4e9', '#ed984b', '#1aefb5', '#c193ac', '#ffd719', '#b7ddf7', '#8772ed', '#f7f7f7'],
};

/** Status: the glyph tells it, the colour helps. Those of one glyph mean the same, and have one colour. */
export const STATUS = {
  QUEUED: {glyph: '◌', light: '#5a6270', dark: '#a5adba'},
  CREATED: {glyph: '◌', light: '#5a6270', dark: '#a5adba'},
  RUNNING: {glyph: '▶', light: '#0067a5', dark: '#55b2f1'},
  STOPPING: {glyph: '▷', light: '#0067a5', dark: '#55b2f1'},
  SUCCEEDED: {glyph: '✓', light: '#00694e', dark: '#3ad3a7'},
  DONE: {glyph: '✓', light: '#00694e', dark: '#3ad3a7'},
  FAILED: {glyph: '✕', light: '#951515', dark: '#fb9a64'},
  STOPPED_EARLY: {glyph: '◧', light: '#826200', dark: '#e9c32c'},
  STOPPED: {glyph: '■', light: '#5a6270', dark: '#a5adba'},
  INFEASIBLE: {glyph: '⊘', light: '#7e3176', dark: '#faaede'},
  CANCELED: {glyph: '–', light: '#5a6270', dark: '#a5adba'},
  INTERRUPTED: {glyph: '‖', light: '#7e3176', dark: '#faaede'},
  LOST: {glyph: '?', light: '#7e3176', dark: '#faaede'},
  UNMERGED: {glyph: '⑂', light: '#826200', dark: '#e9c32c'},
  MIXED: {glyph: '±', light: '#826200', dark: '#e9c32c'},
  UNREADABLE: {glyph: '!', light: '#951515', dark: '#fb9a64'},
  JOINED: {glyph: '✓', light: '#00694e', dark: '#3ad3a7'},
  SILENT: {glyph: '?', light: '#7e3176', dark: '#faaede'},
  DRAINING: {glyph: '▷', light: '#0067a5', dark: '#55b2f1'},
  COMING: {glyph: '◌', light: '#5a6270', dark: '#a5adba'},
};

/** @param {string} status */
export function statusStyle(status) {
  return /** @type {Record<string, {glyph: string, light: string, dark: string}>} */ (STATUS)[status] ??
      {glyph: '?', light: '#5a6270', dark: '#a5adba'};
}

/** How high a trial's bar is by how it ended, as a share of a lane: too thin for colours, bars still differ. */
const BAR_HEIGHTS = /** @type {Record<string, number>} */ (
    {MIXED: 0.9, STOPPED_EARLY: 0.78, UNMERGED: 0.66, INFEASIBLE: 0.54, LOST: 0.42, CANCELED: 0.3, FAILED: 0.18});

/** @param {string} status  what succeeded, and what runs, has all of a lane */
export function barHeight(status) {
  return BAR_HEIGHTS[status] ?? 1;
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
    mark: '#951515'
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
    mark: '#fb9a64'
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
