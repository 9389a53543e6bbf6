import type { Balance, BuyerStatus, ConfirmPayout, Currencies, Estimate, Event, MinAmount, NcFeeLevel, NcPayout, NcState, NewEventsResend, NewNcPayout, NewPayment, NewPayout, NewSandboxDeposit, OrderState, ItemStateName, Payment, PaymentDeposits, PaymentDetail, PayoutBatch, PayoutItem, PayoutOrder, FeeBearer, SandboxDeposit, WebhookTest, WebhookTestResult } from './contract.js';
import { type CallOptions, type CreateOptions, type GatewayOptions, type Page, Transport } from './transport.js';
import { X402 } from './x402.js';
export type * from './contract.js';
export type { CallOptions, CreateOptions, GatewayOptions, Page } from './transport.js';
export * from './errors.js';
export * from './webhooks.js';
export * from './receive.js';
export { X402, paidFetch, requirePayment } from './x402.js';
export type { Charge, PaidRequest, PaidResponse, Settlement } from './x402.js';
/** The gateway's API, version 1. */
export declare class Gateway {
    #private;
    readonly payments: Payments;
    /** Payouts on bitcoin, litecoin and dogecoin. */
    readonly massPayouts: MassPayouts;
    /** Payouts on the EVM networks. */
    readonly evmMassPayouts: MassPayouts;
    /** Payouts that you sign yourself. */
    readonly ncPayouts: NcPayouts;
    /** Payments of programs over HTTP. */
    readonly x402: X402;
    constructor(options: GatewayOptions);
    /** `{ message: "OK" }` while the gateway is alive. */
    status(options?: CallOptions): Promise<{
        message: string;
    }>;
    /** The currencies on offer. */
    currencies(options?: CallOptions): Promise<Currencies>;
    /** A price in a currency, now; not binding. `amount` is a decimal string. */
    estimate(query: {
        amount: string;
        currency_from: string;
        currency_to: string;
        network?: string;
    }, options?: CallOptions): Promise<Estimate>;
    /** The smallest payment in a currency. */
    minAmount(query: {
        currency_to: string;
        currency_from?: string;
        network?: string;
    }, options?: CallOptions): Promise<MinAmount>;
    /**
     * Everything that happened behind the event `after`, oldest first, also what has no webhook; it
     * ends where there is no more now. Act once per `event_id`, and keep the last one: it is the next
     * `after`. Waits out the rate limit.
     */
    events(query?: {
        after?: string;
        type?: string;
        limit?: number;
    }, options?: CallOptions): AsyncGenerator<Event, void, void>;
    /** One event, with every attempt to deliver its webhook. */
    event(id: string, options?: CallOptions): Promise<Event>;
    /** Sends an event's webhook again, under the same `event_id`. While attempts are under way it changes nothing. */
    resendEvent(id: string, options?: CallOptions): Promise<Event>;
    /**
     * Sends the webhooks of many events again: all that failed, if nothing narrows it. Returns the
     * `event_id`s of those that were started. Waits out the rate limit.
     */
    resendEvents(which?: NewEventsResend, options?: CallOptions): Promise<string[]>;
    /** Sends a signed sample to a receiver now, and returns what it said. The sample says that it is a test. */
    testWebhook(test: WebhookTest, options?: CallOptions): Promise<WebhookTestResult>;
    /** What the ledger says you have, per currency and network. */
    balance(query?: {
        fiat?: string;
    }, options?: CallOptions): Promise<Balance>;
    /** Sandbox only: pays an invoice, or an address of yours, on the simulated chain; once, as its `txid` says. */
    sandboxDeposit(deposit: NewSandboxDeposit, options?: CallOptions): Promise<SandboxDeposit>;
    /** Sandbox only: ends the time to pay an invoice. */
    sandboxExpire(paymentId: string, options?: CallOptions): Promise<Payment>;
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
export declare class Payments {
    #private;
    constructor(transport: Transport);
    /** Creates an invoice, once per idempotency key. `price_amount` is a decimal string. */
    create(payment: NewPayment, options?: CreateOptions): Promise<Payment>;
    /** Reads an invoice by its `payment_id`, or by your own `order_id`. */
    get(id: string, options?: CallOptions): Promise<PaymentDetail>;
    list(query?: PaymentQuery, options?: CallOptions): Promise<Page<Payment>>;
    /** All invoices, oldest first, so that new ones come last. Waits out the rate limit. */
    each(query?: {
        limit?: number;
        orderBy?: 'asc' | 'desc';
    }, options?: CallOptions): AsyncGenerator<Payment>;
    /** What reached the address of an invoice, also what is not confirmed yet, or in another currency. */
    deposits(id: string, query?: {
        limit?: number;
    }, options?: CallOptions): Promise<PaymentDeposits>;
    /** The buyer's view. The id is the credential: it may be asked for from a browser. */
    buyerStatus(id: string, options?: CallOptions): Promise<BuyerStatus>;
    /**
     * Looks until the invoice is `finished`, `expired` or `failed`, or the time is up, and returns it
     * as it is then. A webhook tells you sooner and at no cost: this is for scripts and tests.
     */
    wait(id: string, options?: WaitOptions): Promise<PaymentDetail>;
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
export declare class MassPayouts {
    #private;
    constructor(transport: Transport, path: string);
    /** Creates a draft with its quote. Its idempotency key is kept for ever. */
    create(order: NewPayout, options?: CreateOptions): Promise<PayoutOrder>;
    /** The same from a file with a heading: `address`, `amount`, and if wanted `reference`, `memo`. */
    createCsv(order: CsvOrder, csv: string, options?: CreateOptions): Promise<PayoutOrder>;
    get(id: string, options?: CallOptions): Promise<PayoutOrder>;
    list(query?: {
        limit?: number;
        page?: number;
        state?: OrderState;
    }, options?: CallOptions): Promise<Page<PayoutOrder>>;
    /** All orders, newest first. */
    each(query?: {
        limit?: number;
        state?: OrderState;
    }, options?: CallOptions): AsyncGenerator<PayoutOrder>;
    items(id: string, query?: {
        limit?: number;
        page?: number;
        state?: ItemStateName;
    }, options?: CallOptions): Promise<Page<PayoutItem>>;
    /** All recipients of an order, in the order of its rows. */
    eachItem(id: string, query?: {
        limit?: number;
        state?: ItemStateName;
    }, options?: CallOptions): AsyncGenerator<PayoutItem>;
    batches(id: string, options?: CallOptions): Promise<PayoutBatch[]>;
    /** Gives the order its deposit address. Name the quote that you were shown, and no other is taken. */
    confirm(id: string, quote?: ConfirmPayout, options?: CallOptions): Promise<PayoutOrder>;
    refreshQuote(id: string, options?: CallOptions): Promise<PayoutOrder>;
    /** Cancels it; what came in goes back to `refundAddress`. Repeating it changes nothing. */
    cancel(id: string, options?: CallOptions): Promise<PayoutOrder>;
    /** One line per recipient. */
    reportCsv(id: string, options?: CallOptions): Promise<string>;
    templateCsv(options?: CallOptions): Promise<string>;
}
export declare class NcPayouts {
    #private;
    constructor(transport: Transport);
    /** Builds what is to be signed. Its idempotency key is kept for ever. */
    create(payout: NewNcPayout, options?: CreateOptions): Promise<NcPayout>;
    get(id: string, options?: CallOptions): Promise<NcPayout>;
    list(query?: {
        limit?: number;
        page?: number;
        state?: NcState;
    }, options?: CallOptions): Promise<Page<NcPayout>>;
    /** All payouts, newest first. */
    each(query?: {
        limit?: number;
        state?: NcState;
    }, options?: CallOptions): AsyncGenerator<NcPayout>;
    /** Hands in all signed transactions; they are sent until a block holds them. */
    submit(id: string, signed: string[], options?: CallOptions): Promise<NcPayout>;
    /** Builds it again, with the fees of now and the same nonces or inputs. */
    refresh(id: string, feeLevel?: NcFeeLevel, options?: CallOptions): Promise<NcPayout>;
    cancel(id: string, options?: CallOptions): Promise<NcPayout>;
}
