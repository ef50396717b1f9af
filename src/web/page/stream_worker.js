// The shared worker: one for all tabs of a browser. It also hands the token to tabs that were opened without one.
//
// Tabs say: {type: 'hello'}, which is answered with the token; {type: 'token', token}, one that the server has
// accepted; {type: 'watch', id, after}, {type: 'unwatch', id}, {type: 'retry', id}, {type: 'ping'} every 20 s while
// they are there, {type: 'bye'}. Browsers do not tell when a tab is gone: one that is silent for 90 s is.

import {StreamHub} from './stream_hub.js';

const SILENT = 90000;

const hub = new StreamHub(new URL('.', self.location.href).href);
/** @type {Map<MessagePort, {post: (message: any) => void, heard: number}>} */
const tabs = new Map();

/** @type {any} */ (self).onconnect = (/** @type {MessageEvent} */ event) => {
  const port = event.ports[0];
  const client = {post: (/** @type {any} */ message) => port.postMessage(message), heard: Date.now()};
  tabs.set(port, client);
  port.onmessage = ({data}) => {
    client.heard = Date.now();
    tabs.set(port, client);
    if (data.type === 'hello') {
      client.post({type: 'token', token: hub.token});
    } else if (data.type === 'token') {
      hub.token = data.token;
    } else if (data.type === 'watch') {
      hub.watch(client, data.id, data.after);
    } else if (data.type === 'unwatch') {
      hub.unwatch(client, data.id);
    } else if (data.type === 'retry') {
      hub.retry(data.id);
    } else if (data.type === 'bye') {
      hub.unwatch(client);
      tabs.delete(port);
    }
  };
};

setInterval(() => {
  for (const [port, client] of tabs) {
    if (Date.now() - client.heard < SILENT) continue;
    hub.unwatch(client);
    tabs.delete(port);
  }
}, SILENT / 3);
