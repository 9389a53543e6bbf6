// npm @nowpaymentsio/nowpayments-api-js from create to finished. Its address is hard-coded, so this
// process reaches the gateway by the proxy setting of the client's HTTP library: a proxy here takes
// what is meant for api.nowpayments.io, and asks the gateway.
import { execFileSync } from 'node:child_process';
import { createServer, request as ask } from 'node:http';
import { createRequire } from 'node:module';

const gateway = new URL(process.env.GATEWAY_BASE_URL);

const proxy = createServer((asked, answer) => {
  const wanted = new URL(asked.url);
  if (wanted.origin !== 'https://api.nowpayments.io') throw new Error(`it asked for ${asked.url}`);
  const { host, connection, ...headers } = asked.headers;
  const options = { method: asked.method, headers: { ...headers, host: gateway.host } };
  const on = ask(new URL(wanted.pathname + wanted.search, gateway), options, (given) => {
    answer.writeHead(given.statusCode, given.headers);
    given.pipe(answer);
  });
  asked.pipe(on);
});
await new Promise((ready) => proxy.listen(0, '127.0.0.1', ready));
delete process.env.no_proxy;
delete process.env.NO_PROXY;
process.env.https_proxy = `http://127.0.0.1:${proxy.address().port}`;

const gatewayctl = (...given) => JSON.parse(execFileSync(process.env.GATEWAYCTL, ['--json', ...given]));
const merchant = gatewayctl('merchant', 'create', '--name', 'nowpayments-api-js');
const NOWPaymentsApi = createRequire(`${process.env.NODE_MODULES}/`)('@nowpaymentsio/nowpayments-api-js');
const api = new NOWPaymentsApi({ apiKey: merchant.api_key });

const told = (call, result) => console.log(JSON.stringify({ call, result }));

function works(call, answer, holds) {
  if (!holds) {
    console.error(call, answer);
    process.exit(1);
  }
  told(call, 'works');
  return answer;
}

// This client returns errors as data.
const refused = (call, answer) => told(call, `${answer.statusCode} \`${answer.code}\`, as data`);

let answer = await api.status();
works('status', answer, answer.message === 'OK');
answer = await api.getCurrencies();
works('getCurrencies', answer, answer.currencies.includes('usdtmatic'));
answer = await api.getEstimatePrice({ amount: 25, currency_from: 'usd', currency_to: 'ltc' });
works('getEstimatePrice', answer, Number(answer.estimated_amount) > 0);
answer = await api.getMinimumPaymentAmount({ currency_from: 'usd', currency_to: 'ltc' });
works('getMinimumPaymentAmount, fiat to coin', answer, answer.min_amount > 0);
refused('getMinimumPaymentAmount, coin to fiat', await api.getMinimumPaymentAmount({ currency_from: 'ltc', currency_to: 'usd' }));
const payment = await api.createPayment({
  price_amount: 12.5, price_currency: 'usd', pay_currency: 'usdtmatic', order_id: 'A-1', order_description: '2 x coffee',
});
works('createPayment', payment, payment.payment_status === 'waiting' && payment.pay_amount === 12.5);
gatewayctl('simulate', 'deposit', '--payment-id', payment.payment_id, '--amount', String(payment.pay_amount));
const deadline = Date.now() + 60_000;
do {
  await new Promise((done) => setTimeout(done, 1_500));
  answer = await api.getPaymentStatus({ payment_id: payment.payment_id });
} while (answer.payment_status !== 'finished' && Date.now() < deadline);
works('getPaymentStatus', answer, answer.payment_status === 'finished' && answer.actually_paid === 12.5);
answer = await api.getListPayments({ limit: 5, sortBy: 'created_at', orderBy: 'asc' });
works('getListPayments', answer, answer.total === 1 && answer.data[0].payment_id === payment.payment_id);
answer = await api.createInvoice({ price_amount: 30, price_currency: 'usd', order_id: 'A-2' });
works('createInvoice', answer, answer.invoice_url.endsWith(answer.id));
refused('getPaymentStatus, unknown id', await api.getPaymentStatus({ payment_id: 'pzi_none' }));
refused('createPayment, unknown coin', await api.createPayment({ price_amount: 5, price_currency: 'usd', pay_currency: 'nocoin' }));
proxy.close();
