//! Strangers who fill a block with transfers to one address: it costs little, nobody else waits,
//! and nothing is lost of what may pay.

use std::collections::VecDeque;

use gateway::{
    chain::{Transfer, TransferAmount, TransferAsset},
    invoice::Status,
    money::BaseUnits,
    storage::access,
};
use serde_json::Value;
use sqlx::Connection;
use support::{
    fault::fired::fired,
    node::scripted_chain::ScriptedChain,
    shop::{Shop, with_shop},
};
use uuid::Uuid;

use super::chain_watcher::{NETWORK, over, payment};

/// Notes each statement that writes deposits, and each message, in order.
async fn note_writes(shop: &Shop) {
    for statement in [
        "create table written (at bigint generated always as identity)",
        "create function note_written() returns trigger language plpgsql as
            $$ begin insert into written default values; return null; end $$",
        "create trigger note_written after insert on deposit for each statement execute function note_written()",
        "create table sent (id bigint, body text)",
        "create function note_sent() returns trigger language plpgsql as
            $$ begin
                if new.route in ('deposit', 'deposit.final') then insert into sent values (new.id, new.body); end if;
                return null;
            end $$",
        "create trigger note_sent after insert on outbox for each row execute function note_sent()",
    ] {
        shop.run(statement).await;
    }
}

/// Handles messages about deposits one after another, as a single consumer would, those included
/// that are sent meanwhile.
struct Queue<'a> {
    shop: &'a Shop,
    read_to: i64,
    waiting: VecDeque<Uuid>,
    handled: usize,
}

impl<'a> Queue<'a> {
    fn of(shop: &'a Shop) -> Self {
        Self { shop, read_to: 0, waiting: VecDeque::new(), handled: 0 }
    }

    async fn read(&mut self) {
        let mut connection = self.shop.stack.database.connect().await;
        let query = "select id, body from sent where id > $1 order by id";
        let query = sqlx::query_as::<_, (i64, String)>(query).bind(self.read_to);
        for (id, body) in query.fetch_all(&mut connection).await.unwrap() {
            self.read_to = id;
            let body: Value = serde_json::from_str(&body).unwrap();
            self.waiting.push_back(body["deposit_id"].as_str().unwrap().parse().unwrap());
        }
        connection.close().await.unwrap();
    }

    /// `false` if none waits.
    async fn handle_one(&mut self) -> bool {
        self.read().await;
        let Some(deposit) = self.waiting.pop_front() else { return false };
        self.shop.stack.gateway.match_deposits(deposit).await.unwrap();
        self.handled += 1;
        true
    }
}

/// So many like `model`, each of `units` in a transaction of its own.
fn many(model: &Transfer, name: &str, count: usize, units: u128) -> Vec<Transfer> {
    let one = |number| {
        let tx_hash = format!("0x{name}{number}");
        let amount = TransferAmount::Units(BaseUnits::new(units));
        Transfer { key: format!("{tx_hash}:0"), tx_hash, amount, ..model.clone() }
    };
    (0..count).map(one).collect()
}

const UNSETTLED: &str = "select count(*) from deposit where state <> 'settled'";

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_unknown_tokens_is_counted_and_not_stored_while_known_tokens_are_stored() {
    with_shop(|shop| async move {
        let gateway = &shop.stack.gateway;
        note_writes(&shop).await;
        let (flooded, other) = (shop.invoice().await, shop.invoice().await);
        let own = payment(&shop, &flooded, "0xa").await;
        let mut transfers = Vec::new();
        for contract in 0..4 {
            let asset = TransferAsset::Contract(format!("0x{contract:040x}"));
            let model = Transfer { asset, ..own.clone() };
            transfers.extend(many(&model, &format!("u{contract}-"), 100, 1_000_000));
        }
        // Dust of the invoice's own token, and of the chain's coin, which nobody asked for and the
        // merchant is owed.
        transfers.extend(many(&own, "dust", 60, 1));
        let coin = Transfer { asset: TransferAsset::Native, ..own };
        transfers.extend(many(&coin, "coin", 30, 7));
        transfers.push(payment(&shop, &other, "0xb").await);
        let chain = ScriptedChain::new(NETWORK, 100);
        let mut follower = over(gateway, &chain);
        follower.look(gateway).await.unwrap();
        chain.script().mine(0, transfers);
        (0..15).for_each(|_| chain.script().mine(0, Vec::new()));
        let look = follower.look(gateway).await.unwrap();
        fired(look.sightings);
        assert_eq!((look.sightings, look.finalized), (131, 131));

        assert_eq!(shop.number("select count(*) from written").await, 1);
        assert_eq!(shop.number("select count(*) from sent").await, 2);
        let unknown = "select count(*) from deposit where token_id is null";
        assert_eq!(shop.number(unknown).await, 40);
        let told = gateway.explain_invoice(&flooded).await.unwrap().unwrap();
        let [left_out] = told.left_out.as_slice() else { panic!("{:?}", told.left_out) };
        assert_eq!((left_out.transfers, left_out.last_tx_hash.as_str()), (360, "0xu3-99"));

        let mut queue = Queue::of(&shop);
        for _ in 0..2 {
            assert!(queue.handle_one().await);
        }
        // Its message is behind none but the first batch of the flood.
        assert_eq!(shop.status(&other).await, Status::Paid);
        while queue.handle_one().await {}
        assert_eq!(queue.handled, 1 + 130_usize.div_ceil(25));
        assert_eq!(shop.number(UNSETTLED).await, 0);
        assert_eq!(shop.payment(&flooded).await["actually_paid"].to_string(), "0.00006");
        let booked = shop.books(&flooded).await;
        let of_kind = |kind: &str| booked.iter().filter(|entry| entry.kind == kind).count();
        assert_eq!((of_kind("deposit"), of_kind("foreign_deposit")), (60, 30));

        // A person may still want one of those that were left out.
        let wanted = ["0xu3-99:0".to_owned()];
        assert_eq!(follower.import(gateway, 101, &wanted, "somebody").await.unwrap(), 1);
        assert_eq!(shop.number(unknown).await, 41);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_deposits_over_many_blocks_keeps_one_message_queued_and_is_credited_in_full() {
    const BLOCKS: usize = 8;
    // So many that each block's message, and each that was sent for the rest, could book a whole
    // batch: only then do more than one of them stay on their way, if nothing stops them.
    const EACH: usize = 100;
    const ALL: usize = BLOCKS * EACH;
    with_shop(|shop| async move {
        let gateway = &shop.stack.gateway;
        note_writes(&shop).await;
        let (flooded, other) = (shop.invoice().await, shop.invoice().await);
        let own = payment(&shop, &flooded, "0xa").await;
        let chain = ScriptedChain::new(NETWORK, 100);
        let mut follower = over(gateway, &chain);
        follower.look(gateway).await.unwrap();
        for block in 0..BLOCKS {
            chain.script().mine(0, many(&own, &format!("{block}-"), EACH, 1));
        }
        let paid = payment(&shop, &other, "0xb").await;
        chain.script().mine(0, vec![paid]);
        (0..15).for_each(|_| chain.script().mine(0, Vec::new()));
        let look = follower.look(gateway).await.unwrap();
        fired(look.sightings);
        assert_eq!(look.finalized, u64::try_from(ALL + 1).unwrap());
        let first = i64::try_from(BLOCKS).unwrap() + 1;
        assert_eq!(shop.number("select count(*) from sent").await, first);

        let mut queue = Queue::of(&shop);
        for _ in 0..=BLOCKS {
            assert!(queue.handle_one().await);
        }
        assert_eq!(shop.status(&other).await, Status::Paid);
        // Each block's message has sent one for the rest. All but the last of these find it booked.
        queue.read().await;
        assert_eq!(queue.waiting.len(), BLOCKS);
        for _ in 0..BLOCKS {
            assert!(queue.handle_one().await);
        }
        queue.read().await;
        assert_eq!(queue.waiting.len(), 1, "one message is on its way for one invoice");
        let batches = i64::try_from(BLOCKS + 1).unwrap();
        let left = i64::try_from(ALL).unwrap() - 25 * batches;
        assert_eq!(shop.number(UNSETTLED).await, left);
        while queue.handle_one().await {}
        assert_eq!(shop.number(UNSETTLED).await, 0);
        assert_eq!(shop.books(&flooded).await.len(), ALL);
        assert_eq!(shop.payment(&flooded).await["actually_paid"].to_string(), "0.0008");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_at_an_address_without_an_invoice_keeps_one_message_queued_and_is_credited_in_full()
{
    const BLOCKS: usize = 4;
    const EACH: usize = 100;
    const ALL: usize = BLOCKS * EACH;
    with_shop(|shop| async move {
        let gateway = &shop.stack.gateway;
        note_writes(&shop).await;
        let mut connection = shop.stack.database.connect().await;
        let caller = access::caller(&mut connection, shop.merchant.new.id).await.unwrap().unwrap();
        let flooded = gateway.legacy_deposit_address(&caller, "USDT.POL").await.unwrap();
        let other = shop.invoice().await;
        let paid = payment(&shop, &other, "0xb").await;
        let own = Transfer { to: flooded.to_ascii_lowercase(), ..paid.clone() };
        let chain = ScriptedChain::new(NETWORK, 100);
        let mut follower = over(gateway, &chain);
        follower.look(gateway).await.unwrap();
        for block in 0..BLOCKS {
            chain.script().mine(0, many(&own, &format!("{block}-"), EACH, 1));
        }
        chain.script().mine(0, vec![paid]);
        (0..15).for_each(|_| chain.script().mine(0, Vec::new()));
        let look = follower.look(gateway).await.unwrap();
        fired(look.sightings);
        assert_eq!(look.finalized, u64::try_from(ALL + 1).unwrap());

        let mut queue = Queue::of(&shop);
        for _ in 0..=BLOCKS {
            assert!(queue.handle_one().await);
        }
        assert_eq!(shop.status(&other).await, Status::Paid);
        queue.read().await;
        assert_eq!(queue.waiting.len(), BLOCKS);
        for _ in 0..BLOCKS {
            assert!(queue.handle_one().await);
        }
        queue.read().await;
        assert_eq!(queue.waiting.len(), 1, "one message is on its way for one address");
        let left = ALL - 25 * (BLOCKS + 1);
        assert_eq!(shop.number(UNSETTLED).await, i64::try_from(left).unwrap());
        while queue.handle_one().await {}
        let all = i64::try_from(ALL).unwrap();
        assert_eq!(shop.number(UNSETTLED).await, 0);
        let told = "select count(*) from event where type = 'deposit.credited'";
        assert_eq!(shop.number(told).await, all);
        let credited = "select count(*) from ledger_entry where kind = 'deposit' and amount = 1";
        assert_eq!(shop.number(credited).await, all);
    })
    .await;
}
