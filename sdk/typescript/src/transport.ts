import { parseExact } from './amounts.js';
import { ApiError, ConnectionError, GatewayError, RateLimitError, refusal } from './errors.js';

export interface GatewayOptions {
  /** The gateway's address, without `/v1`. */
  baseUrl: string;
  /** Needed for everything but currencies, estimates, minimums and the buyer's status. */
  apiKey?: string;
  /** Milliseconds of one attempt, 30,000 if absent. */
  timeout?: number;
  /** Milliseconds after which a call is not attempted again, 60,000 if absent. */
  retryFor?: number;
  /** Milliseconds of `Retry-After` that a call may spend waiting, 5,000 if absent. */
  maxWait?: number;
  /** Instead of the platform's own. */
  fetch?: typeof fetch;
  /** Instead of a timer, for tests. */
  sleep?: (milliseconds: number) => Promise<void>;
}

export interface CallOptions {
  signal?: AbortSignal;
  maxWait?: number;
}

export interface CreateOptions extends CallOptions {
  /** A random one if absent. Name your own, the order's for example, to be safe over restarts too. */
  idempotencyKey?: string;
}

export interface Request {
  method: 'GET' | 'POST';
  path: string;
  query?: object;
  body?: string;
  contentType?: string;
  idempotencyKey?: string;
  /** Amounts are exact strings only in answers about payments; all others have none as numbers. */
  answer?: 'payment' | 'payout' | 'text';
  /** Gets the headers of the answer. */
  seen?: (headers: Headers) => void;
}

const VERSION = '0.1.0';
const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 8_000;
/** Reading a long list may wait for the next minute's requests. */
export const PATIENT = 90_000;

export class Transport {
  readonly #base: string;
  readonly #key: string | undefined;
  readonly #options: GatewayOptions;

  constructor(options: GatewayOptions) {
    if (!/^https?:\/\//.test(options.baseUrl ?? '')) {
      throw new TypeError('baseUrl is the gateway\'s address, like "https://pay.example"');
    }
    this.#base = options.baseUrl.replace(/\/+$/, '');
    this.#key = options.apiKey;
    this.#options = options;
  }

  sleep(milliseconds: number): Promise<void> {
    const timer = (time: number) => new Promise<void>((done) => setTimeout(done, time));
    return (this.#options.sleep ?? timer)(milliseconds);
  }

  /** Sends a request until it is answered. Every request of this library can be sent twice. */
  async send<T>(request: Request, options: CallOptions = {}): Promise<T> {
    let mayWait = options.maxWait ?? this.#options.maxWait ?? 5_000;
    let deadline = Date.now() + (this.#options.retryFor ?? 60_000);
    for (let attempt = 0; ; attempt++) {
      const failure = await this.#attempt<T>(request, options, deadline - Date.now());
      if (!(failure instanceof GatewayError)) return failure.answer;
      let pause = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** attempt) * (0.5 + Math.random() / 2);
      if (failure instanceof ApiError) {
        if (!(failure instanceof RateLimitError) && failure.status < 500) throw failure;
        if (failure.retryAfter !== undefined) {
          const asked = failure.retryAfter * 1000;
          if (asked > mayWait) throw failure;
          // Waiting as asked is no failed attempt: it does not use up the time for those.
          [mayWait, deadline, pause] = [mayWait - asked, deadline + asked, Math.max(asked, pause)];
        } else if (failure.status < 500) {
          throw failure;
        }
      }
      if (Date.now() + pause >= deadline) throw failure;
      await this.sleep(pause);
      options.signal?.throwIfAborted();
    }
  }

  async #attempt<T>(
    request: Request,
    options: CallOptions,
    left: number,
  ): Promise<{ answer: T } | GatewayError> {
    const limit = AbortSignal.timeout(Math.max(1, Math.min(this.#options.timeout ?? 30_000, left)));
    const signal = options.signal ? AbortSignal.any([options.signal, limit]) : limit;
    let response: Response;
    let text: string;
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
    } catch (cause) {
      options.signal?.throwIfAborted();
      const reason = cause instanceof Error ? cause.message : String(cause);
      const what = `${request.method} ${request.path}: no answer: ${reason}`;
      return new ConnectionError(what, request.idempotencyKey, cause);
    }
    if (!response.ok) {
      return refusal(response.status, text, seconds(response.headers.get('retry-after')));
    }
    request.seen?.(response.headers);
    if (request.answer === 'text') return { answer: text as T };
    try {
      const answer = request.answer === 'payment' ? parseExact(text) : JSON.parse(text);
      return { answer: answer as T };
    } catch (cause) {
      const what = `${request.method} ${request.path}: an answer that is no JSON`;
      return new ConnectionError(what, request.idempotencyKey, cause);
    }
  }

  #headers(request: Request): Record<string, string> {
    const headers: Record<string, string> = { 'user-agent': `gateway-sdk-typescript/${VERSION}` };
    if (this.#key !== undefined) headers['x-api-key'] = this.#key;
    if (request.body !== undefined) headers['content-type'] = request.contentType ?? 'application/json';
    if (request.idempotencyKey !== undefined) headers['idempotency-key'] = request.idempotencyKey;
    return headers;
  }
}

/** Whole seconds; the gateway sends no dates. */
function seconds(header: string | null): number | undefined {
  return header !== null && /^\d+$/.test(header.trim()) ? Number(header) : undefined;
}

function queryOf(query: object | undefined): string {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== null);
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text && `?${text}`;
}

export interface Page<T> {
  data: T[];
  limit: number;
  page: number;
  pagesCount: number;
  total: number;
}

/**
 * Items of all pages. New items move others onto the next page while it is read, so those of the
 * page before are left out when they come again.
 */
export async function* items<T>(
  read: (page: number) => Promise<Page<T>>,
  id: (item: T) => string,
): AsyncGenerator<T, void, void> {
  let before = new Set<string>();
  for (let page = 0; ; page++) {
    const { data, pagesCount } = await read(page);
    for (const item of data) {
      if (!before.has(id(item))) yield item;
    }
    if (data.length === 0 || page + 1 >= pagesCount) return;
    before = new Set(data.map(id));
  }
}
