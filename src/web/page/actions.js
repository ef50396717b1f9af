// Stop, resume, delete, export, copy the configuration. What cannot be done here is disabled and says why.

import {experimentPath} from './api.js';
import {actionButton, announce, button, el, fill, saveFile, textBlock} from './dom.js';
import {oneLine} from './format.js';
import {menu} from './menu.js';

/**
 * A dialog with a form; `submit` returns what went wrong, or nothing.
 * @param {string} title @param {Node[]} contents @param {string} verb
 * @param {() => Promise<string|null>} submit @param {{danger?: boolean}} [options]
 */
export function openDialog(title, contents, verb, submit, options = {}) {
  const failed = el('p', {class: 'filter-error', role: 'alert'});
  const doit = el('button', {type: 'submit', class: options.danger ? 'danger' : 'primary'}, verb);
  const dialog =
      el('dialog', {'aria-label': title, on: {close: () => dialog.remove()}},
         el('form', {
           method: 'dialog',
           on: {
             submit: async (/** @type {Event} */ event) => {
               event.preventDefault();
               // Enter, once more, while it is on its way.
               if (doit.getAttribute('aria-disabled')) return;
               doit.setAttribute('aria-disabled', 'true');
               try {
                 const wrong = await submit();
                 failed.textContent = wrong ?? '';
                 if (wrong === null) dialog.close();
               } catch (error) {
                 failed.textContent = oneLine(/** @type {Error} */ (error).message, 600);
               }
               doit.removeAttribute('aria-disabled');
             }
           }
         },
            el('h2', {}, title), ...contents, failed,
            el('div', {class: 'row'}, doit, button('Cancel', () => dialog.close()))));
  document.body.append(dialog);
  dialog.showModal();
  dialog.querySelector('input, textarea')?.focus();
  return dialog;
}

/** @param {string} title @param {Node[]} contents */
export function openNotice(title, contents) {
  const dialog =
      el('dialog', {'aria-label': title, on: {close: () => dialog.remove()}}, el('h2', {}, title), ...contents,
         button('Close', () => dialog.close()));
  document.body.append(dialog);
  dialog.showModal();
}

const MOVING = new Set(['CREATED', 'RUNNING', 'STOPPING']);

/** @param {import('./store.js').Store} store */
export function actionsMenu(store) {
  const list = el('div', {});
  const refresh = () => {
    const {current} = store;
    if (!current) return;
    const {id} = current;
    const moving = MOVING.has(current.table.status);
    const not = (/** @type {string} */ action, /** @type {string} */ state) => store.whyNot(action) || state;
    fill(
        list,
        actionButton(
            'Stop …', () => stop(store, id),
            not('stop',
                moving ? current.table.status === 'STOPPING' ? 'it is stopping already' : '' : 'it does not run')),
        actionButton('Resume …', () => resume(store, id), not('resume', moving ? 'it runs' : '')),
        actionButton(
            'Export the best …', () => exportBest(store, id),
            not('export', current.table.state.includes('SUCCEEDED') ? '' : 'no model has succeeded')),
        actionButton(
            'Copy the configuration', () => copyText('The configuration', current.config.textproto ?? ''),
            current.config ? '' : 'it is not known'),
        actionButton(
            'Delete …', () => remove(store, id), not('delete', moving ? 'it runs: stop it first' : ''),
            {class: 'danger'}));
  };
  return menu('Actions', list, '', {}, refresh);
}

/** @param {import('./store.js').Store} store @param {string} id */
function stop(store, id) {
  const reason = el('input', {type: 'text', maxlength: '500', placeholder: 'stopped on the page'});
  openDialog(
      'Stop this experiment?',
      [
        el('p', {}, 'Running trials are canceled; it can be resumed later.'),
        el('label', {class: 'block'}, 'Reason (shown to people)', reason)
      ],
      'Stop', async () => {
        await store.api.send('POST', `${experimentPath(id)}/stop`, {reason: reason.value || 'stopped on the page'});
        announce('The experiment is being stopped.');
        return null;
      });
}

/** @param {import('./store.js').Store} store @param {string} id */
function resume(store, id) {
  const config = store.current?.config?.config ?? {};
  const models = el('input', {type: 'number', min: '1', placeholder: String(config.max_trial_number ?? 'as it was')});
  const seconds = el('input', {type: 'number', min: '1', placeholder: 'as it was'});
  const parallel =
      el('input', {type: 'number', min: '1', placeholder: String(config.trial_concurrency ?? 'as it was')});
  openDialog(
      'Resume this experiment',
      [
        el('p', {}, 'It goes on where it was left. Limits that stay empty are as they were.'),
        el('label', {class: 'block'}, 'Most models (max_trial_number)', models),
        el('label', {class: 'block'}, 'Longest time in seconds (max_duration)', seconds),
        el('label', {class: 'block'}, 'Trials at the same time (trial_concurrency)', parallel)
      ],
      'Resume', async () => {
        const set = [];
        if (models.value) set.push(`max_trial_number=${models.value}`);
        if (seconds.value) set.push(`max_duration={ seconds: ${seconds.value} }`);
        if (parallel.value) set.push(`trial_concurrency=${parallel.value}`);
        await store.api.send('POST', `${experimentPath(id)}/resume`, {set});
        announce('The experiment goes on.');
        // The search runs by now, and the reader may have gone on to another experiment.
        if (store.route.id === id) await store.open(id);
        return null;
      });
}

/** @param {import('./store.js').Store} store @param {string} id */
function exportBest(store, id) {
  const top = el('input', {type: 'number', min: '1', max: '1000', value: '1', required: true});
  const format = el('select', {}, ...exportFormats(store).map((f) => el('option', {value: f}, f)));
  const untrained = el('input', {type: 'checkbox'});
  // Who closes the dialog no longer waits for the file, and the server stops making it.
  const abort = new AbortController();
  const waiting = el('p', {class: 'muted', role: 'status'});
  const dialog = openDialog(
      'Export the best models',
      [
        el('p', {}, 'One file is saved as it is, several as a tar archive. Files are made in a trial process: this may take a moment.'),
        el('label', {class: 'block'}, 'How many', top), el('label', {class: 'block'}, 'Format', format),
        el('label', {class: 'check'}, untrained,
           el('span', {}, 'with initial weights where the trained ones were not kept')),
        waiting
      ],
      'Export', async () => {
        waiting.textContent = 'The files are being made …';
        try {
          const {name, blob, warnings} = await store.api.download(
              `${experimentPath(id)}/export`,
              {top: Number(top.value), format: format.value, untrained: untrained.checked}, abort.signal);
          saveFile(name, blob);
          announce(`${name} is saved.`);
          if (warnings.length > 0) {
            openNotice(
                'Exported, with warnings',
                [el('ul', {}, ...warnings.map((warning) => el('li', {class: 'message'}, oneLine(warning, 400))))]);
          }
          return null;
        } finally {
          waiting.textContent = '';
        }
      });
  dialog.addEventListener('close', () => abort.abort());
}

/**
 * The formats in which models of the experiment can be written.
 * @param {import('./store.js').Store} store
 * @return {string[]}
 */
function exportFormats(store) {
  const has = store.current?.config?.models_have ?? [];
  return (store.info?.formats ?? []).filter(({needs}) => has.includes(needs)).map(({name}) => name);
}

/** @param {import('./store.js').Store} store @param {string} id */
function remove(store, id) {
  const name = store.current?.show.name ?? id;
  const field = el('input', {type: 'text', autocomplete: 'off', spellcheck: 'false'});
  openDialog(
      'Delete this experiment?',
      [
        el('p', {}, 'Its journal, logs, weights and files are removed for good.'),
        el('label', {class: 'block'},
           el('span', {}, 'Type its name to confirm: ', el('strong', {class: 'mono'}, oneLine(name, 200))), field)
      ],
      'Delete', async () => {
        if (field.value !== name) return 'This is not its name.';
        await store.api.send('DELETE', experimentPath(id), {name});
        announce('The experiment is deleted.');
        if (store.route.id === id) location.hash = '#/';
        return null;
      }, {danger: true});
}

/**
 * Copies a text, and shows it.
 * @param {string} what  it is, with a capital letter @param {string} text
 */
export async function copyText(what, text) {
  try {
    await navigator.clipboard.writeText(text);
    announce(`${what} is in the clipboard.`);
    openNotice('Copied', [textBlock(text)]);
  } catch {
    // No clipboard without TLS away from loopback: to be copied by hand.
    openNotice(what, [textBlock(text)]);
  }
}
