import type { Notice, PaymentIpn, PayoutWebhook, Renewal } from './contract.js';
import { GatewayError } from './errors.js';
/** The two channels differ in header, hash and body: verify each by its own function. */
export declare const PAYMENT_SIGNATURE_HEADER = "x-gateway-sig";
export declare const PAYOUT_SIGNATURE_HEADER = "x-gateway-signature";
/** Not to be trusted. */
export declare class WebhookError extends GatewayError {
    readonly reason: 'forged' | 'stale';
    constructor(reason: 'forged' | 'stale');
}
/** A payment IPN that verified. */
export type PaymentEvent = {
    /** The payment reached this `payment_status`: the one kind of event to act on. */
    kind: 'payment';
    payment: PaymentIpn;
    /** Act once per key. */
    key: string;
} | {
    /**
     * Money came beside or after the payment. For a person: it changes nothing, and
     * `payment.payment_status` only repeats the state of the invoice. Never ship on it.
     */
    kind: 'notice';
    notice: Notice;
    payment: PaymentIpn;
    key: string;
} | {
    /**
     * A subscription is due. Mail `renewal.renewal_url` to the subscriber unless the gateway
     * does, and ship nothing: `payment` is the latest invoice as it stands, mostly `finished`.
     */
    kind: 'renewal';
    renewal: Renewal;
    payment: PaymentIpn;
    key: string;
} | {
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
export declare function verifyPaymentIpn(rawBody: Uint8Array | string, signature: string | null | undefined, secret: Secret, now?: number): Promise<PaymentEvent>;
/** A webhook of mass payouts that was made for a test: nothing was paid. Answer 200 and do nothing else. */
export declare function isTest(event: PayoutWebhook): boolean;
/**
 * Verifies a webhook of mass payouts: header `X-Gateway-Signature`, HMAC-SHA-256. Act once per
 * `eventId`. Throws `WebhookError`.
 */
export declare function verifyPayoutWebhook(rawBody: Uint8Array | string, signature: string | null | undefined, secret: Secret, now?: number): Promise<PayoutWebhook>;
