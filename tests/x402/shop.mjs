// A seller of one resource with the TypeScript SDK: shop.mjs PORT RESOURCE_ID, with GATEWAY_BASE_URL and GATEWAY_API_KEY.
import http from 'node:http';
import { Gateway, requirePayment } from '../../sdk/typescript/dist/index.js';

const [port, resourceId] = process.argv.slice(2);
const gateway = new Gateway({ baseUrl: process.env.GATEWAY_BASE_URL, apiKey: process.env.GATEWAY_API_KEY });
const paid = requirePayment(gateway, resourceId);
const weather = (request, response) => {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ weather: 'fine', payer: request.payment.payer }));
};
const server = http.createServer((request, response) => {
  paid(request, response, (error) => {
    if (!error) return weather(request, response);
    console.error(error);
    response.statusCode = 500;
    return response.end();
  });
});
server.listen(Number(port), '127.0.0.1', () => console.log('listening'));
