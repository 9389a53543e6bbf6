import { parseExact } from './amounts.js';
import { ApiError, ConnectionError, GatewayError, RateLimitError, refusal } from './errors.js';
const VERSION = '0.1.0';
const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 8_000;
/** Reading a long list may wait for the next minute's requests. */
export const PATIENT = 90_000;
export class Transport {
    #base;
    #key;
    #options;
    constructor(options) {
        if (!/^https?:\/\//.test(options.baseUrl ?? '')) {
            throw new TypeError('baseUrl is the gateway\'s address, like "https://pay.example"');
        }
        this.#base = options.baseUrl.replace(/\/+$/, '');
        this.#key = options.apiKey;
        this.#options = options;
    }
    sleep(milliseconds) {
        const timer = (time) => new Promise((done) => setTimeout(done, time));
        return (this.#options.sleep ?? timer)(milliseconds);
    }
    /** Sends a request until it is answered. Every request of this library can be sent twice. */
    async send(request, options = {}) {
        let mayWait = options.maxWait ?? this.#options.maxWait ?? 5_000;
        let deadline = Date.now() + (this.#options.retryFor ?? 60_000);
        for (let attempt = 0;; attempt++) {
            const failure = await this.#attempt(request, options, deadline - Date.now());
            if (!(failure instanceof GatewayError))
                return failure.answer;
            let pause = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** attempt) * (0.5 + Math.random() / 2);
            if (failure instanceof ApiError) {
                if (!(failure instanceof RateLimitError) && failure.status < 500)
                    throw failure;
                if (failure.retryAfter !== undefined) {
                    const asked = failure.retryAfter * 1000;
                    if (asked > mayWait)
                        throw failure;
                    // Waiting as asked is no failed attempt: it does not use up the time for those.
                    [mayWait, deadline, pause] = [mayWait - asked, deadline + asked, Math.max(asked, pause)];
                }
                else if (failure.status < 500) {
                    throw failure;
                }
            }
            if (Date.now() + pause >= deadline)
                throw failure;
            await this.sleep(pause);
            options.signal?.throwIfAborted();
        }
    }
    async #attempt(request, options, left) {
        const limit = AbortSignal.timeout(Math.max(1, Math.min(this.#options.timeout ?? 30_000, left)));
        const signal = options.signal ? AbortSignal.any([options.signal, limit]) : limit;
        let response;
        let text;
        try {
            const send = this.#options.fetch ?? fetch;
            response = await send(this.#base + request.path + queryOf(request.query), {
                method: request.method,
                headers: this.#headers(request),
                body: request.body ?? null,
                // A redirect would carry the key to another host.
                redirect: 'manual',
                signal,
            });
            text = await response.text();
        }
        catch (cause) {
            options.signal?.throwIfAborted();
            const reason = cause instanceof Error ? cause.message : String(cause);
            const what = `${request.method} ${request.path}: no answer: ${reason}`;
            return new ConnectionError(what, request.idempotencyKey, cause);
        }
        if (!response.ok) {
            return refusal(response.status, text, seconds(response.headers.get('retry-after')));
        }
        request.seen?.(response.headers);
        if (request.answer === 'text')
            return { answer: text };
        try {
            const answer = request.answer === 'payment' ? parseExact(text) : JSON.parse(text);
            return { answer: answer };
        }
        catch (cause) {
            const what = `${request.method} ${request.path}: an answer that is no JSON`;
            return new ConnectionError(what, request.idempotencyKey, cause);
        }
    }
    #headers(request) {
        const headers = { 'user-agent': `gateway-sdk-typescript/${VERSION}` };
        if (this.#key !== undefined)
            headers['x-api-key'] = this.#key;
        if (request.body !== undefined)
            headers['content-type'] = request.contentType ?? 'application/json';
        if (request.idempotencyKey !== undefined)
            headers['idempotency-key'] = request.idempotencyKey;
        return headers;
    }
}
/** Whole seconds; the gateway sends no dates. */
function seconds(header) {
    return header !== null && /^\d+$/.test(header.trim()) ? Number(header) : undefined;
}
function queryOf(query) {
    const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== null);
    const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
    return text && `?${text}`;
}
/**
 * Items of all pages. New items move others onto the next page while it is read, so those of the
 * page before are left out when they come again.
 */
export async function* items(read, id) {
    let before = new Set();
    for (let page = 0;; page++) {
        const { data, pagesCount } = await read(page);
        for (const item of data) {
            if (!before.has(id(item)))
                yield item;
        }
        if (data.length === 0 || page + 1 >= pagesCount)
            return;
        before = new Set(data.map(id));
    }
}
