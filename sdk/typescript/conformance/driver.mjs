// Calls the SDK as sdk/conformance.py asks: one JSON object a line in, one out.
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import {
  ApiError, AuthenticationError, ConflictError, ConnectionError, Gateway, InvalidRequestError, NotFoundError,
  PermissionError, QuotaError, RateLimitError, ServerError, WebhookError, onceInMemory, paymentIpnReceiver,
  payoutWebhookReceiver, verifyPaymentIpn, verifyPayoutWebhook,
} from '../dist/index.js';

const clients = {};
const acts = { payments: [], notices: [], renewals: [], events: [] };
let failNext = false;

async function collected(items, field) {
  const found = [];
  for await (const item of items) found.push(item[field]);
  return found;
}

async function all(items) {
  const found = [];
  for await (const item of items) found.push(item);
  return found;
}

const ms = (seconds) => (seconds === undefined ? {} : { ms: seconds * 1000 });

const other = {
  open({ name, baseUrl, apiKey, timeout, retryFor }) {
    const options = { baseUrl, apiKey };
    if (timeout) options.timeout = timeout * 1000;
    if (retryFor) options.retryFor = retryFor * 1000;
    clients[name] = new Gateway(options);
    return name;
  },
  acts: () => acts,
  failNext() {
    failNext = true;
    return true;
  },
  async listen({ paymentSecret, payoutSecret }) {
    const fail = () => {
      if (failNext) {
        failNext = false;
        throw new Error('as the scenario asked');
      }
    };
    const ipn = paymentIpnReceiver({
      secret: ['the one before', paymentSecret],
      once: onceInMemory(),
      onError() {},
      onPayment(payment) {
        fail();
        acts.payments.push(`${payment.payment_id} ${payment.payment_status} ${payment.actually_paid}`);
      },
      onNotice(notice) {
        acts.notices.push(`${notice.type} ${notice.amount}`);
      },
      onRenewal(renewal, payment) {
        acts.renewals.push(`${renewal.day_offset} ${renewal.renewal_url} ${payment.payment_status}`);
      },
    });
    const payouts = payoutWebhookReceiver({
      secret: payoutSecret,
      once: onceInMemory(),
      onError() {},
      onEvent: (event) => void acts.events.push(`${event.eventType} ${event.order.id} ${event.order.state}`),
    });
    const server = createServer(async (request, response) => {
      if (request.url === '/ipn') return ipn.node(request, response);
      // The other form, as Next.js and others call it.
      const body = [];
      for await (const part of request) body.push(part);
      const sent = new Request('http://shop/', { method: 'POST', headers: request.headers, body: Buffer.concat(body) });
      const answer = await payouts.fetch(sent);
      response.statusCode = answer.status;
      response.end();
    });
    await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
    const base = `http://127.0.0.1:${server.address().port}`;
    return { payments: `${base}/ipn`, payouts: `${base}/payouts` };
  },
  async verifyPaymentIpn({ body, signature, secret, now }) {
    const event = await verifyPaymentIpn(body, signature, secret, now);
    return { kind: event.kind, key: event.key, event: event.payment, notice: event.notice, renewal: event.renewal };
  },
  async verifyPayoutWebhook({ body, signature, secret, now }) {
    const event = await verifyPayoutWebhook(body, signature, secret, now);
    return { kind: 'payout', key: event.eventId, event };
  },
};

function payouts(of, family) {
  return {
    create: ({ body, idempotencyKey }) => of.create(body, { idempotencyKey }),
    get: ({ id }) => of.get(id),
    list: ({ query }) => of.list(query),
    each: ({ query }) => collected(of.each(query), 'id'),
    cancel: ({ id }) => of.cancel(id),
    ...(family && {
      createCsv: ({ order, csv }) => of.createCsv(order, csv),
      items: ({ id, query }) => of.items(id, query),
      eachItem: ({ id, query }) => collected(of.eachItem(id, query), 'id'),
      batches: ({ id }) => of.batches(id),
      confirm: ({ id, body }) => of.confirm(id, body),
      refreshQuote: ({ id }) => of.refreshQuote(id),
      reportCsv: ({ id }) => of.reportCsv(id),
      templateCsv: () => of.templateCsv(),
    }),
    ...(!family && {
      submit: ({ id, signed }) => of.submit(id, signed),
      refresh: ({ id, feeLevel }) => of.refresh(id, feeLevel),
    }),
  };
}

function call({ op, ...given }) {
  if (other[op]) return other[op](given);
  const gateway = clients[given.client];
  const [group, name] = op.split('.');
  if (!name) {
    return {
      events: () => all(gateway.events(given.query)),
      event: () => gateway.event(given.id),
      resendEvent: () => gateway.resendEvent(given.id),
      resendEvents: () => gateway.resendEvents(given.body),
      testWebhook: () => gateway.testWebhook(given.body),
      sandboxDeposit: () => gateway.sandboxDeposit(given.body),
      sandboxExpire: () => gateway.sandboxExpire(given.id),
    }[group]?.() ?? gateway[group](given.query);
  }
  if (group === 'payments') {
    const of = gateway.payments;
    return {
      create: () => of.create(given.body, given.idempotencyKey ? { idempotencyKey: given.idempotencyKey } : {}),
      get: () => of.get(given.id),
      list: () => of.list(given.query),
      each: () => collected(of.each(given.query), 'payment_id'),
      deposits: () => of.deposits(given.id, given.query),
      buyerStatus: () => of.buyerStatus(given.id),
      wait: () => of.wait(given.id, { timeout: ms(given.timeout).ms, interval: ms(given.interval).ms }),
    }[name]();
  }
  return payouts(gateway[group], group !== 'ncPayouts')[name](given);
}

const KINDS = {
  Authentication: AuthenticationError, Conflict: ConflictError, InvalidRequest: InvalidRequestError, NotFound: NotFoundError,
  Permission: PermissionError, Quota: QuotaError, RateLimit: RateLimitError, Server: ServerError,
  Connection: ConnectionError, Webhook: WebhookError, Argument: TypeError,
};

function failure(error) {
  const type = Object.keys(KINDS).find((name) => error instanceof KINDS[name]) ?? String(error.stack);
  if (!(error instanceof ApiError)) return { type, message: error.message, reason: error.reason, idempotencyKey: error.idempotencyKey };
  return { type, message: error.message, code: error.code, status: error.status, details: error.details, retryAfter: error.retryAfter };
}

for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    answer = { ok: await call(JSON.parse(line)) };
  } catch (error) {
    answer = { error: failure(error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
process.exit(0);
