import type { Notice, PaymentIpn, PayoutWebhook, Renewal } from './contract.js';
import {
  PAYMENT_SIGNATURE_HEADER, PAYOUT_SIGNATURE_HEADER, type Secret, WebhookError, isTest, verifyPaymentIpn, verifyPayoutWebhook,
} from './webhooks.js';

/**
 * Runs `act` unless `key` was stored before, and stores `key` in the same transaction. `act` gets
 * that transaction. If `act` throws, nothing is stored: the delivery comes again.
 *
 * Over SQL: begin; `INSERT INTO webhook_seen (key) VALUES ($1) ON CONFLICT DO NOTHING`; if a row was
 * inserted, `await act(tx)`; commit.
 */
export type Once<Tx> = (key: string, act: (tx: Tx) => Promise<void>) => Promise<void>;

/** Keys in memory, for trying out: a restart forgets them, and a second process does not know them. */
export function onceInMemory(): Once<undefined> {
  const seen = new Map<string, Promise<void>>();
  return async (key, act) => {
    const earlier = seen.get(key);
    if (earlier) return earlier;
    const acting = act(undefined);
    seen.set(key, acting);
    acting.catch(() => seen.delete(key));
    return acting;
  };
}

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
export function paymentIpnReceiver<Tx>(options: PaymentIpnOptions<Tx>): Receiver {
  return receiver(PAYMENT_SIGNATURE_HEADER, 401, options.onError, async (body, signature) => {
    const event = await verifyPaymentIpn(body, signature, options.secret);
    if (event.kind === 'test') return;
    await options.once(event.key, async (tx) => {
      if (event.kind === 'payment') await options.onPayment(event.payment, tx);
      else if (event.kind === 'notice') await options.onNotice?.(event.notice, event.payment, tx);
      else await options.onRenewal?.(event.renewal, event.payment, tx);
    });
  });
}

/** Receives webhooks of mass payouts: verifies, keeps tests apart, and acts once per event. */
export function payoutWebhookReceiver<Tx>(options: PayoutWebhookOptions<Tx>): Receiver {
  // On this channel a 4xx drops the event for good, also when it is the own secret or clock that is
  // wrong; a 5xx is tried again and kept.
  return receiver(PAYOUT_SIGNATURE_HEADER, 500, options.onError, async (body, signature) => {
    const event = await verifyPayoutWebhook(body, signature, options.secret);
    if (isTest(event)) return;
    await options.once(event.eventId, async (tx) => options.onEvent(event, tx));
  });
}

/** Far above any delivery. */
const BODY_MAX = 1024 * 1024;

class BodyTooLarge extends Error {}

function receiver(
  header: string,
  refused: number,
  onError: ((error: unknown) => void) | undefined,
  act: (body: Uint8Array | string, signature: string | null | undefined) => Promise<void>,
): Receiver {
  const answer = async (error: unknown): Promise<number> => {
    if (error instanceof WebhookError || error instanceof BodyTooLarge) return refused;
    if (onError) onError(error);
    else console.error(error);
    return 500;
  };
  const handle = (body: Uint8Array | string, signature: string | null | undefined) =>
    act(body, signature).then(() => 200, answer);
  return {
    handle,
    async fetch(request) {
      const body = request.body ? await collect(streamed(request.body)).catch(answer) : '';
      const status = typeof body === 'number' ? body : await handle(body, request.headers.get(header));
      return new Response(null, { status });
    },
    async node(request, response) {
      const body = await rawBody(request).catch(answer);
      const signature = request.headers[header];
      const given = Array.isArray(signature) ? signature[0] : signature;
      response.statusCode = typeof body === 'number' ? body : await handle(body, given);
      response.end();
    },
  };
}

async function rawBody(request: NodeRequest): Promise<Uint8Array | string> {
  if (request.body instanceof Uint8Array || typeof request.body === 'string') return request.body;
  if (request.body !== undefined && Object.keys(request.body as object).length > 0) {
    throw new TypeError('the body was parsed before: put this receiver before express.json(), or use express.raw()');
  }
  return collect(request);
}

async function* streamed(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value;
}

async function collect(parts: AsyncIterable<Uint8Array | string>): Promise<Uint8Array> {
  const got: Uint8Array[] = [];
  let length = 0;
  for await (const part of parts) {
    const bytes = typeof part === 'string' ? new TextEncoder().encode(part) : part;
    length += bytes.length;
    if (length > BODY_MAX) throw new BodyTooLarge();
    got.push(bytes);
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const bytes of got) {
    whole.set(bytes, at);
    at += bytes.length;
  }
  return whole;
}
