import { createHmac, timingSafeEqual } from 'node:crypto';

const MAX_AGE_SECONDS = 600;

export class Refused extends Error {}

/**
 * Returns the event, or null if it was handled before or is a test (answer 200 and do nothing). Throws Refused otherwise (answer 401).
 *
 * rawBody: a Buffer with the very bytes received. Parsing and serialising again gives other bytes.
 * signature: the header x-gateway-signature.
 * remember(eventId): stores the id under a unique key and says whether it was new. Do it in the transaction that
 * books the event: an id that is stored although nothing was booked loses the event.
 */
export async function verifyPayoutWebhook({ rawBody, signature, secret, remember, now = Date.now() / 1000 }) {
  const expected = Buffer.from(createHmac('sha256', secret).update(rawBody).digest('hex'));
  const given = Buffer.from(signature ?? '');
  // timingSafeEqual throws on unequal lengths; the length is no secret.
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
    throw new Refused('forged');
  }
  const event = JSON.parse(rawBody.toString('utf8'));
  if (!(Math.abs(now - event.eventAt) <= MAX_AGE_SECONDS)) {
    throw new Refused('stale');
  }
  // Made by POST /v1/webhooks/test or gatewayctl check-receiver: nothing was paid.
  if (event._gateway?.test === true) return null;
  // The id of the signed body, not of the header, which anyone could have changed.
  return (await remember(event.eventId)) ? event : null;
}
