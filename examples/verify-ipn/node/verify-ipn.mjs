import { createHmac, timingSafeEqual } from 'node:crypto';

const MAX_AGE_SECONDS = 600;

export class Refused extends Error {}

/**
 * Returns one of four; throws Refused for anything else (answer 401).
 *
 * - { payment }: the payment reached this payment_status. The one event to act on.
 * - { notice }: money came beside or after the payment, described in _gateway.notice. It is for a
 *   person and changes nothing: its payment_status only repeats the state of the invoice.
 * - { renewal }: a subscription is due, as _gateway.renewal says. Mail its renewal_url to the
 *   subscriber unless the gateway does, and ship nothing: its payment_status, mostly finished, only
 *   repeats the state of the latest invoice.
 * - {}: it was handled before, or is a test of yours (answer 200 and do nothing).
 *
 * rawBody: a Buffer with the very bytes received. Parsing and serialising again gives other bytes.
 * signature: the header x-gateway-sig.
 * remember(key): stores the key in a unique column and returns true if it was new. Do it in the
 * transaction that fulfils the order: a key that is stored although the order was not fulfilled
 * loses the payment.
 */
export async function verifyIpn({ rawBody, signature, secret, remember, now = Date.now() / 1000 }) {
  const expected = Buffer.from(createHmac('sha512', secret).update(rawBody).digest('hex'));
  const given = Buffer.from(signature ?? '');
  // timingSafeEqual throws on unequal lengths; the length is no secret.
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
    throw new Refused('forged');
  }
  const event = JSON.parse(rawBody.toString('utf8'));
  if (!(Math.abs(now - event.event_at) <= MAX_AGE_SECONDS)) {
    throw new Refused('stale');
  }
  // Made by POST /v1/webhooks/test or gatewayctl check-receiver: nothing was paid.
  if (event._gateway?.test === true) return {};
  // Each notice has an event id of its own and repeats the status: any buyer can cause many after
  // one payment. All fields are those of the signed body, never of a header.
  if (event._gateway?.notice) {
    return (await remember(event.event_id)) ? { notice: event } : {};
  }
  // So has each reminder of a renewal: seven days, seven events of the same payment and status.
  if (event._gateway?.renewal) {
    return (await remember(event.event_id)) ? { renewal: event } : {};
  }
  return (await remember(`${event.payment_id} ${event.payment_status}`)) ? { payment: event } : {};
}
