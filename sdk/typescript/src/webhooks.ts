import type { Notice, PaymentIpn, PayoutWebhook, Renewal } from './contract.js';
import { parseExact } from './amounts.js';
import { GatewayError } from './errors.js';

/** The two channels differ in header, hash and body: verify each by its own function. */
export const PAYMENT_SIGNATURE_HEADER = 'x-gateway-sig';
export const PAYOUT_SIGNATURE_HEADER = 'x-gateway-signature';

/** The greatest distance of a delivery's time from your clock. */
const MAX_AGE_SECONDS = 600;

/** Not to be trusted. */
export class WebhookError extends GatewayError {
  readonly reason: 'forged' | 'stale';

  constructor(reason: 'forged' | 'stale') {
    super(reason === 'forged' ? 'the signature is not the gateway\'s' : 'the delivery is too old, or too far ahead');
    this.reason = reason;
  }
}

/** A payment IPN that verified. */
export type PaymentEvent =
  | {
      /** The payment reached this `payment_status`: the one kind of event to act on. */
      kind: 'payment';
      payment: PaymentIpn;
      /** Act once per key. */
      key: string;
    }
  | {
      /**
       * Money came beside or after the payment. For a person: it changes nothing, and
       * `payment.payment_status` only repeats the state of the invoice. Never ship on it.
       */
      kind: 'notice';
      notice: Notice;
      payment: PaymentIpn;
      key: string;
    }
  | {
      /**
       * A subscription is due. Mail `renewal.renewal_url` to the subscriber unless the gateway
       * does, and ship nothing: `payment` is the latest invoice as it stands, mostly `finished`.
       */
      kind: 'renewal';
      renewal: Renewal;
      payment: PaymentIpn;
      key: string;
    }
  | {
      /** You, or your operator, tried the receiver. Nothing was paid: answer 200 and do nothing else. */
      kind: 'test';
      payment: PaymentIpn;
      key: string;
    };

/** One secret, or two while the old one is being replaced. */
export type Secret = string | readonly string[];

/**
 * Verifies a payment IPN: header `x-gateway-sig`, HMAC-SHA-512. `rawBody` is what was received,
 * byte for byte: parsing and serialising again gives other bytes. Throws `WebhookError`.
 */
export async function verifyPaymentIpn(
  rawBody: Uint8Array | string,
  signature: string | null | undefined,
  secret: Secret,
  now: number = Date.now() / 1000,
): Promise<PaymentEvent> {
  const text = await authentic(rawBody, signature, secret, 'SHA-512');
  const payment = read(() => parseExact(text)) as PaymentIpn & { _gateway?: { notice?: Notice; test?: true } };
  fresh(payment.event_at, now);
  if (payment._gateway?.test === true) return { kind: 'test', payment, key: payment.event_id };
  const notice = payment._gateway?.notice;
  if (notice) return { kind: 'notice', notice, payment, key: payment.event_id };
  const renewal = payment._gateway?.renewal;
  if (renewal) return { kind: 'renewal', renewal, payment, key: payment.event_id };
  return { kind: 'payment', payment, key: `${payment.payment_id} ${payment.payment_status}` };
}

/** A webhook of mass payouts that was made for a test: nothing was paid. Answer 200 and do nothing else. */
export function isTest(event: PayoutWebhook): boolean {
  return event._gateway?.test === true;
}

/**
 * Verifies a webhook of mass payouts: header `X-Gateway-Signature`, HMAC-SHA-256. Act once per
 * `eventId`. Throws `WebhookError`.
 */
export async function verifyPayoutWebhook(
  rawBody: Uint8Array | string,
  signature: string | null | undefined,
  secret: Secret,
  now: number = Date.now() / 1000,
): Promise<PayoutWebhook> {
  const text = await authentic(rawBody, signature, secret, 'SHA-256');
  const event = read(() => JSON.parse(text)) as PayoutWebhook;
  fresh(event.eventAt, now);
  return event;
}

async function authentic(
  rawBody: Uint8Array | string,
  signature: string | null | undefined,
  secret: Secret,
  hash: 'SHA-256' | 'SHA-512',
): Promise<string> {
  const body = typeof rawBody === 'string' ? new TextEncoder().encode(rawBody) : new Uint8Array(rawBody);
  const given = unhex(signature ?? '', hash === 'SHA-512' ? 64 : 32);
  const secrets = typeof secret === 'string' ? [secret] : secret;
  if (secrets.length === 0 || secrets.includes('')) throw new TypeError('the webhook secret is empty');
  let isOurs = false;
  for (const text of given ? secrets : []) {
    const bytes = new TextEncoder().encode(text);
    const key = await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash }, false, ['verify']);
    // It compares in constant time.
    isOurs = (await crypto.subtle.verify('HMAC', key, given!, body)) || isOurs;
  }
  if (!isOurs) throw new WebhookError('forged');
  return new TextDecoder().decode(body);
}

function unhex(text: string, length: number): Uint8Array<ArrayBuffer> | undefined {
  if (text.length !== 2 * length || !/^[0-9a-f]*$/.test(text)) return undefined;
  return Uint8Array.from({ length }, (_, at) => parseInt(text.slice(2 * at, 2 * at + 2), 16));
}

function read(parse: () => unknown): object {
  let body: unknown;
  try {
    body = parse();
  } catch {
    body = undefined;
  }
  if (typeof body !== 'object' || body === null) throw new WebhookError('forged');
  return body;
}

function fresh(at: unknown, now: number): void {
  if (typeof at !== 'number' || !(Math.abs(now - at) <= MAX_AGE_SECONDS)) throw new WebhookError('stale');
}
