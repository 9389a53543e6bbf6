import { parseExact } from './amounts.js';
import { GatewayError } from './errors.js';
/** The two channels differ in header, hash and body: verify each by its own function. */
export const PAYMENT_SIGNATURE_HEADER = 'x-gateway-sig';
export const PAYOUT_SIGNATURE_HEADER = 'x-gateway-signature';
/** The greatest distance of a delivery's time from your clock. */
const MAX_AGE_SECONDS = 600;
/** Not to be trusted. */
export class WebhookError extends GatewayError {
    reason;
    constructor(reason) {
        super(reason === 'forged' ? 'the signature is not the gateway\'s' : 'the delivery is too old, or too far ahead');
        this.reason = reason;
    }
}
/**
 * Verifies a payment IPN: header `x-gateway-sig`, HMAC-SHA-512. `rawBody` is what was received,
 * byte for byte: parsing and serialising again gives other bytes. Throws `WebhookError`.
 */
export async function verifyPaymentIpn(rawBody, signature, secret, now = Date.now() / 1000) {
    const text = await authentic(rawBody, signature, secret, 'SHA-512');
    const payment = read(() => parseExact(text));
    fresh(payment.event_at, now);
    if (payment._gateway?.test === true)
        return { kind: 'test', payment, key: payment.event_id };
    const notice = payment._gateway?.notice;
    if (notice)
        return { kind: 'notice', notice, payment, key: payment.event_id };
    const renewal = payment._gateway?.renewal;
    if (renewal)
        return { kind: 'renewal', renewal, payment, key: payment.event_id };
    return { kind: 'payment', payment, key: `${payment.payment_id} ${payment.payment_status}` };
}
/** A webhook of mass payouts that was made for a test: nothing was paid. Answer 200 and do nothing else. */
export function isTest(event) {
    return event._gateway?.test === true;
}
/**
 * Verifies a webhook of mass payouts: header `X-Gateway-Signature`, HMAC-SHA-256. Act once per
 * `eventId`. Throws `WebhookError`.
 */
export async function verifyPayoutWebhook(rawBody, signature, secret, now = Date.now() / 1000) {
    const text = await authentic(rawBody, signature, secret, 'SHA-256');
    const event = read(() => JSON.parse(text));
    fresh(event.eventAt, now);
    return event;
}
async function authentic(rawBody, signature, secret, hash) {
    const body = typeof rawBody === 'string' ? new TextEncoder().encode(rawBody) : new Uint8Array(rawBody);
    const given = unhex(signature ?? '', hash === 'SHA-512' ? 64 : 32);
    const secrets = typeof secret === 'string' ? [secret] : secret;
    if (secrets.length === 0 || secrets.includes(''))
        throw new TypeError('the webhook secret is empty');
    let isOurs = false;
    for (const text of given ? secrets : []) {
        const bytes = new TextEncoder().encode(text);
        const key = await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash }, false, ['verify']);
        // It compares in constant time.
        isOurs = (await crypto.subtle.verify('HMAC', key, given, body)) || isOurs;
    }
    if (!isOurs)
        throw new WebhookError('forged');
    return new TextDecoder().decode(body);
}
function unhex(text, length) {
    if (text.length !== 2 * length || !/^[0-9a-f]*$/.test(text))
        return undefined;
    return Uint8Array.from({ length }, (_, at) => parseInt(text.slice(2 * at, 2 * at + 2), 16));
}
function read(parse) {
    let body;
    try {
        body = parse();
    }
    catch {
        body = undefined;
    }
    if (typeof body !== 'object' || body === null)
        throw new WebhookError('forged');
    return body;
}
function fresh(at, now) {
    if (typeof at !== 'number' || !(Math.abs(now - at) <= MAX_AGE_SECONDS))
        throw new WebhookError('stale');
}
