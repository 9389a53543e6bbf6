//! All settings by name, with their values. Each struct is taken apart to its last field, so that
//! a new setting does not compile before it has a row.

use super::{
    Addresses, Api, Broker, ChainSourceKind, Checkout, Config, Dashboard, Exports, Legacy, Mail,
    PayoutAccounts, Payouts, Reconciliation, Telemetry, Treasury, Worker, X402,
    chains::ChainOverride,
    value::{Show, Shown, entry},
};
use crate::{
    asset::{Family, Network},
    egress::guard::PublicPolicy,
    rate::RateConfig,
    x402::token_of,
};

/// A setting with its value.
pub(super) struct Row {
    /// The name in the file: `api.listen`.
    pub key: String,
    pub value: Shown,
    /// Its type is secret, whatever the value.
    pub is_secret: bool,
}

fn row<T: Show>(key: String, value: &T) -> Row {
    let value = value.show().of_setting(&key);
    Row { key, value, is_secret: T::SECRET }
}

macro_rules! rows {
    ($rows:ident, $section:expr, $($key:ident),+ $(,)?) => {
        $($rows.push(row(format!("{}{}", $section, stringify!($key)), $key));)+
    };
}

macro_rules! section {
    ($rows:ident, $section:expr, $value:expr => $type:ident { $($key:ident),+ $(,)? }) => {{
        let $type { $($key),+ } = $value;
        rows!($rows, $section, $($key),+);
    }};
}

impl Config {
    /// Every setting but those of networks, in the order of `default.toml`.
    pub(super) fn rows(&self) -> Vec<Row> {
        let Self {
            profile,
            database_url,
            database_direct_url,
            database_connections_max,
            amqp_url,
            master_key,
            master_key_old,
            cold_seed_key,
            base_url,
            checkout_url,
            dashboard_url,
            api,
            checkout,
            dashboard,
            worker,
            broker,
            egress,
            rates,
            addresses,
            telemetry,
            payouts,
            legacy,
            mail,
            x402,
            exports,
            reconciliation,
            treasury,
            chains: _,
        } = self;
        let mut rows = Vec::new();
        rows!(rows, "", profile, database_url, database_direct_url, database_connections_max);
        rows!(rows, "", amqp_url, master_key, master_key_old, cold_seed_key);
        rows!(rows, "", base_url, checkout_url, dashboard_url);
        of_listeners(&mut rows, api, checkout, dashboard, worker);
        section!(rows, "broker.", broker => Broker {
            prefix, management_url, vhost, ipn_wait_ms, payout_webhook_wait_ms,
            application_password, operator_password, topology_password,
        });
        section!(rows, "egress.", egress => PublicPolicy { allow_private, denied_ports });
        section!(rows, "rates.", rates => RateConfig {
            providers, refresh_s, stale_s, provider_deadline_ms, disagree_bps, jump_bps,
            kraken_url, coinbase_url, binance_url, coingecko_url, coingecko_key,
        });
        section!(rows, "telemetry.", telemetry => Telemetry { otlp_url });
        of_payouts(&mut rows, payouts, self.payouts_enabled());
        section!(rows, "legacy.", legacy => Legacy { addresses_max, pooled_addresses_max });
        section!(rows, "mail.", mail => Mail {
            enabled, server, security, from, user, password, ca_file, per_address_day,
            per_link_day,
        });
        of_x402(&mut rows, x402);
        section!(rows, "exports.", exports => Exports { database_url });
        section!(rows, "reconciliation.", reconciliation => Reconciliation {
            addresses_per_minute, scan_minutes, deficits,
        });
        of_treasury(&mut rows, treasury);
        of_addresses(&mut rows, addresses);
        rows
    }

    /// The settings of one network as they take effect, common practice included.
    pub(super) fn chain_rows(&self, network: Network) -> Vec<Row> {
        let given = self.chains.get(network.name()).cloned().unwrap_or_default();
        let chain = self.chain(network);
        let head_age_max = chain.head_age_max.map_or(0, |age| age.num_seconds());
        let effective = ChainOverride {
            source: Some(chain.source),
            rpc_url: given.rpc_url,
            rpc_header: given.rpc_header,
            state_url: given.state_url,
            state_header: given.state_header,
            witnesses: given.witnesses,
            witness_headers: given.witness_headers,
            chain_id: given.chain_id,
            genesis: given.genesis,
            multisend: given.multisend,
            confirmations: Some(chain.confirmations),
            large_amount_usd: Some(chain.large_amount_usd),
            large_confirmations: Some(chain.large_confirmations),
            poll_ms: u64::try_from(chain.poll.as_millis()).ok(),
            watch_grace_seconds: Some(chain.watch_grace.num_seconds()),
            head_age_max_seconds: Some(head_age_max),
            confirm_hold_seconds: Some(chain.confirm_hold.num_seconds()),
            vanished_hold_seconds: Some(chain.vanished_hold.num_seconds()),
            fee_rate: u64::try_from(chain.fee_rate).ok(),
            fee_rate_max: u64::try_from(chain.fee_rate_max).ok(),
        };
        let mut rows = Vec::new();
        section!(rows, format!("chains.{network}."), &effective => ChainOverride {
            source, rpc_url, rpc_header, state_url, state_header, witnesses, witness_headers,
            chain_id, genesis, multisend, confirmations, large_amount_usd, large_confirmations,
            poll_ms, watch_grace_seconds, head_age_max_seconds, confirm_hold_seconds,
            vanished_hold_seconds, fee_rate, fee_rate_max,
        });
        rows
    }

    pub(super) fn has_node(&self, network: Network) -> bool {
        self.chain(network).source == ChainSourceKind::Node
    }
}

/// Every setting, those of all networks included.
pub(super) fn all(config: &Config) -> impl Iterator<Item = Row> {
    let chains = Network::ALL.into_iter().flat_map(|network| config.chain_rows(network));
    config.rows().into_iter().chain(chains)
}

fn of_listeners(
    rows: &mut Vec<Row>,
    api: &Api,
    checkout: &Checkout,
    dashboard: &Dashboard,
    worker: &Worker,
) {
    section!(rows, "api.", api => Api {
        listen, metrics_listen, trusted_proxies, connections_max, header_timeout_seconds,
        idle_timeout_seconds, request_timeout_seconds,
    });
    section!(rows, "checkout.", checkout => Checkout { listen });
    section!(rows, "dashboard.", dashboard => Dashboard { listen, metrics_listen, allow_http });
    section!(rows, "worker.", worker => Worker {
        metrics_listen, drain_seconds, deliveries_in_flight, slow_deliveries_in_flight,
    });
}

fn of_payouts(rows: &mut Vec<Row>, payouts: &Payouts, enabled: bool) {
    let Payouts {
        // The profile decides where nothing is set.
        enabled: _,
        networks,
        service_fee_bps,
        quote_seconds,
        funding_seconds,
        signing_seconds,
        transaction_usd_max,
        hour_usd_max,
        day_usd_max,
        merchant_hour_usd_max,
        merchant_day_usd_max,
        open_orders_max,
        gas_day_usd_max,
        two_people_above_usd,
        seed_file,
        earlier_seed_file,
        accounts,
        seed_key,
    } = payouts;
    let (section, enabled) = ("payouts.", &enabled);
    rows!(rows, section, enabled, networks, service_fee_bps, quote_seconds, funding_seconds);
    rows!(rows, section, signing_seconds, transaction_usd_max, hour_usd_max, day_usd_max);
    rows!(rows, section, merchant_hour_usd_max, merchant_day_usd_max, open_orders_max);
    rows!(rows, section, gas_day_usd_max, two_people_above_usd);
    rows!(rows, section, seed_file, earlier_seed_file, seed_key);
    section!(rows, "payouts.accounts.", accounts => PayoutAccounts {
        bitcoin, litecoin, dogecoin, evm, gas,
    });
}

fn of_x402(rows: &mut Vec<Row>, x402: &X402) {
    let X402 {
        enabled,
        networks,
        minimum_usd,
        minimum_usd_default,
        gas_transaction_usd_max,
        gas_hour_usd_max,
        gas_day_usd_max,
        settle_wait_seconds,
        open_settlements_max,
        requests_per_second,
        seed_file,
        account,
        seed_key,
    } = x402;
    rows!(rows, "x402.", enabled, networks, minimum_usd_default, gas_transaction_usd_max);
    rows!(rows, "x402.", gas_hour_usd_max, gas_day_usd_max, settle_wait_seconds);
    rows!(rows, "x402.", open_settlements_max, requests_per_second);
    rows!(rows, "x402.", seed_file, account, seed_key);
    for network in Network::ALL.into_iter().filter(|network| token_of(*network).is_some()) {
        let key = format!("x402.minimum_usd.{network}");
        let value = entry(minimum_usd, network.name());
        rows.push(Row { key, value, is_secret: false });
    }
}

fn of_treasury(rows: &mut Vec<Row>, treasury: &Treasury) {
    let Treasury {
        bitcoin,
        litecoin,
        dogecoin,
        ethereum,
        polygon,
        bsc,
        arbitrum,
        optimism,
        base,
        avalanche,
        gas_payer,
        fee_percent_max,
        token_fee_max,
    } = treasury;
    rows!(rows, "treasury.", bitcoin, litecoin, dogecoin, ethereum, polygon, bsc, arbitrum);
    rows!(rows, "treasury.", optimism, base, avalanche, gas_payer, fee_percent_max);
    for network in Treasury::of_tokens() {
        let key = format!("treasury.token_fee_max.{network}");
        rows.push(Row { key, value: entry(token_fee_max, network), is_secret: false });
    }
}

fn of_addresses(rows: &mut Vec<Row>, addresses: &Addresses) {
    let Addresses {
        bitcoin,
        litecoin,
        dogecoin,
        evm,
        tron,
        thorchain,
        ton,
        pool_signer,
        pool_low,
        expected_first_address,
    } = addresses;
    rows!(rows, "addresses.", bitcoin, litecoin, dogecoin, evm, tron, thorchain, ton);
    rows!(rows, "addresses.", pool_signer, pool_low);
    for family in Family::ALL.map(Family::name) {
        let key = format!("addresses.expected_first_address.{family}");
        let value = entry(expected_first_address, family);
        rows.push(Row { key, value, is_secret: false });
    }
}
