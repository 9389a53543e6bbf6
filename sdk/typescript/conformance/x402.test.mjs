// The middlewares of x402 against a stub of the gateway, which names one resource and settles every payment:
//   node --test sdk/typescript/conformance/x402.test.mjs
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { Gateway, paidFetch, requirePayment } from '../dist/index.js';

const resource = {
  resource_id: 'pzx_1', url: 'https://api.example/weather', description: '', mime_type: 'application/json',
  accepts: [{ network: 'eip155:137' }], accepts_v1: [],
};
const payment = btoa(JSON.stringify({ x402Version: 2, accepted: { network: 'eip155:137' }, payload: {} }));
const servers = [];
let gateway;

async function serve(listener) {
  const server = createServer(listener);
  servers.push(server);
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  return `http://127.0.0.1:${server.address().port}`;
}

before(async () => {
  const baseUrl = await serve((request, response) => {
    request.resume().on('end', () => {
      const settled = { success: true, payer: '0x1', transaction: '0x2', network: 'eip155:137' };
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(request.method === 'POST' ? settled : resource));
    });
  });
  gateway = new Gateway({ baseUrl, apiKey: 'a key' });
});
after(() => servers.forEach((server) => { server.close(); server.closeAllConnections(); }));

// What Express makes of a request inside a mounted application: `url` loses the part that it is mounted at.
const mounted = (mount, handler) => (request, response) => {
  if (!request.url.startsWith(`${mount}/`)) {
    response.statusCode = 404;
    return response.end();
  }
  Object.assign(request, { originalUrl: request.url, baseUrl: mount, url: request.url.slice(mount.length) });
  return handler(request, response);
};

test('a request is charged for wherever the middleware is mounted', async () => {
  const paid = requirePayment(gateway, 'pzx_1');
  const weather = (request, response) => paid(request, response, (error) => {
    response.statusCode = error ? 500 : 200;
    response.end(request.payment?.payer);
  });
  const base = await serve((request, response) => {
    const handler = request.url.startsWith('/api/') ? mounted('/api', mounted('/shop', weather)) : weather;
    return handler(request, response);
  });
  for (const path of ['/weather', '/weather/', '//weather', '/api/shop/weather']) {
    assert.equal((await fetch(base + path)).status, 402, path);
    const answer = await fetch(base + path, { headers: { 'payment-signature': payment } });
    assert.equal(answer.status, 200, path);
    assert.equal(await answer.text(), '0x1');
    assert.ok(answer.headers.has('payment-response'), path);
  }
});

test('a handler of Request and Response is charged for at every path', async () => {
  const handler = paidFetch(gateway, 'pzx_1', (_, settlement) => new Response(settlement.payer));
  for (const path of ['/weather', '/api/weather']) {
    assert.equal((await handler(new Request(`http://shop.example${path}`))).status, 402);
    const request = new Request(`http://shop.example${path}`, { headers: { 'payment-signature': payment } });
    assert.equal(await (await handler(request)).text(), '0x1');
  }
});

test('nothing is given away while the gateway does not answer', async () => {
  const silent = new Gateway({ baseUrl: 'http://127.0.0.1:9', apiKey: 'a key', retryFor: 1 });
  const handler = paidFetch(silent, 'pzx_1', () => assert.fail('it was given away'));
  await assert.rejects(handler(new Request('http://shop.example/weather')));
});
