import { PAYMENT_SIGNATURE_HEADER, PAYOUT_SIGNATURE_HEADER, WebhookError, isTest, verifyPaymentIpn, verifyPayoutWebhook, } from './webhooks.js';
/** Keys in memory, for trying out: a restart forgets them, and a second process does not know them. */
export function onceInMemory() {
    const seen = new Map();
    return async (key, act) => {
        const earlier = seen.get(key);
        if (earlier)
            return earlier;
        const acting = act(undefined);
        seen.set(key, acting);
        acting.catch(() => seen.delete(key));
        return acting;
    };
}
/**
 * Receives payment IPNs: verifies, keeps notices, renewals and tests apart, acts once per payment
 * and status.
 */
export function paymentIpnReceiver(options) {
    return receiver(PAYMENT_SIGNATURE_HEADER, 401, options.onError, async (body, signature) => {
        const event = await verifyPaymentIpn(body, signature, options.secret);
        if (event.kind === 'test')
            return;
        await options.once(event.key, async (tx) => {
            if (event.kind === 'payment')
                await options.onPayment(event.payment, tx);
            else if (event.kind === 'notice')
                await options.onNotice?.(event.notice, event.payment, tx);
            else
                await options.onRenewal?.(event.renewal, event.payment, tx);
        });
    });
}
/** Receives webhooks of mass payouts: verifies, keeps tests apart, and acts once per event. */
export function payoutWebhookReceiver(options) {
    // On this channel a 4xx drops the event for good, also when it is the own secret or clock that is
    // wrong; a 5xx is tried again and kept.
    return receiver(PAYOUT_SIGNATURE_HEADER, 500, options.onError, async (body, signature) => {
        const event = await verifyPayoutWebhook(body, signature, options.secret);
        if (isTest(event))
            return;
        await options.once(event.eventId, async (tx) => options.onEvent(event, tx));
    });
}
/** Far above any delivery. */
const BODY_MAX = 1024 * 1024;
class BodyTooLarge extends Error {
}
function receiver(header, refused, onError, act) {
    const answer = async (error) => {
        if (error instanceof WebhookError || error instanceof BodyTooLarge)
            return refused;
        if (onError)
            onError(error);
        else
            console.error(error);
        return 500;
    };
    const handle = (body, signature) => act(body, signature).then(() => 200, answer);
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
async function rawBody(request) {
    if (request.body instanceof Uint8Array || typeof request.body === 'string')
        return request.body;
    if (request.body !== undefined && Object.keys(request.body).length > 0) {
        throw new TypeError('the body was parsed before: put this receiver before express.json(), or use express.raw()');
    }
    return collect(request);
}
async function* streamed(stream) {
    const reader = stream.getReader();
    for (let part = await reader.read(); !part.done; part = await reader.read())
        yield part.value;
}
async function collect(parts) {
    const got = [];
    let length = 0;
    for await (const part of parts) {
        const bytes = typeof part === 'string' ? new TextEncoder().encode(part) : part;
        length += bytes.length;
        if (length > BODY_MAX)
            throw new BodyTooLarge();
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
