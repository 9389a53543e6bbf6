/** Terms change rarely; a price that you change holds after this. */
const TERMS_FOR = 60_000;
/** A settlement waits for a block. */
const SETTLING = { maxWait: 0 };
/** Payments of programs over HTTP (x402). */
export class X402 {
    #transport;
    #terms = new Map();
    constructor(transport) {
        this.#transport = transport;
    }
    /** Sells a resource: gives it an address, and the terms that programs are asked for. */
    create(resource, options) {
        const body = JSON.stringify(resource);
        return this.#transport.send({ method: 'POST', path: '/v1/x402/resources', body, answer: 'payment' }, options);
    }
    /** A resource by its `resource_id`. */
    get(id, options) {
        const path = `/v1/x402/resources/${encodeURIComponent(id)}`;
        return this.#transport.send({ method: 'GET', path, answer: 'payment' }, options);
    }
    /**
     * Charges one request for a resource. `header` reads a header of the request by its name. Deliver
     * only if `paid`, and add `headers` to what you answer. A payment that was used before, also at
     * another copy of your server, is none.
     */
    async charge(id, header) {
        const resource = await this.#resource(id);
        const payment = decode(header('payment-signature')) ?? decode(header('x-payment'));
        if (!payment)
            return required(resource, 'Payment required');
        const requirements = chosen(resource, payment);
        if (!requirements)
            return required(resource, 'invalid_payment_requirements');
        const body = JSON.stringify({
            x402Version: payment.x402Version, paymentPayload: payment, paymentRequirements: requirements,
        });
        let isReplay = false;
        const settlement = await this.#transport.send({
            method: 'POST', path: '/v1/x402/settle', body, idempotencyKey: crypto.randomUUID(),
            seen: (headers) => { isReplay = headers.get('x-gateway-idempotent-replay') === 'true'; },
        }, SETTLING);
        const name = payment.x402Version === 1 ? 'x-payment-response' : 'payment-response';
        const headers = { [name]: encode(settlement) };
        if (settlement.success && !isReplay)
            return { paid: true, settlement, headers };
        const error = isReplay ? 'this payment was used already' : settlement.errorReason ?? 'payment refused';
        const answer = required(resource, error);
        return { ...answer, headers: { ...answer.headers, ...headers } };
    }
    async #resource(id) {
        const known = this.#terms.get(id);
        if (known && known.until > Date.now())
            return known.resource;
        const resource = await this.get(id);
        this.#terms.set(id, { resource, until: Date.now() + TERMS_FOR });
        return resource;
    }
}
/** The terms that a payment answers: ours, never those that it carries. */
function chosen(resource, payment) {
    if (payment.x402Version === 1) {
        return resource.accepts_v1.find((way) => way.network === payment.network);
    }
    return resource.accepts.find((way) => way.network === payment.accepted?.network);
}
function required(resource, error) {
    const { url, description, mime_type: mimeType } = resource;
    const asked = { x402Version: 2, error, resource: { url, description, mimeType }, accepts: resource.accepts };
    return {
        paid: false,
        status: 402,
        headers: {
            'content-type': 'application/json', 'cache-control': 'no-store', 'payment-required': encode(asked),
        },
        body: JSON.stringify({ x402Version: 1, error, accepts: resource.accepts_v1 }),
    };
}
function decode(value) {
    if (!value)
        return undefined;
    try {
        const bytes = Uint8Array.from(atob(value), (letter) => letter.charCodeAt(0));
        const payment = JSON.parse(new TextDecoder().decode(bytes));
        return typeof payment === 'object' && payment !== null ? payment : undefined;
    }
    catch {
        return undefined;
    }
}
function encode(answer) {
    return btoa(String.fromCharCode(...new TextEncoder().encode(JSON.stringify(answer))));
}
/**
 * A middleware of Express that lets a request pass once it is paid for:
 * `app.get('/weather', requirePayment(gateway, 'pzx_…'), handler)`.
 */
export function requirePayment(gateway, resourceId) {
    return (request, response, next) => {
        const header = (name) => {
            const value = request.headers[name];
            return Array.isArray(value) ? value[0] : value;
        };
        gateway.x402.charge(resourceId, header).then((charge) => {
            for (const [name, value] of Object.entries(charge.headers))
                response.setHeader(name, value);
            if (charge.paid) {
                request.payment = charge.settlement;
                next();
            }
            else {
                response.statusCode = charge.status;
                response.end(charge.body);
            }
        }, next);
    };
}
/** The same for handlers of `Request` and `Response` (Next, Hono, Deno, workers). */
export function paidFetch(gateway, resourceId, handler) {
    return async (request) => {
        const charge = await gateway.x402.charge(resourceId, (name) => request.headers.get(name));
        if (!charge.paid)
            return new Response(charge.body, { status: charge.status, headers: charge.headers });
        const answer = await handler(request, charge.settlement);
        const response = new Response(answer.body, answer);
        for (const [name, value] of Object.entries(charge.headers))
            response.headers.set(name, value);
        return response;
    };
}
