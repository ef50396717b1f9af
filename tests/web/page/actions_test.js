// What an action does once the head has answered. Node has no elements.

import {actionsMenu} from '../../../src/web/page/actions.js';

import {equal, test} from './harness.js';

if (typeof document !== 'undefined') {
  const settle = () => new Promise((resolve) => setTimeout(resolve));

  /** The menu of an experiment, of which the head answers when the test says so. */
  function shownMenu() {
    const shown = {
      /** @type {string[]} */
      opened: [],
      answer: () => {},
      store: {
        route: {id: 'a'},
        current: {id: 'a', table: {status: 'DONE', state: []}, show: {name: 'a'}, config: null},
        whyNot: () => '',
        api: {
          send: () => new Promise((resolve) => {
            shown.answer = () => resolve(null);
          })
        },
        open: async (/** @type {string} */ id) => {
          shown.opened.push(id);
        }
      },
      /** Chooses an action, and confirms it. */
      act: (/** @type {string} */ action) => {
        menu.querySelector('button')?.click();
        [...menu.querySelectorAll('button')].find(({textContent}) => textContent?.startsWith(action))?.click();
        const field = /** @type {HTMLInputElement} */ (document.querySelector('dialog input'));
        if (action === 'Delete') field.value = 'a';
        /** @type {HTMLElement} */ (document.querySelector('dialog [type=submit]')).click();
      }
    };
    const menu = actionsMenu(/** @type {any} */ (shown.store));
    document.body.append(menu);
    return {menu, shown};
  }

  for (const [action, id, opened, hash] of /** @type {[string, string|null, string[], string][]} */ ([
         ['Resume', 'a', ['a'], '#/there'],
         ['Resume', 'b', [], '#/there'],
         ['Resume', null, [], '#/there'],
         ['Delete', 'a', [], '#/'],
         ['Delete', 'b', [], '#/there'],
  ])) {
    test(`after ${action} of an experiment the reader is left alone who is at ${id ?? 'the list'}`, async () => {
      location.hash = '#/there';
      const {menu, shown} = shownMenu();
      shown.act(action);
      await settle();
      document.querySelector('dialog')?.close();
      shown.store.route.id = /** @type {string} */ (id);
      shown.answer();
      await settle();
      equal([shown.opened, location.hash], [opened, hash]);
      menu.remove();
      document.querySelector('dialog')?.remove();
      location.hash = '';
    });
  }
}
