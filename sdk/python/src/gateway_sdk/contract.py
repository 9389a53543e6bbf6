"""Types of the API. Made by sdk/generate.py from api/openapi.json; do not edit."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Dict, List, Optional, TypedDict, Union

# Fields that are JSON numbers: always Decimal, also when they have no fraction.
AMOUNT_FIELDS = frozenset((
    "actually_paid",
    "amount_from",
    "amount_received",
    "estimated_amount",
    "max_amount",
    "min_amount",
    "min_amount_usd",
    "min_usd",
    "pay_amount",
    "price_amount",
))

# Codes of errors that this release knows; treat another as INTERNAL_ERROR.
ERROR_CODES = frozenset((
    "AMOUNT_BELOW_DUST",
    "AMOUNT_BELOW_MINIMUM",
    "API_KEY_MALFORMED",
    "API_KEY_MISSING",
    "API_KEY_NOT_FOUND",
    "BROADCAST_REJECTED",
    "CURRENCY_NOT_SUPPORTED",
    "DEVICE_NOT_FOUND",
    "DUPLICATE_REFERENCE",
    "EVENT_NOT_FOUND",
    "IDEMPOTENCY_CONFLICT",
    "INPUT_UNAVAILABLE",
    "INSUFFICIENT_FUNDS",
    "INSUFFICIENT_GAS",
    "INTERNAL_ERROR",
    "INVALID_ADDRESS",
    "INVALID_AMOUNT",
    "INVALID_REQUEST",
    "INVALID_STATE",
    "LINK_NOT_FOUND",
    "MERCHANT_SUSPENDED",
    "NETWORK_FEE_TOO_HIGH",
    "NODE_UNAVAILABLE",
    "NONCE_USED",
    "NOT_FOUND",
    "NO_ELIGIBLE_CURRENCIES",
    "PAYMENT_NOT_FOUND",
    "PAYOUT_EXPIRED",
    "PAYOUT_NOT_FOUND",
    "QUOTA_EXCEEDED",
    "RATE_LIMIT_EXCEEDED",
    "RATE_PROVIDER_DOWN",
    "SIGNATURE_MISMATCH",
    "SUBSCRIPTION_NOT_FOUND",
    "TOO_MANY_ITEMS",
    "UNSUPPORTED_CURRENCY",
    "UNSUPPORTED_NETWORK",
    "amount_below_dust",
    "api_key_malformed",
    "api_key_missing",
    "api_key_not_found",
    "csv_too_large",
    "deposit_already_detected",
    "duplicate_reference",
    "empty_batch",
    "idempotency_conflict",
    "internal_error",
    "invalid_address",
    "invalid_amount",
    "invalid_csv",
    "invalid_idempotency_key",
    "invalid_request",
    "invalid_state",
    "limit_exceeded",
    "merchant_suspended",
    "node_unavailable",
    "order_not_found",
    "payouts_disabled",
    "quota_exceeded",
    "quote_changed",
    "quote_expired",
    "rate_limited",
    "rate_provider_down",
    "too_many_rows",
    "unsupported_currency",
    "unsupported_network",
    "wrong_network_address",
))

# pending signing broadcasted confirmed failed: `signing`: partly signed, not completely sent.
# `failed`: ended with at least one unpaid row. `confirmed` and `failed` are final.
BatchStateName = str

# wait contact_merchant send_again nothing: `wait`. `contact_merchant`: write to the merchant, with
# `reference`. `send_again`: send the amount again if the wallet says that the transaction failed.
# `nothing`.
BuyerAdvice = str

# pending partial paid overpaid expired cancelled: The status in the buyer's vocabulary. The last
# four values are final.
BuyerStatusName = str

# merchant operator: Who cancelled the order; null if nobody did.
Canceller = str

# mass_payout.created mass_payout.quote_refreshed mass_payout.deposit_detected
# mass_payout.underfunded mass_payout.overfunded mass_payout.batch_broadcasted
# mass_payout.batch_confirmed mass_payout.batch_failed mass_payout.completed
# mass_payout.partial_failed mass_payout.expired mass_payout.cancelled: What happened.
EventName = str

# utxo evm: `utxo`: bitcoin, litecoin, dogecoin. `evm`: the EVM networks.
FamilyName = str

# sender recipient: `sender`: the fees are added to the total. `recipient`: they are deducted evenly
# from the recipients' amounts.
FeeBearer = str

# none detected underfunded exact overfunded: The deposits so far: `detected` means seen but not yet
# confirmed; with the last three values they are confirmed.
FundingStatus = str

# unconfirmed wrong_token wrong_network unknown_token late replaced dropped reorganised reversed:
# `unconfirmed`: seen, and waits for confirmations. `wrong_token`, `wrong_network`, `unknown_token`:
# something else than what was asked for. `late`: after the end of the invoice. `replaced`: another
# transaction took its place. `dropped`: its network does not know it any more. `reorganised`: its
# block left the chain, and it waits for another one. `reversed`: it left the chain after it had
# been counted. Later releases may add more.
HappeningKind = str

# payment donation subscription pos: `payment`: a single payment. `donation`: the buyer chooses the
# amount. `subscription`: a recurring payment. `pos`: a payment at a point-of-sale terminal.
InvoiceType = str

# pending sent confirmed failed: The last two never change.
ItemStateName = str

# slow normal fast: How much is offered to the network for fast inclusion in a block.
NcFeeLevel = str

# unsigned signed sent confirmed failed: The state of its transaction: `unsigned`, `signed` (stored,
# not yet accepted by any node), `sent`, `confirmed` (finally paid) or `failed` (it will never pay).
NcOutputState = str

# awaiting_signature submitted confirming completed partial_failed failed expired cancelled:
# `awaiting_signature`: sign `unsigned` and submit it before `expiresAt`. `submitted`: the signed
# bytes are stored and are sent until a block contains them. `confirming`: at least one is in a
# block. The others never change: `completed`, `partial_failed` (some recipients were paid),
# `failed` (none was), `expired` and `cancelled` (nothing was signed).
NcState = str

# bitcoin litecoin dogecoin ethereum polygon bsc arbitrum optimism base avalanche tron solana near
# ton thorchain: A chain. `x-extensible-enum` lists those of this release; later releases may add
# more, so accept unknown names.
NetworkName = str

# draft pending_deposit funded processing completed partial_failed expired cancelled: `draft`:
# quoted. `pending_deposit`: confirmed, waits for its deposit. `funded`: fully funded. `processing`:
# recipients are being paid. `completed`: all are paid. `partial_failed`: ended with at least one
# unpaid recipient. `expired`: not confirmed, or not funded, in time. `cancelled`: by its merchant
# or an operator. The last four states are final.
OrderState = str

# waiting kept moved not_sent lost unclear: Where the money is. `waiting`: on its way. `kept`: at
# the merchant's address, not counted for the invoice. `moved`: in the transaction that took its
# place. `not_sent`: it never arrived. `lost`: no longer the merchant's. `unclear`: it arrived, and
# nobody vouches for its value.
PaymentFate = str

# day week month year:
PaymentLinkInterval = str

# payment donation subscription pos:
PaymentLinkType = str

# waiting partially_paid finished expired failed: `waiting`: nothing counts yet. `partially_paid`:
# less than the invoice asks for. `finished`: paid in full; an overpayment shows as `actually_paid`
# above `pay_amount`. `expired`: the payment window ended. `failed`: cancelled. The last three
# values are final.
PaymentStatus = str

# fiat direct:
PricingMode = str

# pending sent confirmed held: `held`: an operator must decide, because there is no `refundAddress`
# or the refund failed.
RefundState = str

# native ERC20 BEP20 TRC20 SPL NEP141 JETTON: `native` for a chain's own coin, otherwise the token
# standard.
StandardName = str

# waiting expired enrolled locked revoked:
TillDeviceState = str


class AcceptedCurrency(TypedDict):
    """One entry of `accepted_currencies`. Its fields are frozen."""

    # The symbol, in upper case.
    currency: str
    # The amount that would have to be paid now, in whole units; not binding; null while there is no
    # fresh rate.
    estimated_amount: Optional[Decimal]
    # The smallest price in this currency, in US dollars.
    min_usd: Decimal
    network: NetworkName
    standard: StandardName
    # Identifies this choice on the checkout: `code@network`.
    token_id: str


class Alive(TypedDict):
    """Response of a running service."""

    # Always `OK`.
    message: str


class Balance(TypedDict):
    """What a merchant has, by the ledger, all of one moment."""

    # One entry for each currency and network of which any amount is not zero.
    balances: List[BalanceEntry]
    # The currency of the estimates.
    fiat_currency: str


class BalanceEntry(TypedDict):
    """The amounts of one currency on one network, in whole coins."""

    # Booked deposits of invoices in their own currency, less excess and reversals: the balance of
    # the merchant's account.
    available: str
    # As in `GET /v1/currencies`.
    currency: str
    # `available` in `fiat_currency` at the current rate, rounded to 2 decimals; null without a
    # fresh rate. Not binding.
    fiat_estimate: Optional[str]
    # Deposits in another currency than the one asked for; not in `available`.
    foreign: str
    # Held by the merchant's payout orders: funded, and neither paid, kept as fees nor returned.
    in_payouts: str
    # Deposits that were booked after their invoice had ended; not in `available`.
    late: str
    network: NetworkName
    # Deposits of the merchant's invoices that are seen or final and not booked yet. They may
    # vanish, or be booked as late or foreign.
    pending: str
    # In upper case.
    symbol: str


class _BuyerStatusRequired(TypedDict):
    # The amount that the invoice asks for, in whole units.
    amount_due: Optional[str]
    # The amount that has been counted.
    amount_received: Optional[str]
    # The amount still to be sent, after everything that was counted or seen; it is the amount in
    # `payment_uri`.
    amount_remaining: Optional[str]
    # The amount that was seen but does not count yet, for lack of confirmations.
    amount_unconfirmed: Optional[str]
    # Whether the buyer may still cancel: nothing has been seen, and the invoice is open.
    cancellable: bool
    # Confirmations of the newest unconfirmed deposit; null if there is none.
    confirmations: Optional[int]
    # The token's contract; null for native coins.
    contract_address: Optional[str]
    created_at: str
    # When the payment window ends.
    expires_at: str
    invoice_type: InvoiceType
    # Whether the buyer still has to choose a currency; everything about the payment is null until
    # then.
    is_draft: bool
    network: Optional[NetworkName]
    # The merchant's own words. Show them as text, never as markup.
    order_description: Optional[str]
    # The address to pay to.
    pay_address: Optional[str]
    # The code of the currency to pay in.
    pay_currency: Optional[str]
    # The invoice's id.
    payment_id: str
    # URI for wallets that pays the amount still to be sent; null if nothing is to be sent, or if
    # the network has no convention for such URIs.
    payment_uri: Optional[str]
    # The price, in `price_currency`.
    price_amount: str
    # The currency of the price, in lower case.
    price_currency: str
    # Where to redirect the buyer once the invoice has ended, if the merchant set an address.
    redirect_url: Optional[str]
    # The number of confirmations that makes a deposit count on this network.
    required_confirmations: Optional[int]
    # Whole seconds until the payment window ends, by the server's clock.
    seconds_left: int
    standard: Optional[StandardName]
    status: BuyerStatusName
    # The symbol to show, in upper case.
    symbol: Optional[str]
    # The transactions that paid, up to 20.
    tx_hashes: List[str]
    updated_at: str


class BuyerStatus(_BuyerStatusRequired, total=False):
    """An invoice as its buyer sees it. All amounts are text."""

    # Present only while the buyer has to choose a currency.
    accepted_currencies: Optional[List[AcceptedCurrency]]
    # Payments that did not simply count, up to 10: what arrived, where it is, and what to do.
    # Absent if there are none.
    happened: List[PaymentHappening]


class ConfirmPayout(TypedDict, total=False):
    """The quote or the total that is confirmed. Without a body, or with an empty object, the order
    is confirmed as it is."""

    # If sent, the order is confirmed only if its `totalToSendRaw` equals this.
    acceptTotalRaw: Optional[str]
    # If sent, the order is confirmed only if this is still its quote.
    quoteId: Optional[str]


class Currencies(TypedDict):
    """The currencies on offer now."""

    # Codes only. The code of a native coin appears once for each network on which it is native.
    currencies: List[str]
    # One entry per chain and token.
    currencies_detailed: List[CurrencyEntry]
    # Currencies in which a price can be given.
    fiat_currencies: List[str]


class CurrencyEntry(TypedDict):
    """A coin or token on one chain."""

    chain: NetworkName
    # The name of the chain in wallets and exchanges.
    chain_name: str
    # As used in `pay_currency`.
    code: str
    # The confirmations with which a deposit counts; a large one may need more.
    confirmations: int
    # Null for native coins.
    contract_address: Optional[str]
    # Decimals on its chain.
    decimals: int
    # A block explorer's page of an address, with `{address}` in place of it; null likewise.
    explorer_address_url: Optional[str]
    # A block explorer's page of a transaction, with `{tx_hash}` in place of the hash; null where no
    # public explorer exists, as in the sandbox.
    explorer_tx_url: Optional[str]
    # The smallest invoice, in US dollars; the same as in `GET /v1/min-amount`.
    min_amount_usd: Decimal
    # The name for people.
    name: str
    standard: StandardName
    # In upper case.
    symbol: str


class Donation(TypedDict):
    """Words and choices of a donor. Plain text on one line, written by a stranger: escape it
    wherever you show it."""

    # True: the donor wants to stay anonymous.
    anonymous: bool
    # Null if the donor gave none, or wants to stay anonymous. It is not proven to be the donor's.
    donor_email: Optional[str]
    # Null if the donor gave none, or wants to stay anonymous.
    donor_name: Optional[str]
    # The link on whose page the donation began.
    link_id: str
    # Null if the donor wrote none.
    message: Optional[str]
    # The amount that the page proposed, as text; null if it proposed none. The donor's own choice
    # is `price_amount`.
    suggested_amount: Optional[str]
    # The currency of `suggested_amount`; null without it.
    suggested_currency: Optional[str]


class Estimate(TypedDict):
    """What a price would cost now. Not binding."""

    # The price, in `currency_from`.
    amount_from: Decimal
    # Whether the price is below the minimum; null unless `currency_from` is `usd`.
    below_minimum: Optional[bool]
    # As in the request, in lower case.
    currency_from: str
    # As in the request, in lower case.
    currency_to: str
    # The amount that would have to be paid, in whole units of `currency_to`, up to 8 decimal
    # places.
    estimated_amount: str
    # The smallest invoice, in US dollars.
    min_amount_usd: Decimal


class Event(TypedDict):
    """Something that happened to an invoice or a payout."""

    # When it happened. The feed is in the order in which events became visible, which may differ.
    created_at: str
    # Its webhook; null if it has none: nobody asked for one, or its type has none.
    delivery: Optional[EventDelivery]
    # The same as in its webhook: act on each id once.
    event_id: str
    # The payment object as it was then, with `_gateway.notice` for a deposit that changed nothing;
    # or the payout order as it was.
    payload: Dict[str, Any]
    # The `payment_id`, or the id of the payout order.
    resource_id: str
    # `invoice.created`, `.partial`, `.paid`, `.expired`, `.cancelled`; `late_deposit_received`,
    # `wrong_token_received`, `suspicious_token_received`, which change no status; `x402.paid`;
    # `subscription.started`, `.renewed`, `.past_due`, `.cancelled`, `.ended`, `.renewal_reminder`;
    # `mass_payout.…` as in the payout webhooks. More may come.
    type: str


class EventAttempt(TypedDict):
    """One attempt to deliver a webhook."""

    # From 1 in each cycle.
    attempt: int
    # The cycle that it belongs to.
    cycle: int
    # Milliseconds until the answer, or until it was given up.
    duration_ms: int
    # For people: why it failed; null for one that was taken.
    error: Optional[str]
    # The first characters of the answer's body. Show it as text only: the receiver wrote it.
    excerpt: Optional[str]
    # When it began.
    started_at: str
    # HTTP status of the answer; null if there was none.
    status: Optional[int]


class _EventDeliveryRequired(TypedDict):
    # Attempts made in this cycle, of 5.
    attempts_made: int
    # `ipn` or `payout`, which sign differently.
    channel: str
    # 1, and 1 more each time it is sent again.
    cycle: int
    # For people: why the last attempt failed.
    last_error: Optional[str]
    # HTTP status of the last attempt; null before the first, and if there was no answer.
    last_status: Optional[int]
    # When the next attempt is due; null if none is.
    next_attempt_at: Optional[str]
    # `pending`, `retry_wait`, `delivered`, `dropped` (refused with 4xx; payouts only) or `dead`
    # (given up until it is sent again).
    state: str
    # Where it is sent.
    url: str


class EventDelivery(_EventDeliveryRequired, total=False):
    """How the webhook of an event fares."""

    # The newest 100 attempts, oldest first. Only where one event is asked for.
    attempts: List[EventAttempt]


class EventPage(TypedDict):
    """One page of the feed of events, oldest first."""

    data: List[Event]
    # True if there is more now: ask again with `after` = `next`, also if `data` is empty.
    has_more: bool
    # Keep it, and send it as `after` for what follows, now or later. Null while there was no event
    # yet.
    next: Optional[str]


class EventsResent(TypedDict):
    """What was started."""

    # Their events, oldest first.
    event_ids: List[str]
    # True if there is more: ask again with `after` = `next`, also if `resent` is 0.
    has_more: bool
    # The last event that this call looked at. Null if there was none.
    next: Optional[str]
    # How many webhooks have a fresh cycle of attempts under way.
    resent: int


class IpnPart(TypedDict, total=False):
    """Data of the gateway's own beside the payment object."""

    # Present in every IPN of an invoice of type `donation` that began on a link's page.
    donation: Optional[Donation]
    # Present in reminders of a subscription's renewal alone: `payment_status` only repeats the
    # state of its latest invoice.
    renewal: Optional[Renewal]


class MinAmount(TypedDict):
    """The smallest invoice in a currency."""

    # As in the request; the minimum is always computed in US dollars.
    currency_from: str
    # Echoed.
    currency_to: str
    # In whole units of `currency_to`, up to 8 decimal places.
    min_amount: Decimal
    # In US dollars.
    min_amount_usd: Decimal


# The fields of one EIP-1559 transaction.
NcFields = TypedDict("NcFields", {
    "chainId": "str",
    "data": "str",
    "from": "str",
    "gas": "str",
    "maxFeePerGas": "str",
    "maxPriorityFeePerGas": "str",
    "nonce": "str",
    "to": "str",
    "type": "str",
    "value": "str",
})


class NcInput(TypedDict):
    """One input: an output of an earlier transaction that is spent."""

    # In base units, as read from the chain.
    amountRaw: str
    # The transaction that created it.
    txid: str
    # Its index among that transaction's outputs, from 0.
    vout: int


class NcInputFault(TypedDict):
    """An input that cannot be spent."""

    # As `txid:vout`.
    input: str
    # For people.
    reason: str


class NcLack(TypedDict):
    """The missing funds, in base units: of the currency with `INSUFFICIENT_FUNDS`, of the chain's
    own coin with `INSUFFICIENT_GAS`."""

    # The amount held.
    hasRaw: str
    # The amount needed.
    needsRaw: str


class NcOtherField(TypedDict):
    """A field of a signed transaction that differs from the built one."""

    # The built value; `-` if the transaction has no such field.
    built: str
    # As wallets call it.
    field: str
    # The submitted value; `-` if the transaction has no such field.
    signed: str


class NcOutput(TypedDict):
    """One recipient."""

    # As wallets write it.
    address: str
    # In whole coins.
    amount: str
    # In base units.
    amountRaw: str
    # Confirmations of its transaction; no longer updated once it is final.
    confirmations: int
    # The reason why it failed, or why a node refuses it; null otherwise.
    error: Optional[str]
    # Network fee of its transaction, in base units of the chain's own coin; null until the
    # transaction is final.
    feeRaw: Optional[str]
    # The nonce of its transaction; null on bitcoin, litecoin and dogecoin.
    nonce: Optional[int]
    # The merchant's own reference.
    reference: Optional[str]
    state: NcOutputState
    # Null until the payout is submitted.
    txHash: Optional[str]


class NcOutputFault(TypedDict):
    """An output that cannot be paid."""

    # Which of its fields, or `row` for all of it.
    field: str
    # The entry of `outputs`, counted from 1.
    output: int
    # For people.
    reason: str
    # The beginning of the value that was sent.
    value: str


class NcPayout(TypedDict):
    """A non-custodial payout. Fields are only ever added."""

    # Chain id that the signature covers (EIP-155); null on bitcoin, litecoin and dogecoin.
    chainId: Optional[int]
    # Change to `fromAddress` on bitcoin, litecoin and dogecoin, as the last output; null on EVM
    # networks. Change below the dust limit is added to the fee.
    changeRaw: Optional[str]
    # Confirmations of the transaction that has the fewest; failed ones do not count.
    confirmations: int
    # The token's contract; null for a chain's own coin.
    contractAddress: Optional[str]
    # Time of the request.
    createdAt: str
    # The currency's code, as `GET /v1/currencies` lists it.
    currency: str
    # Decimal places of one whole unit.
    decimals: int
    # When it reached a final state; null before.
    endedAt: Optional[str]
    # Deadline for submitting the signed transactions.
    expiresAt: str
    feeLevel: NcFeeLevel
    # The paying address, whose key must sign. On bitcoin, litecoin and dogecoin the change returns
    # to it.
    fromAddress: str
    # `ncp_` and 26 characters.
    id: str
    # Inputs on bitcoin, litecoin and dogecoin, all of which are spent; empty on EVM networks.
    inputs: List[NcInput]
    # The chain.
    network: NetworkName
    # The chain's own coin, in which fees are paid.
    networkFeeCurrency: str
    # Network fee paid so far, in base units of the chain's own coin.
    networkFeePaidRaw: str
    # Maximum network fee for all transactions, in base units of the chain's own coin; on bitcoin,
    # litecoin and dogecoin the exact fee. A rollup's data fee is charged in addition.
    networkFeeRaw: str
    # Recipients, in the order of the request.
    outputs: List[NcOutput]
    # Confirmations after which a transaction is final.
    requiredConfirmations: int
    state: NcState
    # When the signed bytes were stored; null before.
    submittedAt: Optional[str]
    # Its ticker.
    symbol: str
    # The sum of all outputs, in base units.
    totalRaw: str
    # The submitted transactions: one that pays all outputs, or one for each, in the order of the
    # outputs.
    txHashes: List[str]
    # The transactions to sign; null in every state but `awaiting_signature`.
    unsigned: Optional[NcUnsigned]
    # Time of the last change.
    updatedAt: str


class NcPayoutAnswer(TypedDict):
    """`{ "ok": true, "data": … }` about one payout. It describes the output of [`object`]; nothing
    is made of it."""

    # The payout in its present state.
    data: NcPayout
    ok: bool


class NcPayoutPage(TypedDict):
    """One page of payouts."""

    # The payouts.
    data: List[NcPayout]
    # Payouts per page, after clamping.
    limit: int
    ok: bool
    # 0-based, after clamping.
    page: int
    # Number of pages; at least 1, even if there are no entries.
    pagesCount: int
    # Payouts on all pages.
    total: int


class NcRefresh(TypedDict, total=False):
    """Options for rebuilding a payout."""

    # Unchanged if absent.
    feeLevel: Optional[NcFeeLevel]


class NcStanding(TypedDict):
    """The present state of a payout."""

    state: NcState


class NcSubmission(TypedDict):
    """The signed transactions."""

    # Each signed transaction in hex, with or without `0x`, or in base64, in any order; a single
    # transaction may be sent without the list. On bitcoin, litecoin and dogecoin send the signed
    # PSBT, or the final transaction.
    signed: List[str]


class NcTransaction(TypedDict):
    """One transaction to be signed, in three forms: as fields, as bytes, and as the hash of the
    bytes."""

    # The position of its output, from 0.
    output: int
    # Its bytes without a signature.
    serialized: str
    # The hash of `serialized`, which a bare key signs.
    signingHash: str
    # Its fields in hex, named as in `eth_signTransaction`.
    transaction: NcFields


class NcUnsigned(TypedDict):
    """The transactions for the merchant to sign."""

    # Deadline for submitting the signed transactions.
    expiresAt: str
    # `evm_tx`: EIP-1559 transactions, one for each output, with consecutive nonces. `psbt`: one
    # transaction that pays all outputs.
    kind: str
    # With `evm_tx` the transactions, in the order of the outputs; with `psbt` a PSBT of version 0
    # in base64.
    payload: NcPayload


# The events to send again; `{}` means all that failed. Members that are not listed are ignored. It
# describes the input of `wanted`; nothing is read into it.
NewEventsResend = TypedDict("NewEventsResend", {
    "after": "str",
    "from": "str",
    "state": "str",
    "to": "str",
    "type": "str",
}, total=False)


class NewNcInput(TypedDict):
    """An unspent output of an earlier transaction that is in a block. Its amount is read from the
    chain."""

    # The transaction that created it, in hex.
    txid: str
    # Its index among that transaction's outputs, from 0.
    vout: int


class _NewNcOutputRequired(TypedDict):
    # An address of the network.
    address: str


class NewNcOutput(_NewNcOutputRequired, total=False):
    """One recipient. Either `amount` or `amountRaw`."""

    # Whole coins, as text or as a number. Either this or `amountRaw`.
    amount: Optional[Decimal]
    # Base units. Either this or `amount`.
    amountRaw: Optional[str]
    # The merchant's own reference, unique within the payout.
    reference: Optional[str]


class _NewNcPayoutRequired(TypedDict):
    # A currency's code, or its symbol on that network.
    currency: str
    # The sender: an address whose key is the merchant's. On bitcoin, litecoin and dogecoin it must
    # belong to a single key (P2WPKH or P2PKH), all inputs must be at it, and the change returns to
    # it.
    fromAddress: str
    # One of the EVM networks, bitcoin, litecoin or dogecoin.
    network: str
    # The recipients.
    outputs: List[NewNcOutput]


class NewNcPayout(_NewNcPayoutRequired, total=False):
    """A payout to be built. Members that are not listed are ignored; null is the same as absent."""

    # `normal` if absent.
    feeLevel: Optional[NcFeeLevel]
    # The outputs to spend on bitcoin, litecoin and dogecoin, where the list is required: all of
    # them are spent, and the rest is returned as change. Ignored on EVM networks.
    inputs: Optional[List[NewNcInput]]


class _NewPaymentRequired(TypedDict):
    # A currency's code; or a bare symbol together with `network`; or `all`, which lets the buyer
    # choose.
    pay_currency: str
    # The price: above 0, at most 15 integer digits and 18 decimals. A JSON number; text is refused.
    price_amount: Decimal
    # `usd`, `eur` or `gbp` in any case; in pricing mode `direct` the symbol of `pay_currency`.
    price_currency: str


class NewPayment(_NewPaymentRequired, total=False):
    """An invoice to create. Members that are not listed are ignored; null is the same as absent.
    It describes the input of [`parse`], member by member; nothing is read into it."""

    # Where the buyer is redirected once the invoice is cancelled or expired: an http or https URL.
    # Left out, the merchant's default holds, if there is one.
    cancel_url: Optional[str]
    # Where signed IPNs are posted: an absolute http or https URL on the public internet. Left out,
    # the merchant's default holds, if there is one.
    ipn_callback_url: Optional[str]
    # When sent, `pay_currency` is read as a bare symbol on this chain.
    network: Optional[str]
    # Shown to the buyer on the hosted checkout.
    order_description: Optional[str]
    # The merchant's own reference; need not be unique.
    order_id: Optional[str]
    # `fiat` converts the price at the current rate. `direct` takes it as an amount of the pay
    # currency, exact in its decimals.
    pricing_mode: Optional[PricingMode]
    # Accepted and ignored; responses always contain the `payment_id` here.
    purchase_id: Optional[Any]
    # Where the buyer is redirected once the invoice is paid: an http or https URL. Left out, the
    # merchant's default holds, if there is one.
    success_url: Optional[str]


class _NewPaymentLinkRequired(TypedDict):
    # `usd`, `eur` or `gbp` in any case.
    price_currency: str
    # The heading of the page and the description of its invoices; one line.
    title: str
    # `payment`: a fixed price, or one that the visitor chooses. `donation`: an amount that the
    # donor chooses, with his name and a message if he likes. `subscription`: a fixed price that is
    # paid again every interval. `pos`: a till, whose enrolled devices type each amount. It cannot
    # be changed.
    type: PaymentLinkType


class NewPaymentLink(_NewPaymentLinkRequired, total=False):
    """A link to create. Members that are not listed are ignored; null is the same as absent. It
    describes the input of [`parse`], member by member; nothing is read into it."""

    # The tokens (`code@network`) that its invoices may be paid in, of those that you accept.
    # Absent: all that you accept.
    accepted: Optional[List[str]]
    # Where buyers are redirected once their invoice is cancelled or expired: an http or https URL.
    cancel_url: Optional[str]
    # Of a subscription: payments after which it ends. Absent: it has no end.
    cycles_max: Optional[int]
    # Shown below the title.
    description: Optional[str]
    # Of a subscription: the unit of the time between two payments.
    interval: Optional[PaymentLinkInterval]
    # Of a subscription: how many of them; 1 if absent. Of days at least 7.
    interval_count: Optional[int]
    # Where the signed IPNs of its invoices are posted. Left out, the merchant's default holds, if
    # there is one.
    ipn_callback_url: Optional[str]
    # The largest amount that visitors may choose; 1,000,000 if absent.
    max_amount: Optional[Decimal]
    # The smallest amount that visitors may choose.
    min_amount: Optional[Decimal]
    # Your own reference, which all its invoices carry.
    order_id: Optional[str]
    # Of a till: the PIN of 4 to 8 digits with which its devices are enrolled and unlocked, not such
    # as 0000 or 1234. Absent: each device chooses its own. It is never shown.
    pin: Optional[str]
    # The price. Absent: visitors choose the amount. Of a donation the amount that the page
    # proposes.
    price_amount: Optional[Decimal]
    # Of a subscription, in the sandbox only: seconds that a day takes, so that a month can be
    # watched in a minute. Dates stay real.
    sandbox_day_seconds: Optional[int]
    # True: one payment uses the link up. Until then all its visitors share one open invoice. Only
    # for type `payment`.
    single_use: Optional[bool]
    # Where buyers are redirected once they have paid: an http or https URL.
    success_url: Optional[str]
    # Amounts that the page offers, each with at most two decimals.
    suggested_amounts: Optional[List[Decimal]]
    # Of a till: the IANA name of the time zone in which its day begins; `UTC` if absent.
    time_zone: Optional[str]


class _NewPayoutRequired(TypedDict):
    # A currency's code, or its symbol on this network.
    currency: str
    # A network of this family.
    network: str


class NewPayout(_NewPayoutRequired, total=False):
    """An order to create. Its recipients are either in `items` or in `csv`. Members that are not
    listed are ignored; null is the same as absent."""

    # The URL for this order's webhooks, instead of the one in the merchant's settings.
    callbackUrl: Optional[str]
    # The text of a file, as it would be sent as `text/csv`.
    csv: Optional[str]
    # `sender` if absent.
    feeMode: Optional[FeeBearer]
    # At most 1000 recipients, on EVM networks 2000.
    items: Optional[List[NewPayoutItem]]
    # Plain text for the merchant's own use.
    label: Optional[str]
    metadata: Optional[Dict[str, Any]]
    # The address for refunds. Without it a refund waits for an operator.
    refundAddress: Optional[str]


class _NewPayoutItemRequired(TypedDict):
    # On the order's network.
    address: str


class NewPayoutItem(_NewPayoutItemRequired, total=False):
    """One recipient. Rows with equal content each need a `reference` of their own."""

    # Whole coins, as a number or as text. Either this or `amountRaw`.
    amount: Optional[Decimal]
    # Base units. Either this or `amount`.
    amountRaw: Optional[str]
    # The merchant's own note, with the limits of `reference`, but it need not be unique.
    memo: Optional[str]
    # The merchant's own reference, unique within the order. It must not start like a formula (`=`,
    # `+`, `-`, `@`).
    reference: Optional[str]


class _NewSandboxDepositRequired(TypedDict):
    # Whole coins.
    amount: Decimal


class NewSandboxDeposit(_NewSandboxDepositRequired, total=False):
    """A payment on the simulated chain: to an invoice, or to an address of an invoice or a payout
    order."""

    # An address of one of your invoices or payout orders, together with `network`.
    address: Optional[str]
    # `CODE` or `CODE@NETWORK`; the invoice's own currency if absent, or the network's coin.
    currency: Optional[str]
    # The chain to pay on, together with `address`: also another one than the invoice's.
    network: Optional[NetworkName]
    # The invoice to pay, in its own currency if `currency` is absent. Instead of `network` and
    # `address`.
    payment_id: Optional[str]
    # 1 to 128 hex digits, with or without `0x`; made up if absent.
    txid: Optional[str]
    # True leaves it in the mempool. Send the same `txid` once more without it to confirm it.
    unconfirmed: Optional[bool]


class NewTillDevice(TypedDict):
    """A device to enrol. It describes the input of the endpoint; nothing is read into it."""

    # A name by which you know it, on one line.
    name: str


class Notice(TypedDict):
    """The deposit behind an informational IPN."""

    # Whole coins if the token's decimals are known, else base units.
    amount: str
    # The unit of `amount`: `coins` or `base_units`.
    amount_unit: str
    # The token's contract; null for native coins.
    contract_address: Optional[str]
    # The code of the currency that arrived; null for a token that is not in `GET /v1/currencies`.
    currency: Optional[str]
    # Identifies the deposit: one transaction may contain several.
    deposit_key: str
    # The output, or the position among the transaction's logs; null where the network has neither.
    log_index: Optional[int]
    # The chain on which it arrived.
    network: NetworkName
    # When it was first seen.
    received_at: str
    # The transaction that brought it.
    tx_hash: str
    # `wrong_token_received`, `suspicious_token_received` or `late_deposit_received`; later releases
    # may add more.
    type: str


class _NoticePartRequired(TypedDict):
    notice: Notice


class NoticePart(_NoticePartRequired, total=False):
    """The part of the body that sets a notice apart from a change of status."""

    # Present if the invoice is a donation that began on a link's page.
    donation: Optional[Donation]


class Payment(TypedDict):
    """An invoice as its merchant sees it. Fields are only ever added."""

    # Received so far, in `pay_currency`; 0 until a deposit has its network's confirmations.
    actually_paid: Decimal
    # The same as `actually_paid`.
    amount_received: Decimal
    # Reserved.
    burning_percent: None
    created_at: str
    # When the payment window ends.
    expiration_estimate_date: str
    invoice_type: InvoiceType
    # The hosted checkout's page for this invoice.
    invoice_url: Optional[str]
    # The URL to which signed IPNs are posted.
    ipn_callback_url: Optional[str]
    # The chain to pay on; null on an unresolved draft.
    network: Optional[NetworkName]
    # Decimals of `pay_currency` on its chain; null on an unresolved draft.
    network_precision: Optional[int]
    # Set on subscriptions only.
    next_renewal_at: Optional[str]
    # As it was sent; shown to the buyer.
    order_description: Optional[str]
    # The merchant's own reference, as it was sent.
    order_id: Optional[str]
    # Deposit address; null on an unresolved draft.
    pay_address: Optional[str]
    # Amount to pay, in whole units of `pay_currency`; null on an unresolved draft.
    pay_amount: Optional[Decimal]
    # Code of the currency to pay in, as listed by `GET /v1/currencies`; null on an unresolved
    # draft.
    pay_currency: Optional[str]
    # Reserved.
    payin_extra_id: None
    # The invoice's id: `pzi_` and 26 characters. Never changes, also when a draft resolves.
    payment_id: str
    payment_status: PaymentStatus
    # The requested price, in `price_currency`.
    price_amount: Decimal
    # The currency of the price, in lower case.
    price_currency: str
    # Always equal to `payment_id`.
    purchase_id: str
    # The token's contract; null for native coins and on an unresolved draft.
    smart_contract: Optional[str]
    # Set on subscriptions only.
    subscriber_email: Optional[str]
    # Set on subscriptions only: number of cycles so far.
    subscription_cycle: Optional[int]
    # The payment window as `HH:MM:SS`; on an unresolved draft the time to choose a currency.
    time_limit: str
    # Time of the last change.
    updated_at: str


class PaymentDeposit(TypedDict):
    """Value that reached the address of an invoice, on any network that the address exists on."""

    # Whole coins if the token's decimals are known, else base units.
    amount: str
    # The unit of `amount`: `coins` or `base_units`.
    amount_unit: str
    # Null until it is booked: `credit`, `late` (after the end), `foreign` (another currency of the
    # catalogue), `suspicious` (an unknown token or an impossible amount, worth nothing) or
    # `nothing`. More may come.
    booked_as: Optional[str]
    # One in the newest block that was read, none in the mempool; grows beyond
    # `required_confirmations`.
    confirmations: int
    # The token's contract; null for native coins.
    contract_address: Optional[str]
    # The code of the currency that came; null for a token that is not in the catalogue.
    currency: Optional[str]
    # The transaction in a public block explorer; null where none can know it, as in the sandbox.
    explorer_url: Optional[str]
    # The invoice's fiat currency, `usd` if it is priced in coins; null with `fiat_value`.
    fiat_currency: Optional[str]
    # Its value at the rate of its booking, in `fiat_currency`; null before, and where there was no
    # rate.
    fiat_value: Optional[str]
    # When it had its confirmations; null before, and for deposits older than this field.
    final_at: Optional[str]
    # When it was first seen, in the mempool or in a block.
    first_seen_at: str
    # The chain on which it came.
    network: NetworkName
    # The confirmations with which it becomes final; more for large amounts.
    required_confirmations: int
    # `seen`, `final` (confirmed, not booked yet), `settled` (booked), `withdrawn` (replaced or
    # dropped before it was final) or `reversed` (left the chain after it was booked; the books were
    # corrected). More may come.
    state: str
    # The transaction that brought it; one transaction may bring several deposits.
    tx_hash: str


class PaymentDeposits(TypedDict):
    """The first deposits of an invoice: those in its own currency, oldest first, then all others."""

    data: List[PaymentDeposit]
    # True if there are more than `limit`: strangers may send dust to any address.
    has_more: bool
    # Deposits per answer, after clamping.
    limit: int


class PaymentHappening(TypedDict):
    """A payment that did not simply count."""

    advice: BuyerAdvice
    # The amount that arrived, in whole units; null for a token outside the catalogue.
    amount: Optional[str]
    # A page of a public block explorer; null on networks that none shows.
    explorer_url: Optional[str]
    fate: PaymentFate
    kind: HappeningKind
    network: NetworkName
    # The text by which the merchant finds the payment.
    reference: str
    # The transaction that took its place; null unless `kind` is `replaced`.
    replaced_by: Optional[str]
    # When it was first seen.
    seen_at: str
    # The symbol of what arrived; null for a token outside the catalogue.
    symbol: Optional[str]
    # The transaction that brought it, or was to bring it.
    tx_hash: str


class PaymentLink(TypedDict):
    """A page whose visitors create invoices of their merchant. Fields are only ever added."""

    # Null: all that the merchant accepts.
    accepted: Optional[List[str]]
    # False: the page takes no payments.
    active: bool
    # The button as HTML, to be pasted into a page. It needs no script. Empty for a till.
    button_html: str
    # The picture of a button (SVG) that leads to the page. `?lang=` chooses its language. Empty for
    # a till, to which no button leads.
    button_url: str
    # Where buyers are redirected once their invoice is cancelled or expired.
    cancel_url: Optional[str]
    created_at: str
    # Payments after which it ends; null for one without an end.
    cycles_max: Optional[int]
    # Shown below the title.
    description: Optional[str]
    # Of a till: true if its devices are enrolled with the PIN that you set, false if each chooses
    # its own. Null for other links.
    has_pin: Optional[bool]
    # Of a subscription; else null, and so are the next ones.
    interval: Optional[PaymentLinkInterval]
    # How many intervals lie between two payments.
    interval_count: Optional[int]
    # Where the signed IPNs of its invoices are posted.
    ipn_callback_url: Optional[str]
    # `pzl_` and 26 characters; never changes.
    link_id: str
    max_amount: Optional[Decimal]
    min_amount: Optional[Decimal]
    # The merchant's own reference, which all its invoices carry.
    order_id: Optional[str]
    # The price, or of a donation the proposed amount; null where visitors choose.
    price_amount: Optional[Decimal]
    # In lower case.
    price_currency: str
    # Seconds that a day takes in the sandbox; null where it takes a day.
    sandbox_day_seconds: Optional[int]
    # True: one payment uses the link up.
    single_use: bool
    # Where buyers are redirected once they have paid.
    success_url: Optional[str]
    suggested_amounts: List[Decimal]
    # Of a till: the time zone in which its day begins; null is UTC.
    time_zone: Optional[str]
    # The heading of the page and the description of its invoices.
    title: str
    # As it was created; never changes.
    type: PaymentLinkType
    updated_at: str
    # The page. Whoever has its address may open it.
    url: str


class PaymentLinkChanges(TypedDict, total=False):
    """Changes of a link. What is absent stays; null removes a value that need not be there. It
    describes the input of [`changes`]; nothing is read into it."""

    # The tokens (`code@network`) that new invoices may be paid in.
    accepted: Optional[List[str]]
    # False switches the link off. Its open invoices can still be paid.
    active: Optional[bool]
    cancel_url: Optional[str]
    # Shown below the title.
    description: Optional[str]
    ipn_callback_url: Optional[str]
    max_amount: Optional[Decimal]
    min_amount: Optional[Decimal]
    # Your own reference, which new invoices carry.
    order_id: Optional[str]
    # Of a till: the PIN of devices that are enrolled from now on; null leaves it to each of them.
    pin: Optional[str]
    # New invoices cost this; those that exist keep their price.
    price_amount: Optional[Decimal]
    # `usd`, `eur` or `gbp` in any case.
    price_currency: Optional[str]
    # True: one payment uses the link up.
    single_use: Optional[bool]
    success_url: Optional[str]
    suggested_amounts: Optional[List[Decimal]]
    # Of a till: the IANA name of the time zone in which its day begins; null is `UTC`.
    time_zone: Optional[str]
    # The heading of the page and the description of new invoices; one line.
    title: Optional[str]


class PaymentLinkList(TypedDict):
    """One page of links."""

    data: List[PaymentLink]
    # Links per page, after clamping.
    limit: int
    # 0-based, after clamping.
    page: int
    # Number of pages; at least 1, even if there are no entries.
    pagesCount: int
    # Links on all pages.
    total: int


class PaymentList(TypedDict):
    """One page of invoices, without unresolved drafts."""

    data: List[Payment]
    # Invoices per page, after clamping.
    limit: int
    # 0-based, after clamping.
    page: int
    # Number of pages; at least 1, even if there are no entries.
    pagesCount: int
    # Invoices on all pages.
    total: int


class PayoutBatch(TypedDict):
    """Recipients that are sent or reported together: on bitcoin, litecoin and dogecoin the outputs
    of one transaction, on EVM networks one transaction each, or one for many rows of a token."""

    # Sum of the requested amounts of its rows.
    amountRaw: str
    # When a node first accepted it.
    broadcastAt: Optional[str]
    # Confirmations of its transactions.
    confirmations: int
    # When it became final.
    confirmedAt: Optional[str]
    # Number of its rows that ended unpaid.
    failedCount: int
    # Network fees of its confirmed transactions, in the network's own coin.
    feeRaw: str
    # `mpb_…`
    id: str
    # From 0, in the order in which they are sent.
    index: int
    # Rows in it.
    itemCount: int
    # The last error, as text for people.
    lastError: Optional[str]
    # Earlier versions with lower fees; none of them can confirm beside the last one.
    replacedTxHashes: List[str]
    # Confirmations after which it is final.
    requiredConfirmations: int
    state: BatchStateName
    # Hash of its transaction, or of the first one if every recipient has a separate transaction.
    txHash: Optional[str]


class PayoutBatchList(TypedDict):
    """PayoutBatchList"""

    data: List[PayoutBatch]
    ok: bool


class PayoutItem(TypedDict):
    """One recipient of an order."""

    # As wallets and explorers write it.
    address: str
    # The same in whole coins.
    amount: str
    # The requested amount.
    amountRaw: str
    # The batch that it is sent with.
    batchId: str
    # For people: why it was not paid.
    error: Optional[str]
    # `mpi_…`
    id: str
    # The merchant's own note, as it was sent; it is not written to the chain.
    memo: Optional[str]
    # The amount that the recipient gets: the requested amount, less the fees if recipients bear
    # them.
    netAmountRaw: str
    # The merchant's own reference, as it was sent.
    reference: Optional[str]
    # In a CSV file the line number as a spreadsheet shows it, in JSON the position in `items`, from
    # 1.
    rowNumber: int
    state: ItemStateName
    # Hash of the transaction that pays it, or that failed to; null until one is signed.
    txHash: Optional[str]


class PayoutItemPage(TypedDict):
    """PayoutItemPage"""

    data: List[PayoutItem]
    # Entries per page, after clamping.
    limit: int
    ok: bool
    # 0-based, after clamping.
    page: int
    # Number of pages; at least 1, even if there are no entries.
    pagesCount: int
    # Entries on all pages.
    total: int


class PayoutOrder(TypedDict):
    """A mass payout as its merchant sees it. Fields are only ever added."""

    # Number of groups in which the rows are sent and reported.
    batchCount: int
    cancelledBy: Optional[Canceller]
    # Chain id of an EVM network; null on other networks.
    chainId: Optional[int]
    # When the merchant confirmed the order.
    confirmedAt: Optional[str]
    # Null for native coins.
    contractAddress: Optional[str]
    createdAt: str
    # The code of the currency that is paid out, as `GET /v1/currencies` lists it.
    currency: str
    # Decimal places of one whole coin.
    decimals: int
    # The order's own address; null until it is confirmed.
    depositAddress: Optional[str]
    # Expiry of the quote in a draft; afterwards the deadline for the deposit.
    expiresAt: str
    # Amount of the rows that ended unpaid; refunded at the end.
    failedRaw: str
    family: FamilyName
    feeMode: FeeBearer
    # When its state became final.
    finishedAt: Optional[str]
    # When the received amount became sufficient.
    fundedAt: Optional[str]
    fundingStatus: FundingStatus
    # True if the order is on hold: an operator must release it before anything more is sent.
    held: bool
    # `mpo_…` on bitcoin, litecoin and dogecoin, `empo_…` on EVM networks. Never changes.
    id: str
    # Number of recipients' rows.
    itemCount: int
    # The merchant's own text, as it was sent.
    label: Optional[str]
    # The batch that an event concerns, otherwise the last batch with any progress; null before the
    # first.
    lastBatch: Optional[PayoutBatch]
    # The merchant's own object, as it was sent.
    metadata: Optional[Dict[str, Any]]
    # Amount by which `receivedRaw` is too low.
    missingRaw: str
    network: NetworkName
    # Network fee in the quote.
    networkFeeRaw: str
    # Amount paid to recipients by final transactions.
    paidRaw: str
    # Sum of the requested amounts.
    payoutTotalRaw: str
    progress: PayoutProgress
    quote: PayoutQuote
    # Confirmed at `depositAddress` so far.
    receivedRaw: str
    # Refund of an ended order; null if there is nothing to refund.
    refund: Optional[PayoutRefund]
    # Address for refunds; without it a refund waits for manual handling.
    refundAddress: Optional[str]
    # Service fee in the quote.
    serviceFeeRaw: str
    standard: StandardName
    state: OrderState
    # Amount by which `receivedRaw` is too high; refunded at the end.
    surplusRaw: str
    # In upper case.
    symbol: str
    # Amount to send to `depositAddress`.
    totalToSendRaw: str
    # Time of the last change.
    updatedAt: str


class PayoutOrderAnswer(TypedDict):
    """PayoutOrderAnswer"""

    data: PayoutOrder
    ok: bool


class PayoutOrderPage(TypedDict):
    """PayoutOrderPage"""

    data: List[PayoutOrder]
    # Entries per page, after clamping.
    limit: int
    ok: bool
    # 0-based, after clamping.
    page: int
    # Number of pages; at least 1, even if there are no entries.
    pagesCount: int
    # Entries on all pages.
    total: int


class PayoutProgress(TypedDict):
    """Number of rows in each state."""

    # Accepted by a node.
    broadcasted: int
    # Paid by a final transaction.
    confirmed: int
    # Ended unpaid.
    failed: int
    # Nothing is signed yet.
    pending: int
    # Signed, and not yet accepted by a node.
    signing: int


class _PayoutQuoteRequired(TypedDict):
    # One whole coin of the paid currency, in US dollars.
    assetPriceUsd: str
    createdAt: str
    # After this time the quote must be refreshed before the order can be confirmed.
    expiresAt: str
    # Send it as `quoteId` to confirm exactly this quote.
    id: str
    # One whole coin of the network, in US dollars.
    nativePriceUsd: str
    # The same as in the order.
    networkFeeRaw: str
    # The same as in the order.
    serviceFeeRaw: str


class PayoutQuote(_PayoutQuoteRequired, total=False):
    """The price of an order, and how long it is valid."""

    # On bitcoin, litecoin and dogecoin: base units per virtual byte.
    feeRateSatVb: str
    # On EVM networks: wei per unit of gas.
    maxFeePerGasWei: str


class PayoutQuoted(TypedDict):
    """The quote of an order as it is now."""

    # The id to confirm this quote with.
    quoteId: str
    # The amount that would have to be sent.
    totalToSendRaw: str


class PayoutRefund(TypedDict):
    """Refund to the merchant."""

    # Null if none was given.
    address: Optional[str]
    amountRaw: str
    state: RefundState
    # Set once it is signed.
    txHash: Optional[str]


class PayoutRowFault(TypedDict):
    """One cell that cannot be used."""

    # The column by its name, or `row` for the row as a whole.
    column: str
    # For people.
    reason: str
    # In a CSV file the line number as a spreadsheet shows it, in JSON the position in `items`, from
    # 1.
    row: int
    # The beginning of the cell.
    value: str


class PayoutStanding(TypedDict):
    """The present state of an order."""

    state: OrderState


class _PayoutWebhookRequired(TypedDict):
    # Seconds since 1970, renewed at each attempt. Refuse events older than ten minutes.
    eventAt: int
    # `pzwe_…`, the same for all attempts: process each id only once.
    eventId: str
    eventType: EventName
    # The order as it was when the event happened.
    order: PayoutOrder


class PayoutWebhook(_PayoutWebhookRequired, total=False):
    """One event of one order. The fields are always in this order."""

    # Only in a test that the merchant asked for (`POST /v1/webhooks/test`).
    _gateway: TestMark


class Renewal(TypedDict):
    """The renewal that a reminder is about."""

    # The cycle to be paid.
    cycle: int
    # The day of the reminder relative to `next_renewal_at`, also if it is sent later.
    day_offset: int
    next_renewal_at: str
    # The subscriber's own page, where he renews or cancels. Send it to him and to nobody else.
    renewal_url: str


class SandboxAdvance(TypedDict):
    """Days to let pass."""

    # Whole days, 1 to 3660.
    days: int
    # The subscription whose clock is moved on.
    subscription_id: str


class SandboxDeposit(TypedDict):
    """A transaction on the simulated chain."""

    # The newest block now.
    head: int
    # Its block; null while it waits in the mempool.
    height: Optional[int]
    # The chain on which it is.
    network: NetworkName
    # False if this transaction was known before.
    new: bool
    # Its hash, as the deposit's `tx_hash` will be.
    txid: str


class SandboxExpiry(TypedDict):
    """The invoice whose window ends now."""

    # Its `payment_id`.
    payment_id: str


class Subscription(TypedDict):
    """A subscription. Fields are only ever added."""

    created_at: str
    # Payments after which it ends; null for one without an end.
    cycles_max: Optional[int]
    # `day`, `week`, `month` or `year`.
    interval: str
    # How many intervals lie between two payments.
    interval_count: int
    # The link on whose page it began.
    link_id: str
    # The end of that cycle; null once it is over.
    next_renewal_at: Optional[str]
    # Its own: a changed link changes new subscribers only.
    price_amount: Decimal
    # In lower case.
    price_currency: str
    # `active`, `past_due` (not paid three days after the renewal), `cancelled` or `ended` (its last
    # cycle is over). More may come.
    state: str
    # Not proven to be the subscriber's.
    subscriber_email: str
    # The newest cycle that is paid, from 1. A late payment covers the period it falls in, so
    # numbers may be skipped.
    subscription_cycle: int
    # `pzs_` and 26 characters; never changes.
    subscription_id: str
    updated_at: str


class SubscriptionList(TypedDict):
    """One page of subscriptions, the newest first. Each was paid at least once."""

    data: List[Subscription]
    # True if there are older ones: ask again with `after` = `next`.
    has_more: bool
    # The last one of this page; null if it is empty.
    next: Optional[str]


class TestMark(TypedDict):
    """Says that nothing happened: the body was made for a test."""

    # Always true.
    test: bool


class TillDevice(TypedDict):
    """A device of a till. Fields are only ever added."""

    created_at: str
    # `pzd_` and 26 characters; never changes.
    device_id: str
    # The code was used then; null before.
    enrolled_at: Optional[str]
    # Its name.
    name: str
    # It was revoked then; null if it was not.
    revoked_at: Optional[str]
    # Its last use, to the minute; null before the first.
    seen_at: Optional[str]
    # `waiting` for its code, `expired` without it, `enrolled`, `locked` by too many wrong PINs,
    # `revoked`.
    state: TillDeviceState


class TillDeviceList(TypedDict):
    """The devices of a till: those in use first, each group the newest first."""

    data: List[TillDevice]


class TillEnrolment(TypedDict):
    """A code that enrols one browser as a device."""

    # The code, shown this once. It enrols one browser.
    code: str
    # The code is good until then.
    code_expires_at: str
    # `pzd_` and 26 characters; never changes.
    device_id: str
    # The enrolment page with the code filled in, to be opened on the device or shown to its camera
    # as a QR code. It is as secret as the code.
    enrol_url: str
    # Its name.
    name: str


class _WebhookTestRequired(TypedDict):
    # A type of event that has a webhook.
    type: str


class WebhookTest(_WebhookTestRequired, total=False):
    """A test of a receiver. Members that are not listed are ignored. It describes the input of
    [`send`]; nothing is read into it."""

    # Where the sample is sent. Absent: where the last webhook of this channel went, else the
    # merchant's payout webhook URL for a payout's.
    url: Optional[str]


class WebhookTestResult(TypedDict):
    """What the receiver said."""

    # Milliseconds until the answer, or until it was given up.
    duration_ms: int
    # For people: why it was not taken; null if it was.
    error: Optional[str]
    # Of the sample. `GET /v1/events` does not list it.
    event_id: str
    # The first characters of the answer's body.
    excerpt: Optional[str]
    # True if it answered 2xx, which takes an event.
    ok: bool
    # HTTP status of the answer; null if there was none.
    status: Optional[int]
    # Where it was sent.
    url: str


class PaymentDetail(Payment, total=False):
    """A payment object, and on an unresolved draft the currencies that may be chosen."""

    # Present only on an unresolved draft, also after it was abandoned: the currencies that its
    # buyer may choose.
    accepted_currencies: Optional[List[AcceptedCurrency]]


class _PaymentIpnRequired(Payment):
    # Seconds since 1970, renewed at each attempt. Refuse deliveries older than ten minutes.
    event_at: int
    # Stable across all attempts and deliveries of this event. Other events of the same payment have
    # other ids, so this id cannot show that an order was fulfilled already: store `payment_id` with
    # `payment_status` for that.
    event_id: str


class PaymentIpn(_PaymentIpnRequired, total=False):
    """The body of an IPN, for the API's description: [`body`] writes it from the stored snapshot."""

    # Present only on donations, on notices and on reminders of a renewal.
    _gateway: Optional[IpnPart]


class PaymentNotice(PaymentIpn):
    """The body of an informational IPN. `payment_status` is the present status of the invoice: a
    notice is not a status change, and goods must not be shipped because of it."""

    _gateway: NoticePart


# Content according to `kind`.
NcPayload = Union[List[NcTransaction], str]
