import type {
  Balance, BuyerStatus, ConfirmPayout, Currencies, Estimate, Event, EventPage, EventsResent, MinAmount,
  NcFeeLevel, NcPayout, NcState, NewEventsResend, NewNcPayout, NewPayment, NewPayout, NewSandboxDeposit,
  OrderState, ItemStateName, Payment, PaymentDeposits, PaymentDetail, PayoutBatch, PayoutItem, PayoutOrder,
  FeeBearer, SandboxDeposit, WebhookTest, WebhookTestResult,
} from './contract.js';
import { writeExact } from './amounts.js';
import { ConflictError } from './errors.js';
import {
  type CallOptions, type CreateOptions, type GatewayOptions, type Page, PATIENT, Transport, items,
} from './transport.js';
import { X402 } from './x402.js';

export type * from './contract.js';
export type { CallOptions, CreateOptions, GatewayOptions, Page } from './transport.js';
export * from './errors.js';
export * from './webhooks.js';
export * from './receive.js';
export { X402, paidFetch, requirePayment } from './x402.js';
export type { Charge, PaidRequest, PaidResponse, Settlement } from './x402.js';

/** The gateway's API, version 1. */
export class Gateway {
  readonly payments: Payments;
  /** Payouts on bitcoin, litecoin and dogecoin. */
  readonly massPayouts: MassPayouts;
  /** Payouts on the EVM networks. */
  readonly evmMassPayouts: MassPayouts;
  /** Payouts that you sign yourself. */
  readonly ncPayouts: NcPayouts;
  /** Payments of programs over HTTP. */
  readonly x402: X402;
  readonly #transport: Transport;

  constructor(options: GatewayOptions) {
    this.#transport = new Transport(options);
    this.payments = new Payments(this.#transport);
    this.massPayouts = new MassPayouts(this.#transport, '/v1/mass-payout');
    this.evmMassPayouts = new MassPayouts(this.#transport, '/v1/evm-mass-payout');
    this.ncPayouts = new NcPayouts(this.#transport);
    this.x402 = new X402(this.#transport);
  }

  /** `{ message: "OK" }` while the gateway is alive. */
  status(options?: CallOptions): Promise<{ message: string }> {
    return this.#transport.send({ method: 'GET', path: '/v1/status' }, options);
  }

  /** The currencies on offer. */
  currencies(options?: CallOptions): Promise<Currencies> {
    return this.#transport.send({ method: 'GET', path: '/v1/currencies', answer: 'payment' }, options);
  }

  /** A price in a currency, now; not binding. `amount` is a decimal string. */
  estimate(
    query: { amount: string; currency_from: string; currency_to: string; network?: string },
    options?: CallOptions,
  ): Promise<Estimate> {
    return this.#transport.send({ method: 'GET', path: '/v1/estimate', query, answer: 'payment' }, options);
  }

  /** The smallest payment in a currency. */
  minAmount(
    query: { currency_to: string; currency_from?: string; network?: string },
    options?: CallOptions,
  ): Promise<MinAmount> {
    return this.#transport.send({ method: 'GET', path: '/v1/min-amount', query, answer: 'payment' }, options);
  }

  /**
   * Everything that happened behind the event `after`, oldest first, also what has no webhook; it
   * ends where there is no more now. Act once per `event_id`, and keep the last one: it is the next
   * `after`. Waits out the rate limit.
   */
  async *events(
    query: { after?: string; type?: string; limit?: number } = {},
    options: CallOptions = {},
  ): AsyncGenerator<Event, void, void> {
    const patient = { maxWait: PATIENT, ...options };
    let { after } = query;
    for (;;) {
      const asked = { limit: 100, ...query, after };
      const request = { method: 'GET', path: '/v1/events', query: asked, answer: 'payment' } as const;
      const page = await this.#transport.send<EventPage>(request, patient);
      yield* page.data;
      if (!page.has_more) return;
      after = page.next ?? after;
    }
  }

  /** One event, with every attempt to deliver its webhook. */
  event(id: string, options?: CallOptions): Promise<Event> {
    const path = `/v1/events/${segment(id)}`;
    return this.#transport.send({ method: 'GET', path, answer: 'payment' }, options);
  }

  /** Sends an event's webhook again, under the same `event_id`. While attempts are under way it changes nothing. */
  resendEvent(id: string, options?: CallOptions): Promise<Event> {
    const path = `/v1/events/${segment(id)}/resend`;
    return this.#transport.send({ method: 'POST', path, answer: 'payment' }, options);
  }

  /**
   * Sends the webhooks of many events again: all that failed, if nothing narrows it. Returns the
   * `event_id`s of those that were started. Waits out the rate limit.
   */
  async resendEvents(which: NewEventsResend = {}, options: CallOptions = {}): Promise<string[]> {
    const patient = { maxWait: PATIENT, ...options };
    const started: string[] = [];
    let after = which.after;
    for (;;) {
      const body = JSON.stringify({ ...which, after });
      const request = { method: 'POST', path: '/v1/events/resend', body } as const;
      const page = await this.#transport.send<EventsResent>(request, patient);
      started.push(...page.event_ids);
      if (!page.has_more) return started;
      after = page.next ?? after;
    }
  }

  /** Sends a signed sample to a receiver now, and returns what it said. The sample says that it is a test. */
  testWebhook(test: WebhookTest, options?: CallOptions): Promise<WebhookTestResult> {
    const body = JSON.stringify(test);
    return this.#transport.send({ method: 'POST', path: '/v1/webhooks/test', body }, options);
  }

  /** What the ledger says you have, per currency and network. */
  balance(query: { fiat?: string } = {}, options?: CallOptions): Promise<Balance> {
    return this.#transport.send({ method: 'GET', path: '/v1/balance', query }, options);
  }

  /** Sandbox only: pays an invoice, or an address of yours, on the simulated chain; once, as its `txid` says. */
  sandboxDeposit(deposit: NewSandboxDeposit, options?: CallOptions): Promise<SandboxDeposit> {
    const body = JSON.stringify({ txid: crypto.randomUUID().replaceAll('-', ''), ...deposit });
    return this.#transport.send({ method: 'POST', path: '/v1/sandbox/deposit', body }, options);
  }

  /** Sandbox only: ends the time to pay an invoice. */
  sandboxExpire(paymentId: string, options?: CallOptions): Promise<Payment> {
    const body = JSON.stringify({ payment_id: paymentId });
    return this.#transport.send({ method: 'POST', path: '/v1/sandbox/expire', body, answer: 'payment' }, options);
  }
}

export interface PaymentQuery {
  limit?: number;
  page?: number;
  sortBy?: 'created_at' | 'updated_at';
  orderBy?: 'asc' | 'desc';
}

export interface WaitOptions extends CallOptions {
  /** Milliseconds after which it is returned as it is; 30 minutes if absent. */
  timeout?: number;
  /** Milliseconds between two looks, 3,000 if absent: a merchant has 60 requests a minute. */
  interval?: number;
}

export class Payments {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Creates an invoice, once per idempotency key. `price_amount` is a decimal string. */
  create(payment: NewPayment, options: CreateOptions = {}): Promise<Payment> {
    const idempotencyKey = options.idempotencyKey ?? crypto.randomUUID();
    return this.#transport.send(
      { method: 'POST', path: '/v1/payment', body: writeExact(payment), idempotencyKey, answer: 'payment' },
      options,
    );
  }

  /** Reads an invoice by its `payment_id`, or by your own `order_id`. */
  get(id: string, options?: CallOptions): Promise<PaymentDetail> {
    const path = `/v1/payment/${segment(id)}`;
    return this.#transport.send({ method: 'GET', path, answer: 'payment' }, options);
  }

  list(query: PaymentQuery = {}, options?: CallOptions): Promise<Page<Payment>> {
    return this.#transport.send({ method: 'GET', path: '/v1/payment', query, answer: 'payment' }, options);
  }

  /** All invoices, oldest first, so that new ones come last. Waits out the rate limit. */
  each(query: { limit?: number; orderBy?: 'asc' | 'desc' } = {}, options: CallOptions = {}): AsyncGenerator<Payment> {
    const patient = { maxWait: PATIENT, ...options };
    const read = (page: number) => this.list({ limit: 100, orderBy: 'asc', ...query, page }, patient);
    return items(read, (payment) => payment.payment_id);
  }

  /** What reached the address of an invoice, also what is not confirmed yet, or in another currency. */
  deposits(id: string, query: { limit?: number } = {}, options?: CallOptions): Promise<PaymentDeposits> {
    return this.#transport.send({ method: 'GET', path: `/v1/payment/${segment(id)}/deposits`, query }, options);
  }

  /** The buyer's view. The id is the credential: it may be asked for from a browser. */
  buyerStatus(id: string, options?: CallOptions): Promise<BuyerStatus> {
    // Its amounts are text already.
    const path = `/v1/invoices/${segment(id)}/status`;
    return this.#transport.send({ method: 'GET', path, answer: 'payment' }, options);
  }

  /**
   * Looks until the invoice is `finished`, `expired` or `failed`, or the time is up, and returns it
   * as it is then. A webhook tells you sooner and at no cost: this is for scripts and tests.
   */
  async wait(id: string, options: WaitOptions = {}): Promise<PaymentDetail> {
    const until = Date.now() + (options.timeout ?? 30 * 60_000);
    const patient = { maxWait: PATIENT, ...options };
    for (;;) {
      const payment = await this.get(id, patient);
      const isOver = ['finished', 'expired', 'failed'].includes(payment.payment_status);
      const interval = options.interval ?? 3_000;
      if (isOver || Date.now() + interval > until) return payment;
      await this.#transport.sleep(interval);
    }
  }
}

export interface CsvOrder {
  network: string;
  currency: string;
  feeMode?: FeeBearer;
  refundAddress?: string;
  label?: string;
  callbackUrl?: string;
}

/** Both families of mass payouts: the operations are the same. */
export class MassPayouts {
  readonly #transport: Transport;
  readonly #path: string;

  constructor(transport: Transport, path: string) {
    this.#transport = transport;
    this.#path = path;
  }

  /** Creates a draft with its quote. Its idempotency key is kept for ever. */
  create(order: NewPayout, options: CreateOptions = {}): Promise<PayoutOrder> {
    return this.#post('', JSON.stringify(order), options, {
      idempotencyKey: options.idempotencyKey ?? crypto.randomUUID(),
    });
  }

  /** The same from a file with a heading: `address`, `amount`, and if wanted `reference`, `memo`. */
  createCsv(order: CsvOrder, csv: string, options: CreateOptions = {}): Promise<PayoutOrder> {
    return this.#post('', csv, options, {
      idempotencyKey: options.idempotencyKey ?? crypto.randomUUID(),
      contentType: 'text/csv',
      query: order,
    });
  }

  get(id: string, options?: CallOptions): Promise<PayoutOrder> {
    return this.#get(`/${segment(id)}`, options);
  }

  list(query: { limit?: number; page?: number; state?: OrderState } = {}, options?: CallOptions): Promise<Page<PayoutOrder>> {
    return this.#transport.send({ method: 'GET', path: this.#path, query }, options);
  }

  /** All orders, newest first. */
  each(query: { limit?: number; state?: OrderState } = {}, options: CallOptions = {}): AsyncGenerator<PayoutOrder> {
    const patient = { maxWait: PATIENT, ...options };
    return items((page) => this.list({ limit: 100, ...query, page }, patient), (order) => order.id);
  }

  items(id: string, query: { limit?: number; page?: number; state?: ItemStateName } = {}, options?: CallOptions): Promise<Page<PayoutItem>> {
    return this.#transport.send({ method: 'GET', path: `${this.#path}/${segment(id)}/items`, query }, options);
  }

  /** All recipients of an order, in the order of its rows. */
  eachItem(id: string, query: { limit?: number; state?: ItemStateName } = {}, options: CallOptions = {}): AsyncGenerator<PayoutItem> {
    const patient = { maxWait: PATIENT, ...options };
    return items((page) => this.items(id, { limit: 100, ...query, page }, patient), (item) => item.id);
  }

  batches(id: string, options?: CallOptions): Promise<PayoutBatch[]> {
    return this.#get(`/${segment(id)}/batches`, options);
  }

  /** Gives the order its deposit address. Name the quote that you were shown, and no other is taken. */
  confirm(id: string, quote: ConfirmPayout = {}, options: CallOptions = {}): Promise<PayoutOrder> {
    return this.#post(`/${segment(id)}/confirm`, JSON.stringify(quote), options);
  }

  refreshQuote(id: string, options: CallOptions = {}): Promise<PayoutOrder> {
    return this.#post(`/${segment(id)}/refresh-quote`, undefined, options);
  }

  /** Cancels it; what came in goes back to `refundAddress`. Repeating it changes nothing. */
  async cancel(id: string, options: CallOptions = {}): Promise<PayoutOrder> {
    try {
      return await this.#post(`/${segment(id)}/cancel`, undefined, options);
    } catch (error) {
      // An earlier attempt, whose answer was lost, has cancelled it.
      const details = error instanceof ConflictError ? (error.details as { state?: string } | undefined) : undefined;
      if (details?.state === 'cancelled') return this.get(id, options);
      throw error;
    }
  }

  /** One line per recipient. */
  reportCsv(id: string, options?: CallOptions): Promise<string> {
    const path = `${this.#path}/${segment(id)}/report.csv`;
    return this.#transport.send({ method: 'GET', path, answer: 'text' }, options);
  }

  templateCsv(options?: CallOptions): Promise<string> {
    return this.#transport.send({ method: 'GET', path: `${this.#path}/template.csv`, answer: 'text' }, options);
  }

  async #get<T>(path: string, options?: CallOptions): Promise<T> {
    const answer = await this.#transport.send<{ data: T }>({ method: 'GET', path: this.#path + path }, options);
    return answer.data;
  }

  async #post(path: string, body: string | undefined, options: CallOptions, more: object = {}): Promise<PayoutOrder> {
    const given = body === undefined ? {} : { body };
    const request = { method: 'POST', path: this.#path + path, ...given, ...more } as const;
    return (await this.#transport.send<{ data: PayoutOrder }>(request, options)).data;
  }
}

export class NcPayouts {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Builds what is to be signed. Its idempotency key is kept for ever. */
  create(payout: NewNcPayout, options: CreateOptions = {}): Promise<NcPayout> {
    const idempotencyKey = options.idempotencyKey ?? crypto.randomUUID();
    return this.#post('', payout, options, { idempotencyKey });
  }

  async get(id: string, options?: CallOptions): Promise<NcPayout> {
    const path = `/v1/nc-payout/${segment(id)}`;
    return (await this.#transport.send<{ data: NcPayout }>({ method: 'GET', path }, options)).data;
  }

  list(query: { limit?: number; page?: number; state?: NcState } = {}, options?: CallOptions): Promise<Page<NcPayout>> {
    return this.#transport.send({ method: 'GET', path: '/v1/nc-payout', query }, options);
  }

  /** All payouts, newest first. */
  each(query: { limit?: number; state?: NcState } = {}, options: CallOptions = {}): AsyncGenerator<NcPayout> {
    const patient = { maxWait: PATIENT, ...options };
    return items((page) => this.list({ limit: 100, ...query, page }, patient), (payout) => payout.id);
  }

  /** Hands in all signed transactions; they are sent until a block holds them. */
  submit(id: string, signed: string[], options: CallOptions = {}): Promise<NcPayout> {
    return this.#post(`/${segment(id)}/submit`, { signed }, options);
  }

  /** Builds it again, with the fees of now and the same nonces or inputs. */
  refresh(id: string, feeLevel?: NcFeeLevel, options: CallOptions = {}): Promise<NcPayout> {
    return this.#post(`/${segment(id)}/refresh`, feeLevel === undefined ? {} : { feeLevel }, options);
  }

  cancel(id: string, options: CallOptions = {}): Promise<NcPayout> {
    return this.#post(`/${segment(id)}/cancel`, undefined, options);
  }

  async #post(path: string, body: unknown, options: CallOptions, more: object = {}): Promise<NcPayout> {
    const given = body === undefined ? {} : { body: JSON.stringify(body) };
    const request = { method: 'POST', path: `/v1/nc-payout${path}`, ...given, ...more } as const;
    return (await this.#transport.send<{ data: NcPayout }>(request, options)).data;
  }
}

/** An id as one part of a path; an `order_id` may hold anything. */
function segment(id: string): string {
  if (typeof id !== 'string' || id === '' || id === '.' || id === '..') throw new TypeError('an id is text, and not empty');
  return encodeURIComponent(id);
}
