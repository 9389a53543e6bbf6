<?php

// Made by sdk/generate.py from api/openapi.json; do not edit.

declare(strict_types=1);

namespace Gateway\Sdk;

/**
 * Shapes of the API's arrays, for `@phpstan-import-type` and editors. Amounts are exact decimal
 * strings. Ignore keys and values that you do not know; more may come.
 *
 * @phpstan-type NcPayload list<NcTransaction>|string
 * @phpstan-type AcceptedCurrency array{
 *   currency: string,
 *   estimated_amount: string|null,
 *   min_usd: string,
 *   network: string,
 *   standard: string,
 *   token_id: string,
 * }
 * @phpstan-type Alive array{
 *   message: string,
 * }
 * @phpstan-type Balance array{
 *   balances: list<BalanceEntry>,
 *   fiat_currency: string,
 * }
 * @phpstan-type BalanceEntry array{
 *   available: string,
 *   currency: string,
 *   fiat_estimate: string|null,
 *   foreign: string,
 *   in_payouts: string,
 *   late: string,
 *   network: string,
 *   pending: string,
 *   symbol: string,
 * }
 * @phpstan-type BuyerStatus array{
 *   accepted_currencies?: list<AcceptedCurrency>|null,
 *   amount_due: string|null,
 *   amount_received: string|null,
 *   amount_remaining: string|null,
 *   amount_unconfirmed: string|null,
 *   cancellable: bool,
 *   confirmations: int|null,
 *   contract_address: string|null,
 *   created_at: string,
 *   expires_at: string,
 *   happened?: list<PaymentHappening>,
 *   invoice_type: string,
 *   is_draft: bool,
 *   network: string|null,
 *   order_description: string|null,
 *   pay_address: string|null,
 *   pay_currency: string|null,
 *   payment_id: string,
 *   payment_uri: string|null,
 *   price_amount: string,
 *   price_currency: string,
 *   redirect_url: string|null,
 *   required_confirmations: int|null,
 *   seconds_left: int,
 *   standard: string|null,
 *   status: string,
 *   symbol: string|null,
 *   tx_hashes: list<string>,
 *   updated_at: string,
 * }
 * @phpstan-type ConfirmPayout array{
 *   acceptTotalRaw?: string|null,
 *   quoteId?: string|null,
 * }
 * @phpstan-type Currencies array{
 *   currencies: list<string>,
 *   currencies_detailed: list<CurrencyEntry>,
 *   fiat_currencies: list<string>,
 * }
 * @phpstan-type CurrencyEntry array{
 *   chain: string,
 *   chain_name: string,
 *   code: string,
 *   confirmations: int,
 *   contract_address: string|null,
 *   decimals: int,
 *   explorer_address_url: string|null,
 *   explorer_tx_url: string|null,
 *   min_amount_usd: string,
 *   name: string,
 *   standard: string,
 *   symbol: string,
 * }
 * @phpstan-type Donation array{
 *   anonymous: bool,
 *   donor_email: string|null,
 *   donor_name: string|null,
 *   link_id: string,
 *   message: string|null,
 *   suggested_amount: string|null,
 *   suggested_currency: string|null,
 * }
 * @phpstan-type Estimate array{
 *   amount_from: string,
 *   below_minimum: bool|null,
 *   currency_from: string,
 *   currency_to: string,
 *   estimated_amount: string,
 *   min_amount_usd: string,
 * }
 * @phpstan-type Event array{
 *   created_at: string,
 *   delivery: EventDelivery|null,
 *   event_id: string,
 *   payload: array<string, mixed>,
 *   resource_id: string,
 *   type: string,
 * }
 * @phpstan-type EventAttempt array{
 *   attempt: int,
 *   cycle: int,
 *   duration_ms: int,
 *   error: string|null,
 *   excerpt: string|null,
 *   started_at: string,
 *   status: int|null,
 * }
 * @phpstan-type EventDelivery array{
 *   attempts?: list<EventAttempt>,
 *   attempts_made: int,
 *   channel: string,
 *   cycle: int,
 *   last_error: string|null,
 *   last_status: int|null,
 *   next_attempt_at: string|null,
 *   state: string,
 *   url: string,
 * }
 * @phpstan-type EventPage array{
 *   data: list<Event>,
 *   has_more: bool,
 *   next: string|null,
 * }
 * @phpstan-type EventsResent array{
 *   event_ids: list<string>,
 *   has_more: bool,
 *   next: string|null,
 *   resent: int,
 * }
 * @phpstan-type IpnPart array{
 *   donation?: Donation|null,
 *   renewal?: Renewal|null,
 * }
 * @phpstan-type MinAmount array{
 *   currency_from: string,
 *   currency_to: string,
 *   min_amount: string,
 *   min_amount_usd: string,
 * }
 * @phpstan-type NcFields array{
 *   chainId: string,
 *   data: string,
 *   from: string,
 *   gas: string,
 *   maxFeePerGas: string,
 *   maxPriorityFeePerGas: string,
 *   nonce: string,
 *   to: string,
 *   type: string,
 *   value: string,
 * }
 * @phpstan-type NcInput array{
 *   amountRaw: string,
 *   txid: string,
 *   vout: int,
 * }
 * @phpstan-type NcInputFault array{
 *   input: string,
 *   reason: string,
 * }
 * @phpstan-type NcLack array{
 *   hasRaw: string,
 *   needsRaw: string,
 * }
 * @phpstan-type NcOtherField array{
 *   built: string,
 *   field: string,
 *   signed: string,
 * }
 * @phpstan-type NcOutput array{
 *   address: string,
 *   amount: string,
 *   amountRaw: string,
 *   confirmations: int,
 *   error: string|null,
 *   feeRaw: string|null,
 *   nonce: int|null,
 *   reference: string|null,
 *   state: string,
 *   txHash: string|null,
 * }
 * @phpstan-type NcOutputFault array{
 *   field: string,
 *   output: int,
 *   reason: string,
 *   value: string,
 * }
 * @phpstan-type NcPayout array{
 *   chainId: int|null,
 *   changeRaw: string|null,
 *   confirmations: int,
 *   contractAddress: string|null,
 *   createdAt: string,
 *   currency: string,
 *   decimals: int,
 *   endedAt: string|null,
 *   expiresAt: string,
 *   feeLevel: string,
 *   fromAddress: string,
 *   id: string,
 *   inputs: list<NcInput>,
 *   network: string,
 *   networkFeeCurrency: string,
 *   networkFeePaidRaw: string,
 *   networkFeeRaw: string,
 *   outputs: list<NcOutput>,
 *   requiredConfirmations: int,
 *   state: string,
 *   submittedAt: string|null,
 *   symbol: string,
 *   totalRaw: string,
 *   txHashes: list<string>,
 *   unsigned: NcUnsigned|null,
 *   updatedAt: string,
 * }
 * @phpstan-type NcPayoutAnswer array{
 *   data: NcPayout,
 *   ok: bool,
 * }
 * @phpstan-type NcPayoutPage array{
 *   data: list<NcPayout>,
 *   limit: int,
 *   ok: bool,
 *   page: int,
 *   pagesCount: int,
 *   total: int,
 * }
 * @phpstan-type NcRefresh array{
 *   feeLevel?: string|null,
 * }
 * @phpstan-type NcStanding array{
 *   state: string,
 * }
 * @phpstan-type NcSubmission array{
 *   signed: list<string>,
 * }
 * @phpstan-type NcTransaction array{
 *   output: int,
 *   serialized: string,
 *   signingHash: string,
 *   transaction: NcFields,
 * }
 * @phpstan-type NcUnsigned array{
 *   expiresAt: string,
 *   kind: string,
 *   payload: NcPayload,
 * }
 * @phpstan-type NewEventsResend array{
 *   after?: string|null,
 *   from?: string|null,
 *   state?: string|null,
 *   to?: string|null,
 *   type?: string|null,
 * }
 * @phpstan-type NewNcInput array{
 *   txid: string,
 *   vout: int,
 * }
 * @phpstan-type NewNcOutput array{
 *   address: string,
 *   amount?: string|null,
 *   amountRaw?: string|null,
 *   reference?: string|null,
 * }
 * @phpstan-type NewNcPayout array{
 *   currency: string,
 *   feeLevel?: string|null,
 *   fromAddress: string,
 *   inputs?: list<NewNcInput>|null,
 *   network: string,
 *   outputs: list<NewNcOutput>,
 * }
 * @phpstan-type NewPayment array{
 *   cancel_url?: string|null,
 *   ipn_callback_url?: string|null,
 *   network?: string|null,
 *   order_description?: string|null,
 *   order_id?: string|null,
 *   pay_currency: string,
 *   price_amount: string,
 *   price_currency: string,
 *   pricing_mode?: string|null,
 *   purchase_id?: mixed|null,
 *   success_url?: string|null,
 * }
 * @phpstan-type NewPaymentLink array{
 *   accepted?: list<string>|null,
 *   cancel_url?: string|null,
 *   cycles_max?: int|null,
 *   description?: string|null,
 *   interval?: string|null,
 *   interval_count?: int|null,
 *   ipn_callback_url?: string|null,
 *   max_amount?: string|null,
 *   min_amount?: string|null,
 *   order_id?: string|null,
 *   pin?: string|null,
 *   price_amount?: string|null,
 *   price_currency: string,
 *   sandbox_day_seconds?: int|null,
 *   single_use?: bool|null,
 *   success_url?: string|null,
 *   suggested_amounts?: list<string>|null,
 *   time_zone?: string|null,
 *   title: string,
 *   type: string,
 * }
 * @phpstan-type NewPayout array{
 *   callbackUrl?: string|null,
 *   csv?: string|null,
 *   currency: string,
 *   feeMode?: string|null,
 *   items?: list<NewPayoutItem>|null,
 *   label?: string|null,
 *   metadata?: array<string, mixed>|null,
 *   network: string,
 *   refundAddress?: string|null,
 * }
 * @phpstan-type NewPayoutItem array{
 *   address: string,
 *   amount?: string|null,
 *   amountRaw?: string|null,
 *   memo?: string|null,
 *   reference?: string|null,
 * }
 * @phpstan-type NewSandboxDeposit array{
 *   address?: string|null,
 *   amount: string,
 *   currency?: string|null,
 *   network?: string|null,
 *   payment_id?: string|null,
 *   txid?: string|null,
 *   unconfirmed?: bool|null,
 * }
 * @phpstan-type NewTillDevice array{
 *   name: string,
 * }
 * @phpstan-type Notice array{
 *   amount: string,
 *   amount_unit: string,
 *   contract_address: string|null,
 *   currency: string|null,
 *   deposit_key: string,
 *   log_index: int|null,
 *   network: string,
 *   received_at: string,
 *   tx_hash: string,
 *   type: string,
 * }
 * @phpstan-type NoticePart array{
 *   donation?: Donation|null,
 *   notice: Notice,
 * }
 * @phpstan-type Payment array{
 *   actually_paid: string,
 *   amount_received: string,
 *   burning_percent: null,
 *   created_at: string,
 *   expiration_estimate_date: string,
 *   invoice_type: string,
 *   invoice_url: string|null,
 *   ipn_callback_url: string|null,
 *   network: string|null,
 *   network_precision: int|null,
 *   next_renewal_at: string|null,
 *   order_description: string|null,
 *   order_id: string|null,
 *   pay_address: string|null,
 *   pay_amount: string|null,
 *   pay_currency: string|null,
 *   payin_extra_id: null,
 *   payment_id: string,
 *   payment_status: string,
 *   price_amount: string,
 *   price_currency: string,
 *   purchase_id: string,
 *   smart_contract: string|null,
 *   subscriber_email: string|null,
 *   subscription_cycle: int|null,
 *   time_limit: string,
 *   updated_at: string,
 * }
 * @phpstan-type PaymentDeposit array{
 *   amount: string,
 *   amount_unit: string,
 *   booked_as: string|null,
 *   confirmations: int,
 *   contract_address: string|null,
 *   currency: string|null,
 *   explorer_url: string|null,
 *   fiat_currency: string|null,
 *   fiat_value: string|null,
 *   final_at: string|null,
 *   first_seen_at: string,
 *   network: string,
 *   required_confirmations: int,
 *   state: string,
 *   tx_hash: string,
 * }
 * @phpstan-type PaymentDeposits array{
 *   data: list<PaymentDeposit>,
 *   has_more: bool,
 *   limit: int,
 * }
 * @phpstan-type PaymentHappening array{
 *   advice: string,
 *   amount: string|null,
 *   explorer_url: string|null,
 *   fate: string,
 *   kind: string,
 *   network: string,
 *   reference: string,
 *   replaced_by: string|null,
 *   seen_at: string,
 *   symbol: string|null,
 *   tx_hash: string,
 * }
 * @phpstan-type PaymentLink array{
 *   accepted: list<string>|null,
 *   active: bool,
 *   button_html: string,
 *   button_url: string,
 *   cancel_url: string|null,
 *   created_at: string,
 *   cycles_max: int|null,
 *   description: string|null,
 *   has_pin: bool|null,
 *   interval: string|null,
 *   interval_count: int|null,
 *   ipn_callback_url: string|null,
 *   link_id: string,
 *   max_amount: string|null,
 *   min_amount: string|null,
 *   order_id: string|null,
 *   price_amount: string|null,
 *   price_currency: string,
 *   sandbox_day_seconds: int|null,
 *   single_use: bool,
 *   success_url: string|null,
 *   suggested_amounts: list<string>,
 *   time_zone: string|null,
 *   title: string,
 *   type: string,
 *   updated_at: string,
 *   url: string,
 * }
 * @phpstan-type PaymentLinkChanges array{
 *   accepted?: list<string>|null,
 *   active?: bool|null,
 *   cancel_url?: string|null,
 *   description?: string|null,
 *   ipn_callback_url?: string|null,
 *   max_amount?: string|null,
 *   min_amount?: string|null,
 *   order_id?: string|null,
 *   pin?: string|null,
 *   price_amount?: string|null,
 *   price_currency?: string|null,
 *   single_use?: bool|null,
 *   success_url?: string|null,
 *   suggested_amounts?: list<string>|null,
 *   time_zone?: string|null,
 *   title?: string|null,
 * }
 * @phpstan-type PaymentLinkList array{
 *   data: list<PaymentLink>,
 *   limit: int,
 *   page: int,
 *   pagesCount: int,
 *   total: int,
 * }
 * @phpstan-type PaymentList array{
 *   data: list<Payment>,
 *   limit: int,
 *   page: int,
 *   pagesCount: int,
 *   total: int,
 * }
 * @phpstan-type PayoutBatch array{
 *   amountRaw: string,
 *   broadcastAt: string|null,
 *   confirmations: int,
 *   confirmedAt: string|null,
 *   failedCount: int,
 *   feeRaw: string,
 *   id: string,
 *   index: int,
 *   itemCount: int,
 *   lastError: string|null,
 *   replacedTxHashes: list<string>,
 *   requiredConfirmations: int,
 *   state: string,
 *   txHash: string|null,
 * }
 * @phpstan-type PayoutBatchList array{
 *   data: list<PayoutBatch>,
 *   ok: bool,
 * }
 * @phpstan-type PayoutItem array{
 *   address: string,
 *   amount: string,
 *   amountRaw: string,
 *   batchId: string,
 *   error: string|null,
 *   id: string,
 *   memo: string|null,
 *   netAmountRaw: string,
 *   reference: string|null,
 *   rowNumber: int,
 *   state: string,
 *   txHash: string|null,
 * }
 * @phpstan-type PayoutItemPage array{
 *   data: list<PayoutItem>,
 *   limit: int,
 *   ok: bool,
 *   page: int,
 *   pagesCount: int,
 *   total: int,
 * }
 * @phpstan-type PayoutOrder array{
 *   batchCount: int,
 *   cancelledBy: string|null,
 *   chainId: int|null,
 *   confirmedAt: string|null,
 *   contractAddress: string|null,
 *   createdAt: string,
 *   currency: string,
 *   decimals: int,
 *   depositAddress: string|null,
 *   expiresAt: string,
 *   failedRaw: string,
 *   family: string,
 *   feeMode: string,
 *   finishedAt: string|null,
 *   fundedAt: string|null,
 *   fundingStatus: string,
 *   held: bool,
 *   id: string,
 *   itemCount: int,
 *   label: string|null,
 *   lastBatch: PayoutBatch|null,
 *   metadata: array<string, mixed>|null,
 *   missingRaw: string,
 *   network: string,
 *   networkFeeRaw: string,
 *   paidRaw: string,
 *   payoutTotalRaw: string,
 *   progress: PayoutProgress,
 *   quote: PayoutQuote,
 *   receivedRaw: string,
 *   refund: PayoutRefund|null,
 *   refundAddress: string|null,
 *   serviceFeeRaw: string,
 *   standard: string,
 *   state: string,
 *   surplusRaw: string,
 *   symbol: string,
 *   totalToSendRaw: string,
 *   updatedAt: string,
 * }
 * @phpstan-type PayoutOrderAnswer array{
 *   data: PayoutOrder,
 *   ok: bool,
 * }
 * @phpstan-type PayoutOrderPage array{
 *   data: list<PayoutOrder>,
 *   limit: int,
 *   ok: bool,
 *   page: int,
 *   pagesCount: int,
 *   total: int,
 * }
 * @phpstan-type PayoutProgress array{
 *   broadcasted: int,
 *   confirmed: int,
 *   failed: int,
 *   pending: int,
 *   signing: int,
 * }
 * @phpstan-type PayoutQuote array{
 *   assetPriceUsd: string,
 *   createdAt: string,
 *   expiresAt: string,
 *   feeRateSatVb?: string,
 *   id: string,
 *   maxFeePerGasWei?: string,
 *   nativePriceUsd: string,
 *   networkFeeRaw: string,
 *   serviceFeeRaw: string,
 * }
 * @phpstan-type PayoutQuoted array{
 *   quoteId: string,
 *   totalToSendRaw: string,
 * }
 * @phpstan-type PayoutRefund array{
 *   address: string|null,
 *   amountRaw: string,
 *   state: string,
 *   txHash: string|null,
 * }
 * @phpstan-type PayoutRowFault array{
 *   column: string,
 *   reason: string,
 *   row: int,
 *   value: string,
 * }
 * @phpstan-type PayoutStanding array{
 *   state: string,
 * }
 * @phpstan-type PayoutWebhook array{
 *   _gateway?: TestMark,
 *   eventAt: int,
 *   eventId: string,
 *   eventType: string,
 *   order: PayoutOrder,
 * }
 * @phpstan-type Renewal array{
 *   cycle: int,
 *   day_offset: int,
 *   next_renewal_at: string,
 *   renewal_url: string,
 * }
 * @phpstan-type SandboxAdvance array{
 *   days: int,
 *   subscription_id: string,
 * }
 * @phpstan-type SandboxDeposit array{
 *   head: int,
 *   height: int|null,
 *   network: string,
 *   new: bool,
 *   txid: string,
 * }
 * @phpstan-type SandboxExpiry array{
 *   payment_id: string,
 * }
 * @phpstan-type Subscription array{
 *   created_at: string,
 *   cycles_max: int|null,
 *   interval: string,
 *   interval_count: int,
 *   link_id: string,
 *   next_renewal_at: string|null,
 *   price_amount: string,
 *   price_currency: string,
 *   state: string,
 *   subscriber_email: string,
 *   subscription_cycle: int,
 *   subscription_id: string,
 *   updated_at: string,
 * }
 * @phpstan-type SubscriptionList array{
 *   data: list<Subscription>,
 *   has_more: bool,
 *   next: string|null,
 * }
 * @phpstan-type TestMark array{
 *   test: bool,
 * }
 * @phpstan-type TillDevice array{
 *   created_at: string,
 *   device_id: string,
 *   enrolled_at: string|null,
 *   name: string,
 *   revoked_at: string|null,
 *   seen_at: string|null,
 *   state: string,
 * }
 * @phpstan-type TillDeviceList array{
 *   data: list<TillDevice>,
 * }
 * @phpstan-type TillEnrolment array{
 *   code: string,
 *   code_expires_at: string,
 *   device_id: string,
 *   enrol_url: string,
 *   name: string,
 * }
 * @phpstan-type WebhookTest array{
 *   type: string,
 *   url?: string|null,
 * }
 * @phpstan-type WebhookTestResult array{
 *   duration_ms: int,
 *   error: string|null,
 *   event_id: string,
 *   excerpt: string|null,
 *   ok: bool,
 *   status: int|null,
 *   url: string,
 * }
 * @phpstan-type PaymentDetail array{
 *   actually_paid: string,
 *   amount_received: string,
 *   burning_percent: null,
 *   created_at: string,
 *   expiration_estimate_date: string,
 *   invoice_type: string,
 *   invoice_url: string|null,
 *   ipn_callback_url: string|null,
 *   network: string|null,
 *   network_precision: int|null,
 *   next_renewal_at: string|null,
 *   order_description: string|null,
 *   order_id: string|null,
 *   pay_address: string|null,
 *   pay_amount: string|null,
 *   pay_currency: string|null,
 *   payin_extra_id: null,
 *   payment_id: string,
 *   payment_status: string,
 *   price_amount: string,
 *   price_currency: string,
 *   purchase_id: string,
 *   smart_contract: string|null,
 *   subscriber_email: string|null,
 *   subscription_cycle: int|null,
 *   time_limit: string,
 *   updated_at: string,
 *   accepted_currencies?: list<AcceptedCurrency>|null,
 * }
 * @phpstan-type PaymentIpn array{
 *   actually_paid: string,
 *   amount_received: string,
 *   burning_percent: null,
 *   created_at: string,
 *   expiration_estimate_date: string,
 *   invoice_type: string,
 *   invoice_url: string|null,
 *   ipn_callback_url: string|null,
 *   network: string|null,
 *   network_precision: int|null,
 *   next_renewal_at: string|null,
 *   order_description: string|null,
 *   order_id: string|null,
 *   pay_address: string|null,
 *   pay_amount: string|null,
 *   pay_currency: string|null,
 *   payin_extra_id: null,
 *   payment_id: string,
 *   payment_status: string,
 *   price_amount: string,
 *   price_currency: string,
 *   purchase_id: string,
 *   smart_contract: string|null,
 *   subscriber_email: string|null,
 *   subscription_cycle: int|null,
 *   time_limit: string,
 *   updated_at: string,
 *   _gateway?: IpnPart|null,
 *   event_at: int,
 *   event_id: string,
 * }
 * @phpstan-type PaymentNotice array{
 *   actually_paid: string,
 *   amount_received: string,
 *   burning_percent: null,
 *   created_at: string,
 *   expiration_estimate_date: string,
 *   invoice_type: string,
 *   invoice_url: string|null,
 *   ipn_callback_url: string|null,
 *   network: string|null,
 *   network_precision: int|null,
 *   next_renewal_at: string|null,
 *   order_description: string|null,
 *   order_id: string|null,
 *   pay_address: string|null,
 *   pay_amount: string|null,
 *   pay_currency: string|null,
 *   payin_extra_id: null,
 *   payment_id: string,
 *   payment_status: string,
 *   price_amount: string,
 *   price_currency: string,
 *   purchase_id: string,
 *   smart_contract: string|null,
 *   subscriber_email: string|null,
 *   subscription_cycle: int|null,
 *   time_limit: string,
 *   updated_at: string,
 *   _gateway?: IpnPart|null,
 *   event_at: int,
 *   event_id: string,
 *   _gateway: NoticePart,
 * }
 */
final class Contract
{
    /** Fields that are JSON numbers on the wire and exact decimal strings here. */
    public const AMOUNT_FIELDS = [
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
    ];

    /** Codes of errors that this release knows; treat another as INTERNAL_ERROR. */
    public const ERROR_CODES = [
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
    ];
}
