// Made by sdk/generate.py from api/openapi.json; do not edit.

/** Fields that are JSON numbers on the wire and exact decimal strings here. */
export const AMOUNT_FIELDS: ReadonlySet<string> = new Set(["actually_paid", "amount_from", "amount_received", "estimated_amount", "max_amount", "min_amount", "min_amount_usd", "min_usd", "pay_amount", "price_amount"]);

/** Codes of errors that this release knows; treat another as `INTERNAL_ERROR`. */
export type ErrorCode =
  | 'AMOUNT_BELOW_DUST'
  | 'AMOUNT_BELOW_MINIMUM'
  | 'API_KEY_MALFORMED'
  | 'API_KEY_MISSING'
  | 'API_KEY_NOT_FOUND'
  | 'BROADCAST_REJECTED'
  | 'CURRENCY_NOT_SUPPORTED'
  | 'DEVICE_NOT_FOUND'
  | 'DUPLICATE_REFERENCE'
  | 'EVENT_NOT_FOUND'
  | 'IDEMPOTENCY_CONFLICT'
  | 'INPUT_UNAVAILABLE'
  | 'INSUFFICIENT_FUNDS'
  | 'INSUFFICIENT_GAS'
  | 'INTERNAL_ERROR'
  | 'INVALID_ADDRESS'
  | 'INVALID_AMOUNT'
  | 'INVALID_REQUEST'
  | 'INVALID_STATE'
  | 'LINK_NOT_FOUND'
  | 'MERCHANT_SUSPENDED'
  | 'NETWORK_FEE_TOO_HIGH'
  | 'NODE_UNAVAILABLE'
  | 'NONCE_USED'
  | 'NOT_FOUND'
  | 'NO_ELIGIBLE_CURRENCIES'
  | 'PAYMENT_NOT_FOUND'
  | 'PAYOUT_EXPIRED'
  | 'PAYOUT_NOT_FOUND'
  | 'QUOTA_EXCEEDED'
  | 'RATE_LIMIT_EXCEEDED'
  | 'RATE_PROVIDER_DOWN'
  | 'SIGNATURE_MISMATCH'
  | 'SUBSCRIPTION_NOT_FOUND'
  | 'TOO_MANY_ITEMS'
  | 'UNSUPPORTED_CURRENCY'
  | 'UNSUPPORTED_NETWORK'
  | 'amount_below_dust'
  | 'api_key_malformed'
  | 'api_key_missing'
  | 'api_key_not_found'
  | 'csv_too_large'
  | 'deposit_already_detected'
  | 'duplicate_reference'
  | 'empty_batch'
  | 'idempotency_conflict'
  | 'internal_error'
  | 'invalid_address'
  | 'invalid_amount'
  | 'invalid_csv'
  | 'invalid_idempotency_key'
  | 'invalid_request'
  | 'invalid_state'
  | 'limit_exceeded'
  | 'merchant_suspended'
  | 'node_unavailable'
  | 'order_not_found'
  | 'payouts_disabled'
  | 'quota_exceeded'
  | 'quote_changed'
  | 'quote_expired'
  | 'rate_limited'
  | 'rate_provider_down'
  | 'too_many_rows'
  | 'unsupported_currency'
  | 'unsupported_network'
  | 'wrong_network_address';

/**
 * `signing`: partly signed, not completely sent. `failed`: ended with at least one unpaid row.
 * `confirmed` and `failed` are final.
 */
export type BatchStateName = 'pending' | 'signing' | 'broadcasted' | 'confirmed' | 'failed' | (string & {});

/**
 * `wait`. `contact_merchant`: write to the merchant, with `reference`. `send_again`: send the
 * amount again if the wallet says that the transaction failed. `nothing`.
 */
export type BuyerAdvice = 'wait' | 'contact_merchant' | 'send_again' | 'nothing' | (string & {});

/** The status in the buyer's vocabulary. The last four values are final. */
export type BuyerStatusName = 'pending' | 'partial' | 'paid' | 'overpaid' | 'expired' | 'cancelled' | (string & {});

/** Who cancelled the order; null if nobody did. */
export type Canceller = 'merchant' | 'operator' | (string & {});

/** What happened. */
export type EventName = 'mass_payout.created' | 'mass_payout.quote_refreshed' | 'mass_payout.deposit_detected' | 'mass_payout.underfunded' | 'mass_payout.overfunded' | 'mass_payout.batch_broadcasted' | 'mass_payout.batch_confirmed' | 'mass_payout.batch_failed' | 'mass_payout.completed' | 'mass_payout.partial_failed' | 'mass_payout.expired' | 'mass_payout.cancelled' | (string & {});

/** `utxo`: bitcoin, litecoin, dogecoin. `evm`: the EVM networks. */
export type FamilyName = 'utxo' | 'evm' | (string & {});

/**
 * `sender`: the fees are added to the total. `recipient`: they are deducted evenly from the
 * recipients' amounts.
 */
export type FeeBearer = 'sender' | 'recipient' | (string & {});

/**
 * The deposits so far: `detected` means seen but not yet confirmed; with the last three values they
 * are confirmed.
 */
export type FundingStatus = 'none' | 'detected' | 'underfunded' | 'exact' | 'overfunded' | (string & {});

/**
 * `unconfirmed`: seen, and waits for confirmations. `wrong_token`, `wrong_network`,
 * `unknown_token`: something else than what was asked for. `late`: after the end of the invoice.
 * `replaced`: another transaction took its place. `dropped`: its network does not know it any more.
 * `reorganised`: its block left the chain, and it waits for another one. `reversed`: it left the
 * chain after it had been counted. Later releases may add more.
 */
export type HappeningKind = 'unconfirmed' | 'wrong_token' | 'wrong_network' | 'unknown_token' | 'late' | 'replaced' | 'dropped' | 'reorganised' | 'reversed' | (string & {});

/**
 * `payment`: a single payment. `donation`: the buyer chooses the amount. `subscription`: a
 * recurring payment. `pos`: a payment at a point-of-sale terminal.
 */
export type InvoiceType = 'payment' | 'donation' | 'subscription' | 'pos' | (string & {});

/** The last two never change. */
export type ItemStateName = 'pending' | 'sent' | 'confirmed' | 'failed' | (string & {});

/** How much is offered to the network for fast inclusion in a block. */
export type NcFeeLevel = 'slow' | 'normal' | 'fast' | (string & {});

/**
 * The state of its transaction: `unsigned`, `signed` (stored, not yet accepted by any node),
 * `sent`, `confirmed` (finally paid) or `failed` (it will never pay).
 */
export type NcOutputState = 'unsigned' | 'signed' | 'sent' | 'confirmed' | 'failed' | (string & {});

/**
 * `awaiting_signature`: sign `unsigned` and submit it before `expiresAt`. `submitted`: the signed
 * bytes are stored and are sent until a block contains them. `confirming`: at least one is in a
 * block. The others never change: `completed`, `partial_failed` (some recipients were paid),
 * `failed` (none was), `expired` and `cancelled` (nothing was signed).
 */
export type NcState = 'awaiting_signature' | 'submitted' | 'confirming' | 'completed' | 'partial_failed' | 'failed' | 'expired' | 'cancelled' | (string & {});

/**
 * A chain. `x-extensible-enum` lists those of this release; later releases may add more, so accept
 * unknown names.
 */
export type NetworkName = 'bitcoin' | 'litecoin' | 'dogecoin' | 'ethereum' | 'polygon' | 'bsc' | 'arbitrum' | 'optimism' | 'base' | 'avalanche' | 'tron' | 'solana' | 'near' | 'ton' | 'thorchain' | (string & {});

/**
 * `draft`: quoted. `pending_deposit`: confirmed, waits for its deposit. `funded`: fully funded.
 * `processing`: recipients are being paid. `completed`: all are paid. `partial_failed`: ended with
 * at least one unpaid recipient. `expired`: not confirmed, or not funded, in time. `cancelled`: by
 * its merchant or an operator. The last four states are final.
 */
export type OrderState = 'draft' | 'pending_deposit' | 'funded' | 'processing' | 'completed' | 'partial_failed' | 'expired' | 'cancelled' | (string & {});

/**
 * Where the money is. `waiting`: on its way. `kept`: at the merchant's address, not counted for the
 * invoice. `moved`: in the transaction that took its place. `not_sent`: it never arrived. `lost`:
 * no longer the merchant's. `unclear`: it arrived, and nobody vouches for its value.
 */
export type PaymentFate = 'waiting' | 'kept' | 'moved' | 'not_sent' | 'lost' | 'unclear' | (string & {});

export type PaymentLinkInterval = 'day' | 'week' | 'month' | 'year' | (string & {});

export type PaymentLinkType = 'payment' | 'donation' | 'subscription' | 'pos' | (string & {});

/**
 * `waiting`: nothing counts yet. `partially_paid`: less than the invoice asks for. `finished`: paid
 * in full; an overpayment shows as `actually_paid` above `pay_amount`. `expired`: the payment
 * window ended. `failed`: cancelled. The last three values are final.
 */
export type PaymentStatus = 'waiting' | 'partially_paid' | 'finished' | 'expired' | 'failed' | (string & {});

export type PricingMode = 'fiat' | 'direct' | (string & {});

/** `held`: an operator must decide, because there is no `refundAddress` or the refund failed. */
export type RefundState = 'pending' | 'sent' | 'confirmed' | 'held' | (string & {});

/** `native` for a chain's own coin, otherwise the token standard. */
export type StandardName = 'native' | 'ERC20' | 'BEP20' | 'TRC20' | 'SPL' | 'NEP141' | 'JETTON' | (string & {});

export type TillDeviceState = 'waiting' | 'expired' | 'enrolled' | 'locked' | 'revoked' | (string & {});

/** Content according to `kind`. */
export type NcPayload = NcTransaction[] | string;

/** One entry of `accepted_currencies`. Its fields are frozen. */
export interface AcceptedCurrency {
  /** The symbol, in upper case. */
  currency: string;
  /**
   * The amount that would have to be paid now, in whole units; not binding; null while there is no
   * fresh rate.
   */
  estimated_amount: string | null;
  /** The smallest price in this currency, in US dollars. */
  min_usd: string;
  network: NetworkName;
  standard: StandardName;
  /** Identifies this choice on the checkout: `code@network`. */
  token_id: string;
}

/** Response of a running service. */
export interface Alive {
  /** Always `OK`. */
  message: string;
}

/** What a merchant has, by the ledger, all of one moment. */
export interface Balance {
  /** One entry for each currency and network of which any amount is not zero. */
  balances: BalanceEntry[];
  /** The currency of the estimates. */
  fiat_currency: string;
}

/** The amounts of one currency on one network, in whole coins. */
export interface BalanceEntry {
  /**
   * Booked deposits of invoices in their own currency, less excess and reversals: the balance of
   * the merchant's account.
   */
  available: string;
  /** As in `GET /v1/currencies`. */
  currency: string;
  /**
   * `available` in `fiat_currency` at the current rate, rounded to 2 decimals; null without a fresh
   * rate. Not binding.
   */
  fiat_estimate: string | null;
  /** Deposits in another currency than the one asked for; not in `available`. */
  foreign: string;
  /** Held by the merchant's payout orders: funded, and neither paid, kept as fees nor returned. */
  in_payouts: string;
  /** Deposits that were booked after their invoice had ended; not in `available`. */
  late: string;
  network: NetworkName;
  /**
   * Deposits of the merchant's invoices that are seen or final and not booked yet. They may vanish,
   * or be booked as late or foreign.
   */
  pending: string;
  /** In upper case. */
  symbol: string;
}

/** An invoice as its buyer sees it. All amounts are text. */
export interface BuyerStatus {
  /** Present only while the buyer has to choose a currency. */
  accepted_currencies?: AcceptedCurrency[] | null;
  /** The amount that the invoice asks for, in whole units. */
  amount_due: string | null;
  /** The amount that has been counted. */
  amount_received: string | null;
  /**
   * The amount still to be sent, after everything that was counted or seen; it is the amount in
   * `payment_uri`.
   */
  amount_remaining: string | null;
  /** The amount that was seen but does not count yet, for lack of confirmations. */
  amount_unconfirmed: string | null;
  /** Whether the buyer may still cancel: nothing has been seen, and the invoice is open. */
  cancellable: boolean;
  /** Confirmations of the newest unconfirmed deposit; null if there is none. */
  confirmations: number | null;
  /** The token's contract; null for native coins. */
  contract_address: string | null;
  created_at: string;
  /** When the payment window ends. */
  expires_at: string;
  /**
   * Payments that did not simply count, up to 10: what arrived, where it is, and what to do. Absent
   * if there are none.
   */
  happened?: PaymentHappening[];
  invoice_type: InvoiceType;
  /**
   * Whether the buyer still has to choose a currency; everything about the payment is null until
   * then.
   */
  is_draft: boolean;
  network: NetworkName | null;
  /** The merchant's own words. Show them as text, never as markup. */
  order_description: string | null;
  /** The address to pay to. */
  pay_address: string | null;
  /** The code of the currency to pay in. */
  pay_currency: string | null;
  /** The invoice's id. */
  payment_id: string;
  /**
   * URI for wallets that pays the amount still to be sent; null if nothing is to be sent, or if the
   * network has no convention for such URIs.
   */
  payment_uri: string | null;
  /** The price, in `price_currency`. */
  price_amount: string;
  /** The currency of the price, in lower case. */
  price_currency: string;
  /** Where to redirect the buyer once the invoice has ended, if the merchant set an address. */
  redirect_url: string | null;
  /** The number of confirmations that makes a deposit count on this network. */
  required_confirmations: number | null;
  /** Whole seconds until the payment window ends, by the server's clock. */
  seconds_left: number;
  standard: StandardName | null;
  status: BuyerStatusName;
  /** The symbol to show, in upper case. */
  symbol: string | null;
  /** The transactions that paid, up to 20. */
  tx_hashes: string[];
  updated_at: string;
}

/**
 * The quote or the total that is confirmed. Without a body, or with an empty object, the order is
 * confirmed as it is.
 */
export interface ConfirmPayout {
  /** If sent, the order is confirmed only if its `totalToSendRaw` equals this. */
  acceptTotalRaw?: string | null;
  /** If sent, the order is confirmed only if this is still its quote. */
  quoteId?: string | null;
}

/** The currencies on offer now. */
export interface Currencies {
  /** Codes only. The code of a native coin appears once for each network on which it is native. */
  currencies: string[];
  /** One entry per chain and token. */
  currencies_detailed: CurrencyEntry[];
  /** Currencies in which a price can be given. */
  fiat_currencies: string[];
}

/** A coin or token on one chain. */
export interface CurrencyEntry {
  chain: NetworkName;
  /** The name of the chain in wallets and exchanges. */
  chain_name: string;
  /** As used in `pay_currency`. */
  code: string;
  /** The confirmations with which a deposit counts; a large one may need more. */
  confirmations: number;
  /** Null for native coins. */
  contract_address: string | null;
  /** Decimals on its chain. */
  decimals: number;
  /** A block explorer's page of an address, with `{address}` in place of it; null likewise. */
  explorer_address_url: string | null;
  /**
   * A block explorer's page of a transaction, with `{tx_hash}` in place of the hash; null where no
   * public explorer exists, as in the sandbox.
   */
  explorer_tx_url: string | null;
  /** The smallest invoice, in US dollars; the same as in `GET /v1/min-amount`. */
  min_amount_usd: string;
  /** The name for people. */
  name: string;
  standard: StandardName;
  /** In upper case. */
  symbol: string;
}

/**
 * Words and choices of a donor. Plain text on one line, written by a stranger: escape it wherever
 * you show it.
 */
export interface Donation {
  /** True: the donor wants to stay anonymous. */
  anonymous: boolean;
  /**
   * Null if the donor gave none, or wants to stay anonymous. It is not proven to be the donor's.
   */
  donor_email: string | null;
  /** Null if the donor gave none, or wants to stay anonymous. */
  donor_name: string | null;
  /** The link on whose page the donation began. */
  link_id: string;
  /** Null if the donor wrote none. */
  message: string | null;
  /**
   * The amount that the page proposed, as text; null if it proposed none. The donor's own choice is
   * `price_amount`.
   */
  suggested_amount: string | null;
  /** The currency of `suggested_amount`; null without it. */
  suggested_currency: string | null;
}

/** What a price would cost now. Not binding. */
export interface Estimate {
  /** The price, in `currency_from`. */
  amount_from: string;
  /** Whether the price is below the minimum; null unless `currency_from` is `usd`. */
  below_minimum: boolean | null;
  /** As in the request, in lower case. */
  currency_from: string;
  /** As in the request, in lower case. */
  currency_to: string;
  /**
   * The amount that would have to be paid, in whole units of `currency_to`, up to 8 decimal places.
   */
  estimated_amount: string;
  /** The smallest invoice, in US dollars. */
  min_amount_usd: string;
}

/** Something that happened to an invoice or a payout. */
export interface Event {
  /**
   * When it happened. The feed is in the order in which events became visible, which may differ.
   */
  created_at: string;
  /** Its webhook; null if it has none: nobody asked for one, or its type has none. */
  delivery: EventDelivery | null;
  /** The same as in its webhook: act on each id once. */
  event_id: string;
  /**
   * The payment object as it was then, with `_gateway.notice` for a deposit that changed nothing;
   * or the payout order as it was.
   */
  payload: Record<string, unknown>;
  /** The `payment_id`, or the id of the payout order. */
  resource_id: string;
  /**
   * `invoice.created`, `.partial`, `.paid`, `.expired`, `.cancelled`; `late_deposit_received`,
   * `wrong_token_received`, `suspicious_token_received`, which change no status; `x402.paid`;
   * `subscription.started`, `.renewed`, `.past_due`, `.cancelled`, `.ended`, `.renewal_reminder`;
   * `mass_payout.…` as in the payout webhooks. More may come.
   */
  type: string;
}

/** One attempt to deliver a webhook. */
export interface EventAttempt {
  /** From 1 in each cycle. */
  attempt: number;
  /** The cycle that it belongs to. */
  cycle: number;
  /** Milliseconds until the answer, or until it was given up. */
  duration_ms: number;
  /** For people: why it failed; null for one that was taken. */
  error: string | null;
  /** The first characters of the answer's body. Show it as text only: the receiver wrote it. */
  excerpt: string | null;
  /** When it began. */
  started_at: string;
  /** HTTP status of the answer; null if there was none. */
  status: number | null;
}

/** How the webhook of an event fares. */
export interface EventDelivery {
  /** The newest 100 attempts, oldest first. Only where one event is asked for. */
  attempts?: EventAttempt[];
  /** Attempts made in this cycle, of 5. */
  attempts_made: number;
  /** `ipn` or `payout`, which sign differently. */
  channel: string;
  /** 1, and 1 more each time it is sent again. */
  cycle: number;
  /** For people: why the last attempt failed. */
  last_error: string | null;
  /** HTTP status of the last attempt; null before the first, and if there was no answer. */
  last_status: number | null;
  /** When the next attempt is due; null if none is. */
  next_attempt_at: string | null;
  /**
   * `pending`, `retry_wait`, `delivered`, `dropped` (refused with 4xx; payouts only) or `dead`
   * (given up until it is sent again).
   */
  state: string;
  /** Where it is sent. */
  url: string;
}

/** One page of the feed of events, oldest first. */
export interface EventPage {
  data: Event[];
  /** True if there is more now: ask again with `after` = `next`, also if `data` is empty. */
  has_more: boolean;
  /**
   * Keep it, and send it as `after` for what follows, now or later. Null while there was no event
   * yet.
   */
  next: string | null;
}

/** What was started. */
export interface EventsResent {
  /** Their events, oldest first. */
  event_ids: string[];
  /** True if there is more: ask again with `after` = `next`, also if `resent` is 0. */
  has_more: boolean;
  /** The last event that this call looked at. Null if there was none. */
  next: string | null;
  /** How many webhooks have a fresh cycle of attempts under way. */
  resent: number;
}

/** Data of the gateway's own beside the payment object. */
export interface IpnPart {
  /** Present in every IPN of an invoice of type `donation` that began on a link's page. */
  donation?: Donation | null;
  /**
   * Present in reminders of a subscription's renewal alone: `payment_status` only repeats the state
   * of its latest invoice.
   */
  renewal?: Renewal | null;
}

/** The smallest invoice in a currency. */
export interface MinAmount {
  /** As in the request; the minimum is always computed in US dollars. */
  currency_from: string;
  /** Echoed. */
  currency_to: string;
  /** In whole units of `currency_to`, up to 8 decimal places. */
  min_amount: string;
  /** In US dollars. */
  min_amount_usd: string;
}

/** The fields of one EIP-1559 transaction. */
export interface NcFields {
  /** Chain id that the signature covers (EIP-155). */
  chainId: string;
  /** Call of the token's contract; `0x` for a transfer of coins. */
  data: string;
  /** The address whose key must sign. */
  from: string;
  /** Gas limit. */
  gas: string;
  /** Maximum fee per unit of gas, in wei. */
  maxFeePerGas: string;
  /** Priority fee (tip) per unit of gas, in wei; included in the maximum fee. */
  maxPriorityFeePerGas: string;
  /** The transaction's number in the sequence of the sender's transactions. */
  nonce: string;
  /** The recipient, or the token's contract. */
  to: string;
  /** Always `0x2`. */
  type: string;
  /** Transferred amount of the chain's coin, in wei. */
  value: string;
}

/** One input: an output of an earlier transaction that is spent. */
export interface NcInput {
  /** In base units, as read from the chain. */
  amountRaw: string;
  /** The transaction that created it. */
  txid: string;
  /** Its index among that transaction's outputs, from 0. */
  vout: number;
}

/** An input that cannot be spent. */
export interface NcInputFault {
  /** As `txid:vout`. */
  input: string;
  /** For people. */
  reason: string;
}

/**
 * The missing funds, in base units: of the currency with `INSUFFICIENT_FUNDS`, of the chain's own
 * coin with `INSUFFICIENT_GAS`.
 */
export interface NcLack {
  /** The amount held. */
  hasRaw: string;
  /** The amount needed. */
  needsRaw: string;
}

/** A field of a signed transaction that differs from the built one. */
export interface NcOtherField {
  /** The built value; `-` if the transaction has no such field. */
  built: string;
  /** As wallets call it. */
  field: string;
  /** The submitted value; `-` if the transaction has no such field. */
  signed: string;
}

/** One recipient. */
export interface NcOutput {
  /** As wallets write it. */
  address: string;
  /** In whole coins. */
  amount: string;
  /** In base units. */
  amountRaw: string;
  /** Confirmations of its transaction; no longer updated once it is final. */
  confirmations: number;
  /** The reason why it failed, or why a node refuses it; null otherwise. */
  error: string | null;
  /**
   * Network fee of its transaction, in base units of the chain's own coin; null until the
   * transaction is final.
   */
  feeRaw: string | null;
  /** The nonce of its transaction; null on bitcoin, litecoin and dogecoin. */
  nonce: number | null;
  /** The merchant's own reference. */
  reference: string | null;
  state: NcOutputState;
  /** Null until the payout is submitted. */
  txHash: string | null;
}

/** An output that cannot be paid. */
export interface NcOutputFault {
  /** Which of its fields, or `row` for all of it. */
  field: string;
  /** The entry of `outputs`, counted from 1. */
  output: number;
  /** For people. */
  reason: string;
  /** The beginning of the value that was sent. */
  value: string;
}

/** A non-custodial payout. Fields are only ever added. */
export interface NcPayout {
  /** Chain id that the signature covers (EIP-155); null on bitcoin, litecoin and dogecoin. */
  chainId: number | null;
  /**
   * Change to `fromAddress` on bitcoin, litecoin and dogecoin, as the last output; null on EVM
   * networks. Change below the dust limit is added to the fee.
   */
  changeRaw: string | null;
  /** Confirmations of the transaction that has the fewest; failed ones do not count. */
  confirmations: number;
  /** The token's contract; null for a chain's own coin. */
  contractAddress: string | null;
  /** Time of the request. */
  createdAt: string;
  /** The currency's code, as `GET /v1/currencies` lists it. */
  currency: string;
  /** Decimal places of one whole unit. */
  decimals: number;
  /** When it reached a final state; null before. */
  endedAt: string | null;
  /** Deadline for submitting the signed transactions. */
  expiresAt: string;
  feeLevel: NcFeeLevel;
  /**
   * The paying address, whose key must sign. On bitcoin, litecoin and dogecoin the change returns
   * to it.
   */
  fromAddress: string;
  /** `ncp_` and 26 characters. */
  id: string;
  /** Inputs on bitcoin, litecoin and dogecoin, all of which are spent; empty on EVM networks. */
  inputs: NcInput[];
  /** The chain. */
  network: NetworkName;
  /** The chain's own coin, in which fees are paid. */
  networkFeeCurrency: string;
  /** Network fee paid so far, in base units of the chain's own coin. */
  networkFeePaidRaw: string;
  /**
   * Maximum network fee for all transactions, in base units of the chain's own coin; on bitcoin,
   * litecoin and dogecoin the exact fee. A rollup's data fee is charged in addition.
   */
  networkFeeRaw: string;
  /** Recipients, in the order of the request. */
  outputs: NcOutput[];
  /** Confirmations after which a transaction is final. */
  requiredConfirmations: number;
  state: NcState;
  /** When the signed bytes were stored; null before. */
  submittedAt: string | null;
  /** Its ticker. */
  symbol: string;
  /** The sum of all outputs, in base units. */
  totalRaw: string;
  /**
   * The submitted transactions: one that pays all outputs, or one for each, in the order of the
   * outputs.
   */
  txHashes: string[];
  /** The transactions to sign; null in every state but `awaiting_signature`. */
  unsigned: NcUnsigned | null;
  /** Time of the last change. */
  updatedAt: string;
}

/**
 * `{ "ok": true, "data": … }` about one payout. It describes the output of `object`; nothing is
 * made of it.
 */
export interface NcPayoutAnswer {
  /** The payout in its present state. */
  data: NcPayout;
  ok: boolean;
}

/** One page of payouts. */
export interface NcPayoutPage {
  /** The payouts. */
  data: NcPayout[];
  /** Payouts per page, after clamping. */
  limit: number;
  ok: boolean;
  /** 0-based, after clamping. */
  page: number;
  /** Number of pages; at least 1, even if there are no entries. */
  pagesCount: number;
  /** Payouts on all pages. */
  total: number;
}

/** Options for rebuilding a payout. */
export interface NcRefresh {
  /** Unchanged if absent. */
  feeLevel?: NcFeeLevel | null;
}

/** The present state of a payout. */
export interface NcStanding {
  state: NcState;
}

/** The signed transactions. */
export interface NcSubmission {
  /**
   * Each signed transaction in hex, with or without `0x`, or in base64, in any order; a single
   * transaction may be sent without the list. On bitcoin, litecoin and dogecoin send the signed
   * PSBT, or the final transaction.
   */
  signed: string[];
}

/**
 * One transaction to be signed, in three forms: as fields, as bytes, and as the hash of the bytes.
 */
export interface NcTransaction {
  /** The position of its output, from 0. */
  output: number;
  /** Its bytes without a signature. */
  serialized: string;
  /** The hash of `serialized`, which a bare key signs. */
  signingHash: string;
  /** Its fields in hex, named as in `eth_signTransaction`. */
  transaction: NcFields;
}

/** The transactions for the merchant to sign. */
export interface NcUnsigned {
  /** Deadline for submitting the signed transactions. */
  expiresAt: string;
  /**
   * `evm_tx`: EIP-1559 transactions, one for each output, with consecutive nonces. `psbt`: one
   * transaction that pays all outputs.
   */
  kind: string;
  /**
   * With `evm_tx` the transactions, in the order of the outputs; with `psbt` a PSBT of version 0 in
   * base64.
   */
  payload: NcPayload;
}

/**
 * The events to send again; `{}` means all that failed. Members that are not listed are ignored. It
 * describes the input of `wanted`; nothing is read into it.
 */
export interface NewEventsResend {
  /** An `event_id`: only what was made after it. To go on, the `next` of the answer before. */
  after?: string | null;
  /**
   * Only what was made at this time or later. Begin some minutes before your receiver went down.
   */
  from?: string | null;
  /**
   * Only webhooks that ended in this state: `dead`, `dropped`, or `delivered`, which means that the
   * receiver took them. Absent: those that failed, `dead` and `dropped`.
   */
  state?: string | null;
  /** Only what was made before this time. */
  to?: string | null;
  /** Only events of this type. */
  type?: string | null;
}

/**
 * An unspent output of an earlier transaction that is in a block. Its amount is read from the
 * chain.
 */
export interface NewNcInput {
  /** The transaction that created it, in hex. */
  txid: string;
  /** Its index among that transaction's outputs, from 0. */
  vout: number;
}

/** One recipient. Either `amount` or `amountRaw`. */
export interface NewNcOutput {
  /** An address of the network. */
  address: string;
  /** Whole coins, as text or as a number. Either this or `amountRaw`. */
  amount?: string | null;
  /** Base units. Either this or `amount`. */
  amountRaw?: string | null;
  /** The merchant's own reference, unique within the payout. */
  reference?: string | null;
}

/** A payout to be built. Members that are not listed are ignored; null is the same as absent. */
export interface NewNcPayout {
  /** A currency's code, or its symbol on that network. */
  currency: string;
  /** `normal` if absent. */
  feeLevel?: NcFeeLevel | null;
  /**
   * The sender: an address whose key is the merchant's. On bitcoin, litecoin and dogecoin it must
   * belong to a single key (P2WPKH or P2PKH), all inputs must be at it, and the change returns to
   * it.
   */
  fromAddress: string;
  /**
   * The outputs to spend on bitcoin, litecoin and dogecoin, where the list is required: all of them
   * are spent, and the rest is returned as change. Ignored on EVM networks.
   */
  inputs?: NewNcInput[] | null;
  /** One of the EVM networks, bitcoin, litecoin or dogecoin. */
  network: string;
  /** The recipients. */
  outputs: NewNcOutput[];
}

/**
 * An invoice to create. Members that are not listed are ignored; null is the same as absent. It
 * describes the input of `parse`, member by member; nothing is read into it.
 */
export interface NewPayment {
  /**
   * Where the buyer is redirected once the invoice is cancelled or expired: an http or https URL.
   * Left out, the merchant's default holds, if there is one.
   */
  cancel_url?: string | null;
  /**
   * Where signed IPNs are posted: an absolute http or https URL on the public internet. Left out,
   * the merchant's default holds, if there is one.
   */
  ipn_callback_url?: string | null;
  /** When sent, `pay_currency` is read as a bare symbol on this chain. */
  network?: string | null;
  /** Shown to the buyer on the hosted checkout. */
  order_description?: string | null;
  /** The merchant's own reference; need not be unique. */
  order_id?: string | null;
  /**
   * A currency's code; or a bare symbol together with `network`; or `all`, which lets the buyer
   * choose.
   */
  pay_currency: string;
  /**
   * The price: above 0, at most 15 integer digits and 18 decimals. A JSON number; text is refused.
   */
  price_amount: string;
  /** `usd`, `eur` or `gbp` in any case; in pricing mode `direct` the symbol of `pay_currency`. */
  price_currency: string;
  /**
   * `fiat` converts the price at the current rate. `direct` takes it as an amount of the pay
   * currency, exact in its decimals.
   */
  pricing_mode?: PricingMode | null;
  /** Accepted and ignored; responses always contain the `payment_id` here. */
  purchase_id?: unknown | null;
  /**
   * Where the buyer is redirected once the invoice is paid: an http or https URL. Left out, the
   * merchant's default holds, if there is one.
   */
  success_url?: string | null;
}

/**
 * A link to create. Members that are not listed are ignored; null is the same as absent. It
 * describes the input of `parse`, member by member; nothing is read into it.
 */
export interface NewPaymentLink {
  /**
   * The tokens (`code@network`) that its invoices may be paid in, of those that you accept. Absent:
   * all that you accept.
   */
  accepted?: string[] | null;
  /**
   * Where buyers are redirected once their invoice is cancelled or expired: an http or https URL.
   */
  cancel_url?: string | null;
  /** Of a subscription: payments after which it ends. Absent: it has no end. */
  cycles_max?: number | null;
  /** Shown below the title. */
  description?: string | null;
  /** Of a subscription: the unit of the time between two payments. */
  interval?: PaymentLinkInterval | null;
  /** Of a subscription: how many of them; 1 if absent. Of days at least 7. */
  interval_count?: number | null;
  /**
   * Where the signed IPNs of its invoices are posted. Left out, the merchant's default holds, if
   * there is one.
   */
  ipn_callback_url?: string | null;
  /** The largest amount that visitors may choose; 1,000,000 if absent. */
  max_amount?: string | null;
  /** The smallest amount that visitors may choose. */
  min_amount?: string | null;
  /** Your own reference, which all its invoices carry. */
  order_id?: string | null;
  /**
   * Of a till: the PIN of 4 to 8 digits with which its devices are enrolled and unlocked, not such
   * as 0000 or 1234. Absent: each device chooses its own. It is never shown.
   */
  pin?: string | null;
  /**
   * The price. Absent: visitors choose the amount. Of a donation the amount that the page proposes.
   */
  price_amount?: string | null;
  /** `usd`, `eur` or `gbp` in any case. */
  price_currency: string;
  /**
   * Of a subscription, in the sandbox only: seconds that a day takes, so that a month can be
   * watched in a minute. Dates stay real.
   */
  sandbox_day_seconds?: number | null;
  /**
   * True: one payment uses the link up. Until then all its visitors share one open invoice. Only
   * for type `payment`.
   */
  single_use?: boolean | null;
  /** Where buyers are redirected once they have paid: an http or https URL. */
  success_url?: string | null;
  /** Amounts that the page offers, each with at most two decimals. */
  suggested_amounts?: string[] | null;
  /** Of a till: the IANA name of the time zone in which its day begins; `UTC` if absent. */
  time_zone?: string | null;
  /** The heading of the page and the description of its invoices; one line. */
  title: string;
  /**
   * `payment`: a fixed price, or one that the visitor chooses. `donation`: an amount that the donor
   * chooses, with his name and a message if he likes. `subscription`: a fixed price that is paid
   * again every interval. `pos`: a till, whose enrolled devices type each amount. It cannot be
   * changed.
   */
  type: PaymentLinkType;
}

/**
 * An order to create. Its recipients are either in `items` or in `csv`. Members that are not listed
 * are ignored; null is the same as absent.
 */
export interface NewPayout {
  /** The URL for this order's webhooks, instead of the one in the merchant's settings. */
  callbackUrl?: string | null;
  /** The text of a file, as it would be sent as `text/csv`. */
  csv?: string | null;
  /** A currency's code, or its symbol on this network. */
  currency: string;
  /** `sender` if absent. */
  feeMode?: FeeBearer | null;
  /** At most 1000 recipients, on EVM networks 2000. */
  items?: NewPayoutItem[] | null;
  /** Plain text for the merchant's own use. */
  label?: string | null;
  metadata?: Record<string, unknown> | null;
  /** A network of this family. */
  network: string;
  /** The address for refunds. Without it a refund waits for an operator. */
  refundAddress?: string | null;
}

/** One recipient. Rows with equal content each need a `reference` of their own. */
export interface NewPayoutItem {
  /** On the order's network. */
  address: string;
  /** Whole coins, as a number or as text. Either this or `amountRaw`. */
  amount?: string | null;
  /** Base units. Either this or `amount`. */
  amountRaw?: string | null;
  /** The merchant's own note, with the limits of `reference`, but it need not be unique. */
  memo?: string | null;
  /**
   * The merchant's own reference, unique within the order. It must not start like a formula (`=`,
   * `+`, `-`, `@`).
   */
  reference?: string | null;
}

/**
 * A payment on the simulated chain: to an invoice, or to an address of an invoice or a payout
 * order.
 */
export interface NewSandboxDeposit {
  /** An address of one of your invoices or payout orders, together with `network`. */
  address?: string | null;
  /** Whole coins. */
  amount: string;
  /** `CODE` or `CODE@NETWORK`; the invoice's own currency if absent, or the network's coin. */
  currency?: string | null;
  /** The chain to pay on, together with `address`: also another one than the invoice's. */
  network?: NetworkName | null;
  /**
   * The invoice to pay, in its own currency if `currency` is absent. Instead of `network` and
   * `address`.
   */
  payment_id?: string | null;
  /** 1 to 128 hex digits, with or without `0x`; made up if absent. */
  txid?: string | null;
  /** True leaves it in the mempool. Send the same `txid` once more without it to confirm it. */
  unconfirmed?: boolean | null;
}

/** A device to enrol. It describes the input of the endpoint; nothing is read into it. */
export interface NewTillDevice {
  /** A name by which you know it, on one line. */
  name: string;
}

/** The deposit behind an informational IPN. */
export interface Notice {
  /** Whole coins if the token's decimals are known, else base units. */
  amount: string;
  /** The unit of `amount`: `coins` or `base_units`. */
  amount_unit: string;
  /** The token's contract; null for native coins. */
  contract_address: string | null;
  /**
   * The code of the currency that arrived; null for a token that is not in `GET /v1/currencies`.
   */
  currency: string | null;
  /** Identifies the deposit: one transaction may contain several. */
  deposit_key: string;
  /**
   * The output, or the position among the transaction's logs; null where the network has neither.
   */
  log_index: number | null;
  /** The chain on which it arrived. */
  network: NetworkName;
  /** When it was first seen. */
  received_at: string;
  /** The transaction that brought it. */
  tx_hash: string;
  /**
   * `wrong_token_received`, `suspicious_token_received` or `late_deposit_received`; later releases
   * may add more.
   */
  type: string;
}

/** The part of the body that sets a notice apart from a change of status. */
export interface NoticePart {
  /** Present if the invoice is a donation that began on a link's page. */
  donation?: Donation | null;
  notice: Notice;
}

/** An invoice as its merchant sees it. Fields are only ever added. */
export interface Payment {
  /** Received so far, in `pay_currency`; 0 until a deposit has its network's confirmations. */
  actually_paid: string;
  /** The same as `actually_paid`. */
  amount_received: string;
  /** Reserved. */
  burning_percent: null;
  created_at: string;
  /** When the payment window ends. */
  expiration_estimate_date: string;
  invoice_type: InvoiceType;
  /** The hosted checkout's page for this invoice. */
  invoice_url: string | null;
  /** The URL to which signed IPNs are posted. */
  ipn_callback_url: string | null;
  /** The chain to pay on; null on an unresolved draft. */
  network: NetworkName | null;
  /** Decimals of `pay_currency` on its chain; null on an unresolved draft. */
  network_precision: number | null;
  /** Set on subscriptions only. */
  next_renewal_at: string | null;
  /** As it was sent; shown to the buyer. */
  order_description: string | null;
  /** The merchant's own reference, as it was sent. */
  order_id: string | null;
  /** Deposit address; null on an unresolved draft. */
  pay_address: string | null;
  /** Amount to pay, in whole units of `pay_currency`; null on an unresolved draft. */
  pay_amount: string | null;
  /**
   * Code of the currency to pay in, as listed by `GET /v1/currencies`; null on an unresolved draft.
   */
  pay_currency: string | null;
  /** Reserved. */
  payin_extra_id: null;
  /** The invoice's id: `pzi_` and 26 characters. Never changes, also when a draft resolves. */
  payment_id: string;
  payment_status: PaymentStatus;
  /** The requested price, in `price_currency`. */
  price_amount: string;
  /** The currency of the price, in lower case. */
  price_currency: string;
  /** Always equal to `payment_id`. */
  purchase_id: string;
  /** The token's contract; null for native coins and on an unresolved draft. */
  smart_contract: string | null;
  /** Set on subscriptions only. */
  subscriber_email: string | null;
  /** Set on subscriptions only: number of cycles so far. */
  subscription_cycle: number | null;
  /** The payment window as `HH:MM:SS`; on an unresolved draft the time to choose a currency. */
  time_limit: string;
  /** Time of the last change. */
  updated_at: string;
}

/** Value that reached the address of an invoice, on any network that the address exists on. */
export interface PaymentDeposit {
  /** Whole coins if the token's decimals are known, else base units. */
  amount: string;
  /** The unit of `amount`: `coins` or `base_units`. */
  amount_unit: string;
  /**
   * Null until it is booked: `credit`, `late` (after the end), `foreign` (another currency of the
   * catalogue), `suspicious` (an unknown token or an impossible amount, worth nothing) or
   * `nothing`. More may come.
   */
  booked_as: string | null;
  /**
   * One in the newest block that was read, none in the mempool; grows beyond
   * `required_confirmations`.
   */
  confirmations: number;
  /** The token's contract; null for native coins. */
  contract_address: string | null;
  /** The code of the currency that came; null for a token that is not in the catalogue. */
  currency: string | null;
  /** The transaction in a public block explorer; null where none can know it, as in the sandbox. */
  explorer_url: string | null;
  /** The invoice's fiat currency, `usd` if it is priced in coins; null with `fiat_value`. */
  fiat_currency: string | null;
  /**
   * Its value at the rate of its booking, in `fiat_currency`; null before, and where there was no
   * rate.
   */
  fiat_value: string | null;
  /** When it had its confirmations; null before, and for deposits older than this field. */
  final_at: string | null;
  /** When it was first seen, in the mempool or in a block. */
  first_seen_at: string;
  /** The chain on which it came. */
  network: NetworkName;
  /** The confirmations with which it becomes final; more for large amounts. */
  required_confirmations: number;
  /**
   * `seen`, `final` (confirmed, not booked yet), `settled` (booked), `withdrawn` (replaced or
   * dropped before it was final) or `reversed` (left the chain after it was booked; the books were
   * corrected). More may come.
   */
  state: string;
  /** The transaction that brought it; one transaction may bring several deposits. */
  tx_hash: string;
}

/** The first deposits of an invoice: those in its own currency, oldest first, then all others. */
export interface PaymentDeposits {
  data: PaymentDeposit[];
  /** True if there are more than `limit`: strangers may send dust to any address. */
  has_more: boolean;
  /** Deposits per answer, after clamping. */
  limit: number;
}

/** A payment object, and on an unresolved draft the currencies that may be chosen. */
export interface PaymentDetail extends Payment {
  /**
   * Present only on an unresolved draft, also after it was abandoned: the currencies that its buyer
   * may choose.
   */
  accepted_currencies?: AcceptedCurrency[] | null;
}

/** A payment that did not simply count. */
export interface PaymentHappening {
  advice: BuyerAdvice;
  /** The amount that arrived, in whole units; null for a token outside the catalogue. */
  amount: string | null;
  /** A page of a public block explorer; null on networks that none shows. */
  explorer_url: string | null;
  fate: PaymentFate;
  kind: HappeningKind;
  network: NetworkName;
  /** The text by which the merchant finds the payment. */
  reference: string;
  /** The transaction that took its place; null unless `kind` is `replaced`. */
  replaced_by: string | null;
  /** When it was first seen. */
  seen_at: string;
  /** The symbol of what arrived; null for a token outside the catalogue. */
  symbol: string | null;
  /** The transaction that brought it, or was to bring it. */
  tx_hash: string;
}

/** The body of an IPN, for the API's description: [`body`] writes it from the stored snapshot. */
export interface PaymentIpn extends Payment {
  /** Present only on donations, on notices and on reminders of a renewal. */
  _gateway?: IpnPart | null;
  /** Seconds since 1970, renewed at each attempt. Refuse deliveries older than ten minutes. */
  event_at: number;
  /**
   * Stable across all attempts and deliveries of this event. Other events of the same payment have
   * other ids, so this id cannot show that an order was fulfilled already: store `payment_id` with
   * `payment_status` for that.
   */
  event_id: string;
}

/** A page whose visitors create invoices of their merchant. Fields are only ever added. */
export interface PaymentLink {
  /** Null: all that the merchant accepts. */
  accepted: string[] | null;
  /** False: the page takes no payments. */
  active: boolean;
  /** The button as HTML, to be pasted into a page. It needs no script. Empty for a till. */
  button_html: string;
  /**
   * The picture of a button (SVG) that leads to the page. `?lang=` chooses its language. Empty for
   * a till, to which no button leads.
   */
  button_url: string;
  /** Where buyers are redirected once their invoice is cancelled or expired. */
  cancel_url: string | null;
  created_at: string;
  /** Payments after which it ends; null for one without an end. */
  cycles_max: number | null;
  /** Shown below the title. */
  description: string | null;
  /**
   * Of a till: true if its devices are enrolled with the PIN that you set, false if each chooses
   * its own. Null for other links.
   */
  has_pin: boolean | null;
  /** Of a subscription; else null, and so are the next ones. */
  interval: PaymentLinkInterval | null;
  /** How many intervals lie between two payments. */
  interval_count: number | null;
  /** Where the signed IPNs of its invoices are posted. */
  ipn_callback_url: string | null;
  /** `pzl_` and 26 characters; never changes. */
  link_id: string;
  max_amount: string | null;
  min_amount: string | null;
  /** The merchant's own reference, which all its invoices carry. */
  order_id: string | null;
  /** The price, or of a donation the proposed amount; null where visitors choose. */
  price_amount: string | null;
  /** In lower case. */
  price_currency: string;
  /** Seconds that a day takes in the sandbox; null where it takes a day. */
  sandbox_day_seconds: number | null;
  /** True: one payment uses the link up. */
  single_use: boolean;
  /** Where buyers are redirected once they have paid. */
  success_url: string | null;
  suggested_amounts: string[];
  /** Of a till: the time zone in which its day begins; null is UTC. */
  time_zone: string | null;
  /** The heading of the page and the description of its invoices. */
  title: string;
  /** As it was created; never changes. */
  type: PaymentLinkType;
  updated_at: string;
  /** The page. Whoever has its address may open it. */
  url: string;
}

/**
 * Changes of a link. What is absent stays; null removes a value that need not be there. It
 * describes the input of `changes`; nothing is read into it.
 */
export interface PaymentLinkChanges {
  /** The tokens (`code@network`) that new invoices may be paid in. */
  accepted?: string[] | null;
  /** False switches the link off. Its open invoices can still be paid. */
  active?: boolean | null;
  cancel_url?: string | null;
  /** Shown below the title. */
  description?: string | null;
  ipn_callback_url?: string | null;
  max_amount?: string | null;
  min_amount?: string | null;
  /** Your own reference, which new invoices carry. */
  order_id?: string | null;
  /**
   * Of a till: the PIN of devices that are enrolled from now on; null leaves it to each of them.
   */
  pin?: string | null;
  /** New invoices cost this; those that exist keep their price. */
  price_amount?: string | null;
  /** `usd`, `eur` or `gbp` in any case. */
  price_currency?: string | null;
  /** True: one payment uses the link up. */
  single_use?: boolean | null;
  success_url?: string | null;
  suggested_amounts?: string[] | null;
  /** Of a till: the IANA name of the time zone in which its day begins; null is `UTC`. */
  time_zone?: string | null;
  /** The heading of the page and the description of new invoices; one line. */
  title?: string | null;
}

/** One page of links. */
export interface PaymentLinkList {
  data: PaymentLink[];
  /** Links per page, after clamping. */
  limit: number;
  /** 0-based, after clamping. */
  page: number;
  /** Number of pages; at least 1, even if there are no entries. */
  pagesCount: number;
  /** Links on all pages. */
  total: number;
}

/** One page of invoices, without unresolved drafts. */
export interface PaymentList {
  data: Payment[];
  /** Invoices per page, after clamping. */
  limit: number;
  /** 0-based, after clamping. */
  page: number;
  /** Number of pages; at least 1, even if there are no entries. */
  pagesCount: number;
  /** Invoices on all pages. */
  total: number;
}

/**
 * The body of an informational IPN. `payment_status` is the present status of the invoice: a notice
 * is not a status change, and goods must not be shipped because of it.
 */
export interface PaymentNotice extends PaymentIpn {
  _gateway: NoticePart;
}

/**
 * Recipients that are sent or reported together: on bitcoin, litecoin and dogecoin the outputs of
 * one transaction, on EVM networks one transaction each, or one for many rows of a token.
 */
export interface PayoutBatch {
  /** Sum of the requested amounts of its rows. */
  amountRaw: string;
  /** When a node first accepted it. */
  broadcastAt: string | null;
  /** Confirmations of its transactions. */
  confirmations: number;
  /** When it became final. */
  confirmedAt: string | null;
  /** Number of its rows that ended unpaid. */
  failedCount: number;
  /** Network fees of its confirmed transactions, in the network's own coin. */
  feeRaw: string;
  /** `mpb_…` */
  id: string;
  /** From 0, in the order in which they are sent. */
  index: number;
  /** Rows in it. */
  itemCount: number;
  /** The last error, as text for people. */
  lastError: string | null;
  /** Earlier versions with lower fees; none of them can confirm beside the last one. */
  replacedTxHashes: string[];
  /** Confirmations after which it is final. */
  requiredConfirmations: number;
  state: BatchStateName;
  /** Hash of its transaction, or of the first one if every recipient has a separate transaction. */
  txHash: string | null;
}

export interface PayoutBatchList {
  data: PayoutBatch[];
  ok: boolean;
}

/** One recipient of an order. */
export interface PayoutItem {
  /** As wallets and explorers write it. */
  address: string;
  /** The same in whole coins. */
  amount: string;
  /** The requested amount. */
  amountRaw: string;
  /** The batch that it is sent with. */
  batchId: string;
  /** For people: why it was not paid. */
  error: string | null;
  /** `mpi_…` */
  id: string;
  /** The merchant's own note, as it was sent; it is not written to the chain. */
  memo: string | null;
  /**
   * The amount that the recipient gets: the requested amount, less the fees if recipients bear
   * them.
   */
  netAmountRaw: string;
  /** The merchant's own reference, as it was sent. */
  reference: string | null;
  /**
   * In a CSV file the line number as a spreadsheet shows it, in JSON the position in `items`, from
   * 1.
   */
  rowNumber: number;
  state: ItemStateName;
  /** Hash of the transaction that pays it, or that failed to; null until one is signed. */
  txHash: string | null;
}

export interface PayoutItemPage {
  data: PayoutItem[];
  /** Entries per page, after clamping. */
  limit: number;
  ok: boolean;
  /** 0-based, after clamping. */
  page: number;
  /** Number of pages; at least 1, even if there are no entries. */
  pagesCount: number;
  /** Entries on all pages. */
  total: number;
}

/** A mass payout as its merchant sees it. Fields are only ever added. */
export interface PayoutOrder {
  /** Number of groups in which the rows are sent and reported. */
  batchCount: number;
  cancelledBy: Canceller | null;
  /** Chain id of an EVM network; null on other networks. */
  chainId: number | null;
  /** When the merchant confirmed the order. */
  confirmedAt: string | null;
  /** Null for native coins. */
  contractAddress: string | null;
  createdAt: string;
  /** The code of the currency that is paid out, as `GET /v1/currencies` lists it. */
  currency: string;
  /** Decimal places of one whole coin. */
  decimals: number;
  /** The order's own address; null until it is confirmed. */
  depositAddress: string | null;
  /** Expiry of the quote in a draft; afterwards the deadline for the deposit. */
  expiresAt: string;
  /** Amount of the rows that ended unpaid; refunded at the end. */
  failedRaw: string;
  family: FamilyName;
  feeMode: FeeBearer;
  /** When its state became final. */
  finishedAt: string | null;
  /** When the received amount became sufficient. */
  fundedAt: string | null;
  fundingStatus: FundingStatus;
  /** True if the order is on hold: an operator must release it before anything more is sent. */
  held: boolean;
  /** `mpo_…` on bitcoin, litecoin and dogecoin, `empo_…` on EVM networks. Never changes. */
  id: string;
  /** Number of recipients' rows. */
  itemCount: number;
  /** The merchant's own text, as it was sent. */
  label: string | null;
  /**
   * The batch that an event concerns, otherwise the last batch with any progress; null before the
   * first.
   */
  lastBatch: PayoutBatch | null;
  /** The merchant's own object, as it was sent. */
  metadata: Record<string, unknown> | null;
  /** Amount by which `receivedRaw` is too low. */
  missingRaw: string;
  network: NetworkName;
  /** Network fee in the quote. */
  networkFeeRaw: string;
  /** Amount paid to recipients by final transactions. */
  paidRaw: string;
  /** Sum of the requested amounts. */
  payoutTotalRaw: string;
  progress: PayoutProgress;
  quote: PayoutQuote;
  /** Confirmed at `depositAddress` so far. */
  receivedRaw: string;
  /** Refund of an ended order; null if there is nothing to refund. */
  refund: PayoutRefund | null;
  /** Address for refunds; without it a refund waits for manual handling. */
  refundAddress: string | null;
  /** Service fee in the quote. */
  serviceFeeRaw: string;
  standard: StandardName;
  state: OrderState;
  /** Amount by which `receivedRaw` is too high; refunded at the end. */
  surplusRaw: string;
  /** In upper case. */
  symbol: string;
  /** Amount to send to `depositAddress`. */
  totalToSendRaw: string;
  /** Time of the last change. */
  updatedAt: string;
}

export interface PayoutOrderAnswer {
  data: PayoutOrder;
  ok: boolean;
}

export interface PayoutOrderPage {
  data: PayoutOrder[];
  /** Entries per page, after clamping. */
  limit: number;
  ok: boolean;
  /** 0-based, after clamping. */
  page: number;
  /** Number of pages; at least 1, even if there are no entries. */
  pagesCount: number;
  /** Entries on all pages. */
  total: number;
}

/** Number of rows in each state. */
export interface PayoutProgress {
  /** Accepted by a node. */
  broadcasted: number;
  /** Paid by a final transaction. */
  confirmed: number;
  /** Ended unpaid. */
  failed: number;
  /** Nothing is signed yet. */
  pending: number;
  /** Signed, and not yet accepted by a node. */
  signing: number;
}

/** The price of an order, and how long it is valid. */
export interface PayoutQuote {
  /** One whole coin of the paid currency, in US dollars. */
  assetPriceUsd: string;
  createdAt: string;
  /** After this time the quote must be refreshed before the order can be confirmed. */
  expiresAt: string;
  /** On bitcoin, litecoin and dogecoin: base units per virtual byte. */
  feeRateSatVb?: string;
  /** Send it as `quoteId` to confirm exactly this quote. */
  id: string;
  /** On EVM networks: wei per unit of gas. */
  maxFeePerGasWei?: string;
  /** One whole coin of the network, in US dollars. */
  nativePriceUsd: string;
  /** The same as in the order. */
  networkFeeRaw: string;
  /** The same as in the order. */
  serviceFeeRaw: string;
}

/** The quote of an order as it is now. */
export interface PayoutQuoted {
  /** The id to confirm this quote with. */
  quoteId: string;
  /** The amount that would have to be sent. */
  totalToSendRaw: string;
}

/** Refund to the merchant. */
export interface PayoutRefund {
  /** Null if none was given. */
  address: string | null;
  amountRaw: string;
  state: RefundState;
  /** Set once it is signed. */
  txHash: string | null;
}

/** One cell that cannot be used. */
export interface PayoutRowFault {
  /** The column by its name, or `row` for the row as a whole. */
  column: string;
  /** For people. */
  reason: string;
  /**
   * In a CSV file the line number as a spreadsheet shows it, in JSON the position in `items`, from
   * 1.
   */
  row: number;
  /** The beginning of the cell. */
  value: string;
}

/** The present state of an order. */
export interface PayoutStanding {
  state: OrderState;
}

/** One event of one order. The fields are always in this order. */
export interface PayoutWebhook {
  /** Only in a test that the merchant asked for (`POST /v1/webhooks/test`). */
  _gateway?: TestMark;
  /** Seconds since 1970, renewed at each attempt. Refuse events older than ten minutes. */
  eventAt: number;
  /** `pzwe_…`, the same for all attempts: process each id only once. */
  eventId: string;
  eventType: EventName;
  /** The order as it was when the event happened. */
  order: PayoutOrder;
}

/** The renewal that a reminder is about. */
export interface Renewal {
  /** The cycle to be paid. */
  cycle: number;
  /** The day of the reminder relative to `next_renewal_at`, also if it is sent later. */
  day_offset: number;
  next_renewal_at: string;
  /** The subscriber's own page, where he renews or cancels. Send it to him and to nobody else. */
  renewal_url: string;
}

/** Days to let pass. */
export interface SandboxAdvance {
  /** Whole days, 1 to 3660. */
  days: number;
  /** The subscription whose clock is moved on. */
  subscription_id: string;
}

/** A transaction on the simulated chain. */
export interface SandboxDeposit {
  /** The newest block now. */
  head: number;
  /** Its block; null while it waits in the mempool. */
  height: number | null;
  /** The chain on which it is. */
  network: NetworkName;
  /** False if this transaction was known before. */
  new: boolean;
  /** Its hash, as the deposit's `tx_hash` will be. */
  txid: string;
}

/** The invoice whose window ends now. */
export interface SandboxExpiry {
  /** Its `payment_id`. */
  payment_id: string;
}

/** A subscription. Fields are only ever added. */
export interface Subscription {
  created_at: string;
  /** Payments after which it ends; null for one without an end. */
  cycles_max: number | null;
  /** `day`, `week`, `month` or `year`. */
  interval: string;
  /** How many intervals lie between two payments. */
  interval_count: number;
  /** The link on whose page it began. */
  link_id: string;
  /** The end of that cycle; null once it is over. */
  next_renewal_at: string | null;
  /** Its own: a changed link changes new subscribers only. */
  price_amount: string;
  /** In lower case. */
  price_currency: string;
  /**
   * `active`, `past_due` (not paid three days after the renewal), `cancelled` or `ended` (its last
   * cycle is over). More may come.
   */
  state: string;
  /** Not proven to be the subscriber's. */
  subscriber_email: string;
  /**
   * The newest cycle that is paid, from 1. A late payment covers the period it falls in, so numbers
   * may be skipped.
   */
  subscription_cycle: number;
  /** `pzs_` and 26 characters; never changes. */
  subscription_id: string;
  updated_at: string;
}

/** One page of subscriptions, the newest first. Each was paid at least once. */
export interface SubscriptionList {
  data: Subscription[];
  /** True if there are older ones: ask again with `after` = `next`. */
  has_more: boolean;
  /** The last one of this page; null if it is empty. */
  next: string | null;
}

/** Says that nothing happened: the body was made for a test. */
export interface TestMark {
  /** Always true. */
  test: boolean;
}

/** A device of a till. Fields are only ever added. */
export interface TillDevice {
  created_at: string;
  /** `pzd_` and 26 characters; never changes. */
  device_id: string;
  /** The code was used then; null before. */
  enrolled_at: string | null;
  /** Its name. */
  name: string;
  /** It was revoked then; null if it was not. */
  revoked_at: string | null;
  /** Its last use, to the minute; null before the first. */
  seen_at: string | null;
  /**
   * `waiting` for its code, `expired` without it, `enrolled`, `locked` by too many wrong PINs,
   * `revoked`.
   */
  state: TillDeviceState;
}

/** The devices of a till: those in use first, each group the newest first. */
export interface TillDeviceList {
  data: TillDevice[];
}

/** A code that enrols one browser as a device. */
export interface TillEnrolment {
  /** The code, shown this once. It enrols one browser. */
  code: string;
  /** The code is good until then. */
  code_expires_at: string;
  /** `pzd_` and 26 characters; never changes. */
  device_id: string;
  /**
   * The enrolment page with the code filled in, to be opened on the device or shown to its camera
   * as a QR code. It is as secret as the code.
   */
  enrol_url: string;
  /** Its name. */
  name: string;
}

/**
 * A test of a receiver. Members that are not listed are ignored. It describes the input of `send`;
 * nothing is read into it.
 */
export interface WebhookTest {
  /** A type of event that has a webhook. */
  type: string;
  /**
   * Where the sample is sent. Absent: where the last webhook of this channel went, else the
   * merchant's payout webhook URL for a payout's.
   */
  url?: string | null;
}

/** What the receiver said. */
export interface WebhookTestResult {
  /** Milliseconds until the answer, or until it was given up. */
  duration_ms: number;
  /** For people: why it was not taken; null if it was. */
  error: string | null;
  /** Of the sample. `GET /v1/events` does not list it. */
  event_id: string;
  /** The first characters of the answer's body. */
  excerpt: string | null;
  /** True if it answered 2xx, which takes an event. */
  ok: boolean;
  /** HTTP status of the answer; null if there was none. */
  status: number | null;
  /** Where it was sent. */
  url: string;
}
