// npm coinpayments from create to complete, or npm coinpayments-ipn on the IPNs of that. The address of
// the first is hard-coded, so this process leads its requests to the gateway: `https.request` asks
// there, in plain HTTP. Nothing of the client is changed, its chunked body and its path included.
import { execFileSync } from 'node:child_process';
import http from 'node:http';
import { createRequire } from 'node:module';
import { parse } from 'node:querystring';

const wanted = process.argv[2];
const gateway = new URL(process.env.GATEWAY_BASE_URL);
const require = createRequire(`${process.env.NODE_MODULES}/`);
require('node:https').request = (options, on) => {
  if (options.host !== 'www.coinpayments.net') throw new Error(`it asked for ${options.host}`);
  const { hostname, port } = gateway;
  return http.request({ ...options, protocol: 'http:', host: hostname, port }, on);
};
const { Coinpayments } = require('coinpayments');
const { verify } = require('coinpayments-ipn');

const gatewayctl = (...given) => JSON.parse(execFileSync(process.env.GATEWAYCTL, ['--json', ...given]));
const merchant = gatewayctl('merchant', 'create', '--name', wanted);
const keys = gatewayctl('merchant', 'legacy-keys', merchant.merchant_id, '--withdrawals');
const client = new Coinpayments({ key: keys.public_key, secret: keys.private_key });

// The raw body and the signature of the last IPN about each transaction, withdrawal or address.
const received = new Map();
const receiver = http.createServer((asked, answer) => {
  let body = '';
  asked.setEncoding('utf8');
  asked.on('data', (part) => { body += part; });
  asked.on('end', () => {
    const { ipn_type, address, id, txn_id } = parse(body);
    received.set(ipn_type === 'deposit' ? address : (id ?? txn_id), { body, hmac: asked.headers.hmac });
    answer.end('IPN OK');
  });
});
await new Promise((ready) => receiver.listen(0, '127.0.0.1', ready));
const ipn_url = `http://127.0.0.1:${receiver.address().port}/ipn`;

const told = (call, result) => wanted === mine(call) && console.log(JSON.stringify({ call, result }));
const mine = (call) => (call.startsWith('verify') ? 'coinpayments-ipn' : 'coinpayments');

function works(call, answer, holds) {
  if (!holds) {
    console.error(call, answer);
    process.exit(1);
  }
  told(call, 'works');
  return answer;
}

async function refused(call, asking) {
  try {
    console.error(call, await asking);
    process.exit(1);
  } catch (error) {
    told(call, `"${error.message}"`);
  }
}

async function until(ask) {
  const deadline = Date.now() + 60_000;
  while (Date.now() < deadline) {
    const answer = await ask();
    if (answer) return answer;
    await new Promise((done) => setTimeout(done, 1_500));
  }
  throw new Error('nothing came within 60 s');
}

const order = (fields) => client.createTransaction({
  amount: 12.5, currency1: 'USD', currency2: 'USDT.POL', buyer_email: 'ada@example.com', ipn_url, ...fields,
});
const pay = (made) => gatewayctl('simulate', 'deposit', '--payment-id', made.checkout_url.split('/').pop(), '--amount', made.amount);

let answer = await client.getBasicInfo();
works('getBasicInfo', answer, answer.merchant_id === keys.merchant_id);
answer = await client.rates({ accepted: 1 });
works('rates', answer, Number(answer['USDT.POL'].rate_btc) > 0 && answer['USDT.POL'].accepted === 1);
const plain = await order({ item_name: '2 x tea', invoice: 'A-1', custom: 'blue' });
works('createTransaction', plain, plain.amount === '12.50000000' && plain.txn_id.length === 26);
const letters = await order({ item_name: "2 × café (it's *new*!) ~ a+b=c & d", buyer_name: 'Ада' });
pay(plain);
pay(letters);
answer = await until(async () => {
  const info = await client.getTx({ txid: plain.txn_id });
  return info.status === 100 && info;
});
works('getTx', answer, answer.receivedf === '12.50000000' && answer.coin === 'USDT.POL');
answer = await client.getTxMulti([plain.txn_id, letters.txn_id]);
works('getTxMulti', answer, answer[plain.txn_id].error === 'ok' && answer[letters.txn_id].error === 'ok');
answer = await client.getTxList();
works('getTxList', answer, answer.length === 2 && answer.includes(plain.txn_id));
answer = await client.balances({ all: 0 });
works('balances', answer, Number(answer['USDT.POL'].balancef) >= 12.5);
const standing = () => client.getDepositAddress({ currency: 'USDT.POL' });
answer = await standing();
works('getDepositAddress', answer, answer.address.startsWith('0x') && answer.address === (await standing()).address);
const given = await client.getCallbackAddress({ currency: 'USDT.POL', ipn_url });
works('getCallbackAddress', given, given.address.startsWith('0x'));
gatewayctl('simulate', 'deposit', '--network', 'polygon', '--address', given.address, '--currency', 'USDTMATIC', '--amount', '3');
const recipient = `0x${'aa00000001'.padStart(40, '0')}`;
const target = { currency: 'USDT.POL', address: recipient };
const withdrawal = await client.createWithdrawal({ ...target, amount: 2, add_tx_fee: 1, ipn_url });
works('createWithdrawal', withdrawal, withdrawal.status === 1 && withdrawal.amount === '2.00000000');
gatewayctl('simulate', 'deposit', '--payout', withdrawal.payout_id);
answer = await until(async () => {
  const info = await client.getWithdrawalInfo({ id: withdrawal.id });
  return info.status === 2 && info;
});
works('getWithdrawalInfo', answer, answer.send_address.toLowerCase() === recipient && answer.send_txid.startsWith('0x'));
answer = await client.getWithdrawalHistory({ limit: 5 });
works('getWithdrawalHistory', answer, answer.length === 1 && answer[0].id === withdrawal.id);
const many = await client.createMassWithdrawal([{ ...target, amount: 1 }, { ...target, amount: 1, address: 'none' }]);
works('createMassWithdrawal', many, many.wd1.error === 'ok' && many.wd2.error.startsWith('Invalid withdrawal'));
answer = await client.cancelWithdrawal({ id: many.wd1.id });
works('cancelWithdrawal', answer, Array.isArray(answer));
const ipns = [
  ['verify', plain.txn_id, '100'],
  ['verify, all letters', letters.txn_id, '100'],
  ['verify, a deposit', given.address, '100'],
  ['verify, a withdrawal', withdrawal.id, '2'],
];
for (const [call, id, status] of ipns) {
  const { body, hmac } = await until(() => {
    const one = received.get(id);
    return one && parse(one.body).status === status && one;
  });
  const fields = parse(body);
  works(call, body, verify(hmac, merchant.webhook_secret, fields));
  if (verify(hmac, merchant.webhook_secret, { ...fields, status: '0' })) throw new Error('it verifies anything');
}
await refused('getTx, unknown id', client.getTx({ txid: 'none' }));
await refused('createTransaction, unknown coin', order({ currency2: 'NOCOIN' }));
await refused('createWithdrawal, unpayable coin', client.createWithdrawal({ ...target, amount: 1, currency: 'SOL' }));
await refused('getWithdrawalInfo, unknown id', client.getWithdrawalInfo({ id: 'none' }));
receiver.close();
receiver.closeAllConnections();
