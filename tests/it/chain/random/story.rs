//! One seed: payments, forks, faults and crashes over some hundred blocks, and the bookings and
//! expiries meanwhile.
//!
//! All blocks are dated some minutes ago, and so are half of the deadlines: none of them waits for
//! the database's clock.

use std::{
    collections::{HashMap, HashSet},
    pin::pin,
    sync::Arc,
    task::Poll,
};

use chrono::{DateTime, TimeDelta, Utc};
use gateway::{
    app::{
        Gateway,
        deposit::follow_chain::{FollowError, Follower, Look},
    },
    asset::{Network, catalogue::Catalogue},
    broker::envelope::{self, DepositRef},
    chain::{Transfer, TransferAmount, TransferAsset},
    config::{ChainSettings, ChainSourceKind},
    money::BaseUnits,
};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use secrecy::ExposeSecret;
use sqlx::{Connection, PgConnection};
use support::{
    node::scripted_chain::{Movement, ScriptedChain},
    shop::payable::Payable,
};
use uuid::Uuid;

use super::fate::{self, Rules};

const NETWORK: Network = Network::Polygon;
const FIRST_HEIGHT: u64 = 5_000;
pub const BLOCKS: u64 = 200;
const PAYEES_MAX: usize = 5;
const UNSEEN: usize = 2;
/// Value from which a deposit needs more confirmations, in base units of the token.
const LARGE: u128 = 5_000_000_000;
const LARGE_NEEDS_MORE: u64 = 3;
const MATURITY_MAX: u64 = 9;
pub const NO_TOKEN_OF_OURS: &str = "0x00000000000000000000000000000000000bad01";
/// A look at a healthy node reaches the chain tip at once, unless delayed messages of an earlier
/// one still arrive.
const LOOKS_MAX: usize = 20;
/// Age of the first block. The last one is at least a minute old, however slow the machine is.
const OLD_SECONDS: i64 = 600;
const STEPS_SHOWN: usize = 40;

/// Counts of a scenario.
#[derive(Debug, Default, Clone, Copy)]
pub struct Tally {
    pub payments: u64,
    /// Payments that no block shows.
    pub hidden: u64,
    pub credited: u64,
    pub reversed: u64,
    pub accepted: u64,
    pub reorganisations: u64,
    /// Movements that differed on another branch.
    pub changed: u64,
    pub rewinds: u64,
    pub faults: u64,
    pub kills: u64,
    /// Invoices that expired, and decisions that waited for blocks.
    pub expired: u64,
    pub held: u64,
}

impl Tally {
    pub fn add(&mut self, other: Self) {
        self.payments += other.payments;
        self.hidden += other.hidden;
        self.credited += other.credited;
        self.reversed += other.reversed;
        self.accepted += other.accepted;
        self.reorganisations += other.reorganisations;
        self.changed += other.changed;
        self.rewinds += other.rewinds;
        self.faults += other.faults;
        self.kills += other.kills;
        self.expired += other.expired;
        self.held += other.held;
    }
}

pub struct Story<'a> {
    seed: u64,
    pub random: StdRng,
    pub rules: Rules,
    pub chain: ScriptedChain,
    pub gateway: &'a Gateway,
    merchant: Uuid,
    pub connection: PgConnection,
    settings: ChainSettings,
    follower: Follower<ScriptedChain>,
    pub payees: Vec<Payable>,
    /// Invoices that are paid in the coin, in ways that no block shows; their amount due is never
    /// reached.
    pub unseen: Vec<Payable>,
    /// Date of the first block, in seconds.
    pub start: i64,
    /// Invoices whose deadline lies within the chain, and those of them that have expired.
    pub due: HashMap<Uuid, DateTime<Utc>>,
    pub expired: HashSet<Uuid>,
    /// Final deposits whose message was received and not processed yet.
    told: Vec<Uuid>,
    /// The newest checked entry of the books.
    checked: i64,
    pub tally: Tally,
    steps: Vec<String>,
}

impl<'a> Story<'a> {
    pub async fn begin(seed: u64, gateway: &'a Gateway, merchant: Uuid) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let rules = Rules::random(&mut random);
        let url = gateway.config.database_url.expose_secret();
        let mut connection = PgConnection::connect(url).await.unwrap();
        sqlx::query(
            "truncate invoice, ledger_entry, outbox, timer, operator_alert, chain_cursor, chain_block cascade",
        )
        .execute(&mut connection)
        .await
        .unwrap();
        let settings = ChainSettings {
            source: ChainSourceKind::Node,
            confirmations: rules.confirmations,
            large_confirmations: rules.confirmations + LARGE_NEEDS_MORE,
            // Its blocks come by themselves, so deadlines wait for the next one.
            head_age_max: Some(TimeDelta::days(1)),
            ..gateway.config.chain(NETWORK)
        };
        let chain = ScriptedChain::new(NETWORK, FIRST_HEIGHT);
        let now: i64 = sqlx::query_scalar("select extract(epoch from now())::bigint")
            .fetch_one(&mut connection)
            .await
            .unwrap();
        let start = now - OLD_SECONDS;
        let first = i64::try_from(FIRST_HEIGHT).unwrap();
        chain.script().first_block_after = TimeDelta::seconds(start - first);
        chain.script().tells_balances = true;
        let confirmations = rules.confirmations;
        chain.script().needed = Some(Box::new(move |transfer| {
            let large = is_known(&transfer.asset) && is_large(transfer);
            let wanted = confirmations + if large { LARGE_NEEDS_MORE } else { 0 };
            wanted.max(transfer.maturity)
        }));
        let follower = Follower::new(chain.clone(), settings.clone());
        let mut story = Self {
            seed,
            random,
            rules,
            chain,
            gateway,
            merchant,
            connection,
            settings,
            follower,
            payees: Vec::new(),
            unseen: Vec::new(),
            start,
            due: HashMap::new(),
            expired: HashSet::new(),
            told: Vec::new(),
            checked: 0,
            tally: Tally::default(),
            steps: Vec::new(),
        };
        story.invite().await;
        // The first look begins at the chain tip.
        story.follower.look(gateway).await.unwrap();
        for _ in 0..UNSEEN {
            story.invite_unseen().await;
        }
        story
    }

    /// Everything up to the last block, then a healthy node until all is final and settled.
    pub async fn play(&mut self) {
        while self.chain.script().tip().header.height < FIRST_HEIGHT + BLOCKS {
            self.happen().await;
            let is_whole = self.look().await;
            self.hear().await;
            self.settle().await;
            self.expire().await;
            self.check(is_whole).await;
        }
        self.heal().await;
    }

    async fn invite(&mut self) {
        let payee = Payable::insert(&mut self.connection, self.merchant, None).await;
        // The coin balance of its address is not checked.
        let query = "update invoice set contract = 'a token' where id = $1";
        sqlx::query(query).bind(payee.invoice).execute(&mut self.connection).await.unwrap();
        if self.random.random() {
            self.set_deadline(payee.invoice).await;
        }
        self.payees.push(payee);
    }

    /// It asks for more than ever arrives, so it stays open, and for no large amount.
    async fn invite_unseen(&mut self) {
        let payee = Payable::insert(&mut self.connection, self.merchant, None).await;
        let query = "with owed as (update invoice set token_id = $2, decimals = 18, pay_amount = 1e18::numeric where id = $1)
             update deposit_address set issued_height = (select height from chain_cursor where network = 'polygon')
             where invoice_id = $1";
        let coin = Catalogue::get().native(NETWORK).token_id();
        let query = sqlx::query(query).bind(payee.invoice).bind(coin);
        query.execute(&mut self.connection).await.unwrap();
        self.unseen.push(payee);
    }

    /// Random actions of chains, buyers and nodes.
    async fn happen(&mut self) {
        if self.payees.len() < PAYEES_MAX && self.random.random_ratio(1, 10) {
            self.invite().await;
        }
        let chain = self.chain.clone();
        let mut script = chain.script();
        let (random, rules) = (&mut self.random, self.rules);
        for _ in 0..random.random_range(0..4) {
            let number = self.tally.payments;
            self.tally.payments += 1;
            script.waiting.extend(payments(random, self.seed, number, &self.payees));
        }
        if random.random_ratio(1, 10) && !script.waiting.is_empty() {
            // Double-spend: replaced by a payment to another address.
            let lost = random.random_range(0..script.waiting.len());
            script.waiting.remove(lost);
        }
        for _ in 0..random.random_range(0..4) {
            fate::mine(&mut script, random, rules);
            if random.random_ratio(1, 12) {
                let to = &self.unseen[random.random_range(0..self.unseen.len())].address;
                script.hide(to, BaseUnits::new(random.random_range(1..1_000)));
                self.tally.hidden += 1;
            }
        }
        if random.random_ratio(1, 5) {
            script.shown = None;
        }
        if random.random_ratio(1, 5) {
            let fork = fate::reorganise(&mut script, random, rules);
            self.tally.reorganisations += u64::from(fork.depth > 0);
            self.tally.changed += fork.changed as u64;
        }
        if random.random_ratio(1, 8) {
            fate::lag(&mut script, random, rules);
            self.tally.faults += 1;
        }
        if random.random_ratio(1, 12) {
            script.failing = random.random_range(1..6);
            self.tally.faults += 1;
        }
        script.turn = random.random_ratio(1, 5).then(|| fate::turn(random, rules));
        let step = format!(
            "{} {}, node shows {}, {} waiting, {} calls fail, turn after {:?}",
            self.tally.payments,
            script.tip().header.hash,
            script.shown.as_ref().map_or("all", |shown| &shown[shown.len() - 1].header.hash),
            script.waiting.len(),
            script.failing,
            script.turn.as_ref().map(|(calls, _)| calls),
        );
        drop(script);
        self.steps.push(step);
    }

    /// One look of the watcher, which may crash in it. Returns `false` if another task may have
    /// written after it was over.
    async fn look(&mut self) -> bool {
        let kind = self.random.random_range(0..10);
        let polls = (kind < 2).then(|| self.random.random_range(1..60));
        let gateway = self.gateway;
        let mut second = Follower::new(self.chain.clone(), self.settings.clone());
        let outcomes = {
            let look = self.follower.look(gateway);
            let looks = async {
                match kind {
                    2 => {
                        let (one, two) = tokio::join!(look, second.look(gateway));
                        vec![one, two]
                    }
                    _ => vec![look.await],
                }
            };
            unless_killed(&self.chain, polls, looks).await
        };
        self.steps.push(format!("    {outcomes:?}"));
        let Some(outcomes) = outcomes else {
            self.tally.kills += 1;
            self.chain.script().is_silent = false;
            self.follower = Follower::new(self.chain.clone(), self.settings.clone());
            return false;
        };
        for outcome in outcomes {
            self.judge(outcome);
        }
        kind != 2
    }

    fn judge(&mut self, outcome: Result<Look, FollowError>) {
        match outcome {
            Ok(look) => {
                assert!(look.rewound <= 8, "it goes back and forth: {look:?}");
                self.tally.rewinds += u64::from(look.rewound);
            }
            Err(FollowError::CursorMoved | FollowError::Chain(_)) => {}
            Err(error @ (FollowError::Storage(_) | FollowError::ReorgTooDeep { .. })) => {
                panic!("{error:?}")
            }
        }
    }

    /// Takes the messages out of the outbox. Some are lost, some are duplicated.
    async fn hear(&mut self) {
        let query = sqlx::query_scalar("delete from outbox returning body");
        let bodies: Vec<String> = query.fetch_all(&mut self.connection).await.unwrap();
        for body in bodies {
            let message = envelope::decode::<DepositRef>(body.as_bytes()).unwrap();
            let copies = [1, 1, 1, 1, 1, 1, 2, 2, 0, 0][self.random.random_range(0..10)];
            self.told.extend(std::iter::repeat_n(message.deposit_id, copies));
        }
    }

    /// Settles most of the deposits with a message; the rest comes later. Some of the settling
    /// tasks crash.
    async fn settle(&mut self) {
        let mut later = Vec::new();
        for deposit in std::mem::take(&mut self.told) {
            if self.random.random_ratio(1, 5) {
                later.push(deposit);
                continue;
            }
            let polls = self.random.random_ratio(1, 10).then(|| self.random.random_range(1..20));
            let settled =
                unless_killed(&self.chain, polls, self.gateway.match_deposits(deposit)).await;
            match settled {
                Some(settled) => drop(settled.unwrap()),
                None => {
                    self.tally.kills += 1;
                    self.outlive(deposit).await;
                }
            }
        }
        self.told = later;
    }

    /// Waits until the transaction of a task that crashed while settling has ended. Its commit may
    /// be in flight, and its booking must not appear after the watcher has moved on. Until then it
    /// holds the invoice.
    async fn outlive(&mut self, deposit: Uuid) {
        let query = "select from invoice where id = (select invoice_id from deposit where id = $1) for update";
        sqlx::query(query).bind(deposit).execute(&mut self.connection).await.unwrap();
    }

    /// Checks that every booking was final somewhere, and is on the watcher's branch. It may have
    /// fewer confirmations there than it had: a branch of the same blocks may be lower.
    async fn check(&mut self, is_whole: bool) {
        let query = "select e.id, d.deposit_key, d.amount_text, c.hash from ledger_entry e
             join deposit d on d.id = e.source join chain_cursor c on c.network = d.network
             where e.id > $1 and e.kind not in ('reversal', 'excess_reversal') and not d.found_by_balance
             order by e.id";
        let query = sqlx::query_as(query).bind(self.checked);
        let booked: Vec<(i64, String, String, String)> =
            query.fetch_all(&mut self.connection).await.unwrap();
        let Some((last, .., at)) = booked.last() else { return };
        let script = self.chain.script();
        let branch = script.movements_up_to(at);
        for (_, key, amount, _) in &booked {
            let movement = Movement { key: key.clone(), amount: amount.clone() };
            let was_final = script.final_somewhere.contains(&movement);
            assert!(was_final, "{movement:?} was booked and is final nowhere");
            let is_there = branch.contains(&movement);
            assert!(!is_whole || is_there, "{movement:?} was booked and is not there");
        }
        self.tally.credited += u64::try_from(booked.len()).unwrap();
        self.checked = *last;
    }

    /// Everything works again. The remaining blocks, messages and deposits are processed.
    async fn heal(&mut self) {
        {
            let mut script = self.chain.script();
            (script.shown, script.turn, script.failing) = (None, None, 0);
            script.waiting.clear();
            for _ in 0..self.rules.confirmations + LARGE_NEEDS_MORE + MATURITY_MAX {
                script.mine(0, Vec::new());
            }
        }
        // A watcher that starts judges all pending deposits, including those that earlier watchers
        // saw.
        self.follower = Follower::new(self.chain.clone(), self.settings.clone());
        self.reach_head().await;
        // A hidden amount counts from the height at which it was found.
        for _ in 0..self.rules.confirmations {
            self.chain.script().mine(0, Vec::new());
        }
        self.reach_head().await;
        // Lost messages are found again, in rows.
        let query = sqlx::query_scalar("select id from deposit where state = 'final'");
        let unsettled: Vec<Uuid> = query.fetch_all(&mut self.connection).await.unwrap();
        for deposit in unsettled.into_iter().chain(std::mem::take(&mut self.told)) {
            self.gateway.match_deposits(deposit).await.unwrap();
        }
        self.decide_all().await;
        self.check(true).await;
    }

    async fn reach_head(&mut self) {
        let mut looks = 0;
        loop {
            let look = self.follower.look(self.gateway).await;
            self.steps.push(format!("    healed: {look:?}"));
            let is_done = look.as_ref().is_ok_and(|look| look.complete);
            self.judge(look);
            if is_done {
                break;
            }
            looks += 1;
            assert!(looks < LOOKS_MAX, "the head is not reached");
        }
    }

    /// Accepts reversed deposits that are there again, as an operator would. Returns their number.
    pub async fn accept(&mut self) -> u32 {
        let query = "select deposit_key from deposit where state = 'reversed'";
        let keys: Vec<String> =
            sqlx::query_scalar(query).fetch_all(&mut self.connection).await.unwrap();
        let places: Vec<(u64, String)> = {
            let script = self.chain.script();
            let blocks = script.canonical.iter().flat_map(|block| {
                block.transfers.iter().map(|transfer| (block.header.height, transfer))
            });
            let ours =
                blocks.filter(|(_, transfer)| self.payees.iter().any(|p| p.address == transfer.to));
            let back =
                ours.filter(|(_, transfer)| keys.contains(&transfer.key) && is_something(transfer));
            back.map(|(height, transfer)| (height, transfer.key.clone())).collect()
        };
        let mut accepted = 0;
        for (height, key) in places {
            let why = ("ada", "it is there");
            accepted += self.follower.accept(self.gateway, height, &[key], why).await.unwrap();
        }
        let query = "select id from deposit where state = 'final'";
        let unsettled: Vec<Uuid> =
            sqlx::query_scalar(query).fetch_all(&mut self.connection).await.unwrap();
        for deposit in unsettled {
            self.gateway.match_deposits(deposit).await.unwrap();
        }
        accepted
    }

    /// Hidden amounts at `address` on the canonical chain.
    pub fn hidden_at(&self, address: &str) -> u128 {
        let script = self.chain.script();
        let hidden = script.hidden_in(script.canonical.len());
        hidden.iter().filter(|(to, _)| to == address).map(|(_, units)| units.get()).sum()
    }

    /// The canonical chain's transfers to our addresses, by key.
    pub fn canonical(&self) -> HashMap<String, Transfer> {
        let script = self.chain.script();
        let mut stands_in = HashMap::new();
        let mut ours = HashMap::new();
        for block in &script.canonical {
            for transfer in &block.transfers {
                let first = *stands_in.entry(&transfer.key).or_insert(block.header.height);
                assert_eq!(
                    first, block.header.height,
                    "no chain holds one in two blocks: {transfer:?}"
                );
                if self.payees.iter().any(|payee| payee.address == transfer.to) {
                    ours.insert(transfer.key.clone(), transfer.clone());
                }
            }
        }
        ours
    }
}

impl Drop for Story<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let first = self.steps.len().saturating_sub(STEPS_SHOWN);
            eprintln!("{}", self.steps[first..].join("\n"));
            eprintln!("{:?} {:?}", self.rules, self.tally);
            eprintln!("repeat it with GATEWAY_TEST_SEED={} GATEWAY_TEST_CHAINS=1", self.seed);
        }
    }
}

/// Polls `work` until it is done, `polls` are used up, or it waits for a response of the node that
/// never comes. Then it is dropped at that point, like the work of a crashed process.
async fn unless_killed<F: Future>(
    chain: &ScriptedChain,
    polls: Option<u32>,
    work: F,
) -> Option<F::Output> {
    let mut work = pin!(work);
    let mut left = polls;
    std::future::poll_fn(|context| {
        if let Poll::Ready(done) = work.as_mut().poll(context) {
            return Poll::Ready(Some(done));
        }
        let is_over = left == Some(0) || chain.script().is_silent;
        left = left.map(|left| left.saturating_sub(1));
        if is_over { Poll::Ready(None) } else { Poll::Pending }
    })
    .await
}

/// The booked amount of a transfer, for any recipient.
pub fn worth(transfer: &Transfer) -> u128 {
    match (&transfer.asset, &transfer.amount) {
        (TransferAsset::Contract(contract), _) if contract == NO_TOKEN_OF_OURS => 0,
        (_, TransferAmount::Units(units)) => units.get(),
        (_, TransferAmount::Beyond128Bits(_)) => 0,
    }
}

fn is_something(transfer: &Transfer) -> bool {
    !matches!(&transfer.amount, TransferAmount::Units(units) if units.is_zero())
}

fn is_known(asset: &TransferAsset) -> bool {
    match asset {
        TransferAsset::Native => true,
        TransferAsset::Contract(contract) => {
            Catalogue::get().by_contract(NETWORK, contract).is_some()
        }
    }
}

fn is_large(transfer: &Transfer) -> bool {
    // The coin's amounts here stay below anything large.
    let is_token = transfer.asset != TransferAsset::Native;
    matches!(transfer.amount, TransferAmount::Units(units) if is_token && units.get() >= LARGE)
}

/// One transaction: mostly one transfer of the invoice's own token, now and then another kind.
fn payments(random: &mut StdRng, seed: u64, number: u64, payees: &[Payable]) -> Vec<Transfer> {
    let token = Catalogue::get().by_token_id("usdtmatic@polygon").unwrap().contract.unwrap();
    let own = TransferAsset::Contract(token.to_ascii_lowercase());
    let outputs = if random.random_ratio(1, 8) { 2 } else { 1 };
    let to = match random.random_ratio(1, 5) {
        true => format!("0x{number:040x}"),
        false => payees[random.random_range(0..payees.len())].address.clone(),
    };
    let output = |output: u64| {
        let units = BaseUnits::new(random.random_range(1..8_000_000));
        let large = BaseUnits::new(random.random_range(LARGE - 5..LARGE + 5));
        let (asset, amount) = match random.random_range(0..20) {
            0 => (TransferAsset::Native, TransferAmount::Units(units)),
            1 => (TransferAsset::Contract(NO_TOKEN_OF_OURS.into()), TransferAmount::Units(units)),
            2 => (own.clone(), TransferAmount::Beyond128Bits(format!("1{}", "0".repeat(40)))),
            3 => (own.clone(), TransferAmount::Units(BaseUnits::ZERO)),
            4 => (own.clone(), TransferAmount::Units(large)),
            _ => (own.clone(), TransferAmount::Units(units)),
        };
        let maturity =
            if random.random_ratio(1, 15) { random.random_range(1..=MATURITY_MAX) } else { 1 };
        let tx_hash = format!("{seed}-{number}");
        Transfer {
            key: format!("{tx_hash}:{output}"),
            tx_hash,
            to: to.clone(),
            from: None,
            asset,
            amount,
            maturity,
            spends: Arc::default(),
        }
    };
    (0..outputs).map(output).collect()
}
