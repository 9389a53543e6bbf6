import type { Notice, PaymentIpn, PayoutWebhook, Renewal } from './contract.js';
import { type Secret } from './webhooks.js';
/**
 * Runs `act` unless `key` was stored before, and stores `key` in the same transaction. `act` gets
 * that transaction. If `act` throws, nothing is stored: the delivery comes again.
 *
 * Over SQL: begin; `INSERT INTO webhook_seen (key) VALUES ($1) ON CONFLICT DO NOTHING`; if a row was
 * inserted, `await act(tx)`; commit.
 */
export type Once<Tx> = (key: string, act: (tx: Tx) => Promise<void>) => Promise<void>;
/** Keys in memory, for trying out: a restart forgets them, and a second process does not know them. */
export declare function onceInMemory(): Once<undefined>;
export interface PaymentIpnOptions<Tx> {
    secret: Secret;
    once: Once<Tx>;
    /**
     * The payment reached a status, told once. Compare `order_id`, `price_amount` and
     * `price_currency` with your own record, then ship on `finished`.
     */
    onPayment: (payment: PaymentIpn, tx: Tx) => Promise<void> | void;
    /** Money came beside or after the payment: show it to a person, never ship on it. */
    onNotice?: (notice: Notice, payment: PaymentIpn, tx: Tx) => Promise<void> | void;
    /**
     * A subscription is due: mail `renewal_url` to the subscriber unless the gateway does; ship
     * nothing. `payment` is the latest invoice, mostly `finished`.
     */
    onRenewal?: (renewal: Renewal, payment: PaymentIpn, tx: Tx) => Promise<void> | void;
    /** What a callback threw; the delivery is answered 500 and comes again. */
    onError?: (error: unknown) => void;
}
export interface PayoutWebhookOptions<Tx> {
    secret: Secret;
    once: Once<Tx>;
    /** Events may overtake each other: never let an older `order.updatedAt` replace a newer one. */
    onEvent: (event: PayoutWebhook, tx: Tx) => Promise<void> | void;
    onError?: (error: unknown) => void;
}
/** The same receiver for each kind of server. */
export interface Receiver {
    /** The status to answer. `rawBody` as received. */
    handle(rawBody: Uint8Array | string, signature: string | null | undefined): Promise<number>;
    /** Next.js `export const POST = receiver.fetch`, Hono, Bun, Deno, workers. */
    fetch: (request: Request) => Promise<Response>;
    /** Express `app.post(path, receiver.node)`, before `express.json()`; plain `http`; Next.js pages. */
    node: (request: NodeRequest, response: NodeResponse) => Promise<void>;
}
/** The part of `http.IncomingMessage` that is used. */
export interface NodeRequest extends AsyncIterable<Uint8Array | string> {
    headers: Record<string, string | string[] | undefined>;
    body?: unknown;
}
/** The part of `http.ServerResponse` that is used. */
export interface NodeResponse {
    statusCode: number;
    end(text?: string): unknown;
}
/**
 * Receives payment IPNs: verifies, keeps notices, renewals and tests apart, acts once per payment
 * and status.
 */
export declare function paymentIpnReceiver<Tx>(options: PaymentIpnOptions<Tx>): Receiver;
/** Receives webhooks of mass payouts: verifies, keeps tests apart, and acts once per event. */
export declare function payoutWebhookReceiver<Tx>(options: PayoutWebhookOptions<Tx>): Receiver;
