//! One order on a new fake chain, and its required result.

use std::collections::{HashMap, HashSet};

use gateway::asset::Network;
use rand::{RngExt, rngs::StdRng};
use support::{
    node::fake_evm::{Cast, State},
    shop::{
        payout_events,
        payouts::{evm_address, fund_from_nowhere, new_order, row},
    },
};
use uuid::Uuid;

use super::{CHAIN_ID, REQUIRED, Scene};
use crate::payout::node::{COIN, USDT, due};

const RECIPIENTS: u32 = 6;
const REFUND: u32 = 900;

/// One order, its chain, and the behaviour of its recipients.
pub struct Act {
    seed: u64,
    is_token: bool,
    pub id: String,
    pub row: Uuid,
    due: u128,
    address: String,
    gas_wallet: String,
    refusing: HashSet<String>,
    turning: HashSet<String>,
}

/// In base units.
fn amount(recipient: u32, is_token: bool) -> u128 {
    let unit = if is_token { 10_000 } else { COIN / 100 };
    (100 + u128::from(recipient)) * unit
}

impl Act {
    /// A funded order on a new chain. Funding is not tested here: its deposit is final from the
    /// start.
    pub async fn begin(seed: u64, scene: &mut Scene, random: &mut StdRng) -> Self {
        let fresh = "insert into network_fee (network, fee_rate) values ('polygon', 6000000000) \
                     on conflict (network) do update set observed_at = now()";
        scene.run(fresh).await;
        let is_token = random.random_range(0..2) == 0;
        let rows = (1..=RECIPIENTS).map(|n| row(n, evm_address(n), amount(n, is_token))).collect();
        let currency = if is_token { "usdtmatic" } else { "pol" };
        let mut wanted = new_order(Network::Polygon, currency, rows);
        wanted.refund_address = Some(evm_address(REFUND));
        let order = scene.orders.confirmed(&scene.lane.gateway, &wanted).await;
        let id = order["id"].as_str().unwrap().to_owned();
        let mut some = |from: u32| -> HashSet<String> {
            (from..from + 2).filter(|_| random.random_range(0..3) == 0).map(evm_address).collect()
        };
        let act = Self {
            seed,
            is_token,
            row: scene.lane.gateway.explain_payout(&id).await.unwrap().order.id,
            id,
            due: due(&order),
            address: order["depositAddress"].as_str().unwrap().to_lowercase(),
            gas_wallet: scene.gas_wallet.clone(),
            refusing: some(1),
            turning: some(3),
        };
        act.enter(scene).await;
        let contract = act.is_token.then_some(USDT);
        fund_from_nowhere(&mut scene.lane.connection, &act.id, contract).await;
        act
    }

    /// Gives the fake node its chain.
    async fn enter(&self, scene: &mut Scene) {
        let own = if self.is_token { 0 } else { self.due };
        let balances =
            HashMap::from([(self.address.clone(), own), (self.gas_wallet.clone(), COIN)]);
        let nonces = "select max(nonce) + 1 from payout_payment where purpose = 'gas'";
        let cast = Cast {
            chain_id: CHAIN_ID,
            required: REQUIRED,
            token: USDT.to_owned(),
            order: self.address.clone(),
            gas_wallet: self.gas_wallet.clone(),
            gas_nonce: u64::try_from(scene.number(nonces).await).unwrap(),
            refusing: self.refusing.clone(),
            turning: self.turning.clone(),
            began_at: None,
        };
        scene.fake.begin(self.seed, cast, balances);
    }

    fn fails(&self, recipient: &str) -> bool {
        self.refusing.contains(recipient) || self.turning.contains(recipient)
    }

    /// No recipient was paid twice so far, and no transaction exists that could still do it.
    pub fn nobody_is_paid_twice(&self, chain: &State) {
        let refund = evm_address(REFUND);
        let may_repeat = |to: &String| *to == refund || *to == self.gas_wallet;
        for (to, (times, _)) in chain.paid() {
            assert!(
                times <= 1 || may_repeat(&to),
                "seed {}: {to} was paid {times} times",
                self.seed
            );
        }
        for (to, nonces) in chain.nonces() {
            assert!(
                nonces.len() <= 1 || may_repeat(&to),
                "seed {}: {to} has {nonces:?}",
                self.seed
            );
        }
    }

    /// Every recipient was paid once or failed with a proof, and every unit is accounted for.
    pub async fn adds_up(&self, scene: &mut Scene) {
        let seed = self.seed;
        let story = scene.lane.gateway.explain_payout(&self.id).await.unwrap();
        let any_fails = (1..=RECIPIENTS).any(|n| self.fails(&evm_address(n)));
        let expected = if any_fails { "partial_failed" } else { "completed" };
        assert_eq!(story.order.state.as_str(), expected, "seed {seed}: {}", story.object);
        let paid = scene.fake.with(|chain| chain.paid());
        for n in 1..=RECIPIENTS {
            let to = evm_address(n);
            let got = (1, amount(n, self.is_token));
            assert_eq!(paid.get(&to), (!self.fails(&to)).then_some(&got), "seed {seed}: {to}");
        }
        let books = story.order.books;
        let given = books.paid.get() + books.returned.get();
        assert_eq!(given + books.kept.get(), self.due, "seed {seed}");
        let refund = paid.get(&evm_address(REFUND)).map_or(0, |(_, sum)| *sum);
        assert_eq!(refund, books.returned.get(), "seed {seed}");
        self.coins_add_up(scene, given).await;
        let whose = format!("seed {seed}");
        payout_events::are_legal(&mut scene.lane.connection, &self.id, &whose).await;
    }

    /// `given` is the sum received by recipients; network fees and gas transfers come from the
    /// rows.
    async fn coins_add_up(&self, scene: &mut Scene, given: u128) {
        let seed = self.seed;
        let of = |what: &str, which: &str| {
            format!(
                "select sum({what}) from payout_payment where order_id = '{}' and {which}",
                self.row
            )
        };
        let moved = |purpose: &str| format!("purpose = '{purpose}' and state = 'confirmed'");
        let fees = scene.number(&of("fee", "purpose <> 'gas'")).await;
        let wallet_fees = scene.number(&of("fee", "purpose = 'gas'")).await;
        let fronted = scene.number(&of("amount", &moved("gas"))).await;
        let back = scene.number(&of("amount", &moved("gas_return"))).await;
        let own = if self.is_token { 0 } else { self.due - given };
        let held = |address: &str| scene.fake.with(|chain| chain.coins(address));
        assert_eq!(held(&self.address), own + fronted - fees - back, "seed {seed}");
        assert_eq!(held(&self.gas_wallet), COIN - fronted - wallet_fees + back, "seed {seed}");
    }
}
