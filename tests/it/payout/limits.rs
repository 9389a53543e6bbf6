//! Protections against emptying the wallet with a stolen order.

use std::sync::Arc;

use gateway::{
    app::Gateway,
    asset::Network,
    merchant::secret::{SEED_BYTES, SeedUse},
};
use gateway_workers::Role;
use support::{
    fault::fired::fired,
    server::{
        broker::eventually,
        stack::{Stack, only, with_configured_stack},
    },
    shop::payouts::Payer,
};

use super::{EVM, two_rows};

async fn funded(payer: &Payer) -> String {
    funded_by(payer).await.0
}

/// The order, and the transaction that funded it.
async fn funded_by(payer: &Payer) -> (String, String) {
    let id = payer.draft(EVM, two_rows()).await["id"].as_str().unwrap().to_owned();
    let order = payer.confirm(EVM, &id).await;
    let due = order["totalToSendRaw"].as_str().unwrap().parse().unwrap();
    (id, payer.fund(&order, due).await.txid)
}

/// Seed as its file stores it.
fn sealed(gateway: &Gateway, seed: &[u8; SEED_BYTES]) -> String {
    hex::encode(gateway.config.seed_keys().unwrap().current().seal_seed(SeedUse::Payouts, seed))
}

async fn held(payer: &Payer, id: &str) -> String {
    eventually("the order is held", async || {
        payer.story(id).await.order.held.map(|hold| hold.to_string())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn above_the_limit_an_order_needs_the_release_of_two_different_people() {
    let toml = only(Network::Polygon) + "payouts.two_people_above_usd = 10\n";
    with_configured_stack(&toml, |stack| async move {
        stack.start_all();
        let payer = Payer::open(&stack).await;
        let id = funded(&payer).await;
        assert!(held(&payer, &id).await.contains("2 people"));
        let gateway = &stack.gateway;
        assert_eq!(gateway.release_order(&id, "ada").await.unwrap(), 1);
        assert_eq!(gateway.release_order(&id, "ada").await.unwrap(), 1);
        assert!(payer.story(&id).await.payments.is_empty());
        assert_eq!(gateway.release_order(&id, "ben").await.unwrap(), 0);
        payer.becomes(&id, "completed").await;
    })
    .await;
}

/// A release applies to the hold that the operator saw, not to a later one.
#[tokio::test(flavor = "multi_thread")]
async fn a_release_counts_for_the_hold_that_it_was_given_for() {
    let toml = only(Network::Polygon) + "payouts.two_people_above_usd = 10\n";
    with_configured_stack(&toml, |stack| async move {
        stack.start_all();
        let payer = Payer::open(&stack).await;
        let id = payer.draft(EVM, two_rows()).await["id"].as_str().unwrap().to_owned();
        let order = payer.confirm(EVM, &id).await;
        let gateway = &stack.gateway;
        let release = async |by: &str| gateway.release_order(&id, by).await.unwrap();
        for reason in ["asking the merchant", "asking him again"] {
            gateway.hold_order(&id, reason).await.unwrap();
            for (by, missing) in [("ada", 1), ("ada", 1), ("ben", 0)] {
                assert_eq!(release(by).await, missing, "{reason}: {by}");
            }
        }
        payer.fund(&order, order["totalToSendRaw"].as_str().unwrap().parse().unwrap()).await;
        assert!(held(&payer, &id).await.contains("2 people"));
        assert_eq!((release("ben").await, release("ada").await), (1, 0));
        payer.becomes(&id, "completed").await;
    })
    .await;
}

/// Signs with `setting` at 5 USD for an order that was created when the limit was higher.
async fn with_a_limit_lowered_later<F: Future<Output = ()>>(
    setting: &str,
    test: impl FnOnce(Arc<Stack>) -> F,
) {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        let payers = stack.sibling(&format!("payouts.{setting} = 5\n"));
        let others: Vec<_> = Role::ALL
            .into_iter()
            .filter(|role| ![Role::RateRefresher, Role::PayoutBatch].contains(role))
            .collect();
        stack.start(&others);
        stack.start_on(&payers, &[Role::PayoutBatch]);
        test(stack).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_above_the_limit_of_one_transaction_is_never_signed() {
    with_a_limit_lowered_later("transaction_usd_max", |stack| async move {
        let payer = Payer::open(&stack).await;
        let id = funded(&payer).await;
        assert!(held(&payer, &id).await.contains("limit of one transaction"));
        assert!(payer.story(&id).await.payments.is_empty());
    })
    .await;
}

/// It exceeds the limit of an hour and of a day, so waiting would be for ever.
async fn holds_what_no_window_has_room_for(setting: &str, words: &str) {
    with_a_limit_lowered_later(setting, |stack| async move {
        let payer = Payer::open(&stack).await;
        let id = funded(&payer).await;
        let reason = held(&payer, &id).await;
        assert!(reason.contains(words), "{reason}");
        assert!(payer.story(&id).await.payments.is_empty());
        assert_eq!(stack.gateway.release_order(&id, "ada").await.unwrap(), 0);
        // It is compared again, and a release does not override a limit.
        assert_eq!(held(&payer, &id).await, reason);
        assert!(payer.story(&id).await.payments.is_empty());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_above_the_limit_of_an_hour_holds_its_order() {
    holds_what_no_window_has_room_for("hour_usd_max", "limit of an hour, 5 USD").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_above_the_limit_of_a_day_holds_its_order() {
    holds_what_no_window_has_room_for("day_usd_max", "limit of a day, 5 USD").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_limit_of_an_hour_and_the_stop_switch_let_nothing_pass() {
    let toml = only(Network::Polygon) + "payouts.hour_usd_max = 11\n";
    with_configured_stack(&toml, |stack| async move {
        stack.start_all();
        let payer = Payer::open(&stack).await;
        let id = funded(&payer).await;
        // 10 USD are signed; 2.50 more would be above 11.
        eventually("the first payment is final", async || {
            let books = payer.story(&id).await.order.books;
            (books.paid.get() == 10_000_000).then_some(())
        })
        .await;
        // The second row is looked at by the worker that holds the order's lease.
        let story = eventually("the second row waits", async || {
            Some(payer.story(&id).await).filter(|story| story.order.waits_for.is_some())
        })
        .await;
        assert_eq!((story.payments.len(), story.order.held), (1, None));
        let why = story.order.waits_for.unwrap();
        assert!(why.contains("limit of an hour, 11 USD, 1.00 are left"), "{why}");

        stack.gateway.stop_payouts("*", "drill").await.unwrap();
        let other = funded(&payer).await;
        let story = eventually("it waits", async || {
            Some(payer.story(&other).await).filter(|story| story.order.waits_for.is_some())
        })
        .await;
        assert!(story.payments.is_empty());
        assert_eq!(story.order.waits_for.unwrap(), "payouts are stopped on polygon: drill");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_whose_deposit_left_the_chain_is_held_and_no_other_one() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        let gateway = &stack.gateway;
        stack.start_all();
        let payer = Payer::open(&stack).await;
        gateway.stop_payouts("*", "it is to be booked and not yet signed").await.unwrap();
        let (id, deposit) = funded_by(&payer).await;
        eventually("it is funded", async || {
            Some(payer.story(&id).await).filter(|story| !story.order.books.kept.is_zero())
        })
        .await;
        gateway.simulate_orphan(&deposit).await.unwrap();
        gateway.simulate_mine(Network::Polygon, 20).await.unwrap();
        assert!(held(&payer, &id).await.contains("left the chain"));
        fired(1);
        assert!(gateway.resume_payouts("*").await.unwrap());
        let other = funded(&payer).await;
        payer.becomes(&other, "completed").await;
        let row = payer.story(&id).await.order.id;
        gateway.advance_payout(row, &wallet(&stack)).await.unwrap();
        assert!(payer.story(&id).await.payments.is_empty());
    })
    .await;
}

/// Booked balance of an account.
async fn in_books(stack: &Stack, account: &str) -> String {
    let query =
        "select sum(case when credit = $1 then amount else -amount end)::text from ledger_entry
                 where $1 in (debit, credit)";
    let mut connection = stack.database.connect().await;
    sqlx::query_scalar(query).bind(account).fetch_one(&mut connection).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deposit_of_an_order_that_came_back_is_accepted_and_pays_its_rows() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        let gateway = &stack.gateway;
        stack.start_all();
        let payer = Payer::open(&stack).await;
        gateway.stop_payouts("*", "it is to be booked and not yet signed").await.unwrap();
        let id = payer.draft(EVM, two_rows()).await["id"].as_str().unwrap().to_owned();
        let order = payer.confirm(EVM, &id).await;
        let due: u128 = order["totalToSendRaw"].as_str().unwrap().parse().unwrap();
        let txid = payer.fund(&order, due).await.txid;
        let funded = eventually("it is funded", async || {
            Some(payer.story(&id).await).filter(|story| !story.order.books.kept.is_zero())
        })
        .await;
        let account = format!("payout:{}", funded.order.id);
        let before = in_books(&stack, &account).await;
        gateway.simulate_orphan(&txid).await.unwrap();
        gateway.simulate_mine(Network::Polygon, 20).await.unwrap();
        held(&payer, &id).await;
        assert_ne!(in_books(&stack, &account).await, before);
        // Its fees were paid out of funds that are gone, so they stay counted; no release lets it
        // pay with missing funds.
        let books = eventually("it is taken back", async || {
            Some(payer.story(&id).await.order.books).filter(|books| books.left().is_zero())
        })
        .await;
        assert_eq!((books.credited, books.late.get()), (funded.order.books.kept, 0));
        let refused = gateway.release_order(&id, "ada").await.unwrap_err();
        assert!(refused.to_string().contains("deposit accept"), "{refused}");
        payer.fund_in(&order, due, &txid).await;
        let sure = Some(("ada", "mined again"));
        eventually("it is there again, final and accepted", async || {
            let accepted = gateway.accept_deposit(Network::Polygon, &txid, None, sure).await;
            accepted.ok().filter(|accepted| accepted.accepted == 1)
        })
        .await;
        eventually("the books have it again", async || {
            (in_books(&stack, &account).await == before).then_some(())
        })
        .await;
        let books = payer.story(&id).await.order.books;
        assert_eq!(
            (books.credited, books.late),
            (funded.order.books.credited, funded.order.books.late)
        );
        assert!(gateway.resume_payouts("*").await.unwrap());
        gateway.release_order(&id, "ada").await.unwrap();
        let story = payer.becomes(&id, "completed").await;
        // Replaced funding is not an overpayment.
        assert!(story.events.iter().all(|event| !event.kind.ends_with("overfunded")));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_lost_part_of_its_deposits_refunds_the_rest_once_it_is_cancelled() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        let gateway = &stack.gateway;
        stack.start_all();
        let payer = Payer::open(&stack).await;
        let id = payer.draft(EVM, two_rows()).await["id"].as_str().unwrap().to_owned();
        let order = payer.confirm(EVM, &id).await;
        gateway.hold_order(&id, "it is to be booked and not yet begun").await.unwrap();
        let due: u128 = order["totalToSendRaw"].as_str().unwrap().parse().unwrap();
        let part = due / 10 * 6;
        payer.fund(&order, part).await;
        let lost = payer.fund(&order, due - part).await.txid;
        payer.becomes(&id, "funded").await;
        gateway.simulate_orphan(&lost).await.unwrap();
        gateway.simulate_mine(Network::Polygon, 20).await.unwrap();
        eventually("it is taken back", async || {
            let books = payer.story(&id).await.order.books;
            (books.credited.get() == part).then_some(())
        })
        .await;
        let row = payer.story(&id).await.order.id;
        assert_eq!(in_books(&stack, &format!("payout:{row}")).await, part.to_string());
        let refused = gateway.release_order(&id, "ada").await.unwrap_err();
        assert!(refused.to_string().contains(&(due - part).to_string()), "{refused}");
        gateway.cancel_any_payout(&id).await.unwrap();
        assert_eq!(gateway.release_order(&id, "ada").await.unwrap(), 0);
        let books = payer.settles(&id).await.order.books;
        assert_eq!(books.returned.get() + books.kept.get(), part);
        let chain = payer.received_on_chain("polygon").await;
        let back = chain[&support::shop::payouts::evm_address(900)].clone();
        assert_eq!(back, (1, books.returned.get().to_string()));
        // The vanished deposit comes back after all, and is treated like the rest.
        payer.fund_in(&order, due - part, &lost).await;
        let sure = Some(("ada", "mined again"));
        eventually("it is there again, final and accepted", async || {
            let accepted = gateway.accept_deposit(Network::Polygon, &lost, None, sure).await;
            accepted.ok().filter(|accepted| accepted.accepted == 1)
        })
        .await;
        eventually("all of it went back", async || {
            let books = payer.story(&id).await.order.books;
            let all = books.returned.get() + books.kept.get();
            (all == due && books.returned.get() > part).then_some(())
        })
        .await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_limit_of_a_day_counts_what_was_signed_in_it_and_no_longer() {
    let toml = only(Network::Polygon) + "payouts.day_usd_max = 11\n";
    with_configured_stack(&toml, |stack| async move {
        stack.start_all();
        let payer = Payer::open(&stack).await;
        let id = funded(&payer).await;
        eventually("the first payment is final", async || {
            let books = payer.story(&id).await.order.books;
            (books.paid.get() == 10_000_000).then_some(())
        })
        .await;
        let row = payer.story(&id).await.order.id;
        stack.gateway.advance_payout(row, &wallet(&stack)).await.unwrap();
        let story = payer.story(&id).await;
        assert_eq!(story.payments.len(), 1);
        assert!(story.order.waits_for.unwrap().contains("limit of a day, 11 USD"));
        // The same by the clock of the next day.
        stack.sql("update payout_payment set created_at = created_at - interval '25 hours'").await;
        assert_eq!(payer.becomes(&id, "completed").await.order.waits_for, None);
    })
    .await;
}

fn wallet(stack: &Stack) -> gateway::app::payout::Wallet {
    gateway::app::payout::Wallet::open(&stack.gateway).unwrap()
}

/// A seed of another account key could not sign for any received funds.
#[tokio::test(flavor = "multi_thread")]
async fn a_wallet_of_another_account_is_refused_and_a_sealed_one_opens() {
    use gateway::{
        app::payout::{NoWallet, Wallet},
        asset::address::sandbox,
    };
    let file = std::env::temp_dir().join(format!("payout-seed-{}", uuid::Uuid::now_v7()));
    let toml = only(Network::Polygon) + &format!("payouts.seed_file = {file:?}\n");
    with_configured_stack(&toml, |stack| async move {
        let mut seed = [0_u8; 64];
        hex::decode_to_slice(sandbox::seed(), &mut seed).unwrap();
        std::fs::write(&file, sealed(&stack.gateway, &seed)).unwrap();
        assert!(Wallet::open(&stack.gateway).is_ok());
        seed[0] ^= 1;
        std::fs::write(&file, sealed(&stack.gateway, &seed)).unwrap();
        let refused = Wallet::open(&stack.gateway).err();
        assert!(matches!(refused, Some(NoWallet::OtherAccount("evm"))), "{refused:?}");
        seed[0] ^= 1;
        std::fs::write(&file, sealed(&stack.gateway, &seed)).unwrap();
        // With a key of its own the seed opens under nothing else, the master key included.
        let apart = format!("payouts.seed_key = {:?}\n", "cd".repeat(32));
        let apart = stack.sibling(&apart);
        assert!(matches!(Wallet::open(&apart).err(), Some(NoWallet::Sealed(_))));
        std::fs::write(&file, sealed(&apart, &seed)).unwrap();
        assert!(Wallet::open(&apart).is_ok());
        assert!(matches!(Wallet::open(&stack.gateway).err(), Some(NoWallet::Sealed(_))));
        std::fs::write(&file, sandbox::seed()).unwrap();
        assert!(matches!(Wallet::open(&stack.gateway).err(), Some(NoWallet::Sealed(_))));
        std::fs::remove_file(&file).unwrap();
    })
    .await;
}
