//! An order never spends more than it received: the database refuses the mistakes that code would
//! have to make first.

use gateway::{
    asset::Network,
    money::BaseUnits,
    storage::{
        StorageError,
        payouts::{self, Books, PayoutOrder},
    },
};
use sqlx::{Connection, PgConnection};
use support::{
    server::stack::{Stack, only, with_configured_stack},
    shop::payouts::Payer,
};

use super::{EVM, two_rows};

const BALANCE: &str = "payout_order_balance";

/// A confirmed order that has received `units`.
async fn holding(stack: &Stack, payer: &Payer, units: u128) -> PayoutOrder {
    let id = payer.draft(EVM, two_rows()).await["id"].as_str().unwrap().to_owned();
    payer.confirm(EVM, &id).await;
    let order = payer.story(&id).await.order;
    let books = Books { credited: BaseUnits::new(units), ..Books::default() };
    let mut connection = stack.database.connect().await;
    stored(&mut connection, &PayoutOrder { books, ..order.clone() }).await.unwrap();
    connection.close().await.unwrap();
    payer.story(&id).await.order
}

async fn stored(connection: &mut PgConnection, order: &PayoutOrder) -> Result<(), StorageError> {
    payouts::update_standing(connection, order).await.map(drop)
}

/// One way to take an amount out of an order's books.
type Spend = fn(&mut Books, BaseUnits);

/// Each way in which an order could spend one unit more than it has.
#[tokio::test(flavor = "multi_thread")]
async fn the_database_refuses_to_pay_out_more_than_an_order_received() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        const HELD: u128 = 1_000;
        let payer = Payer::open(&stack).await;
        let order = holding(&stack, &payer, HELD).await;
        let units = BaseUnits::new;
        let ways: [(&str, Spend); 4] = [
            ("kept", |books, units| books.kept = units),
            ("reserved", |books, units| books.reserved = units),
            ("paid", |books, units| books.paid = units),
            ("returned", |books, units| books.returned = units),
        ];
        let mut connection = stack.database.connect().await;
        for (name, give) in ways {
            let giving = |amount: u128, late: u128| {
                let mut given = order.clone();
                given.books.late = units(late);
                give(&mut given.books, units(amount));
                given
            };
            for (amount, late, is_there) in
                [(HELD, 0, true), (HELD + 1, 0, false), (HELD + 1, 1, true), (HELD + 2, 1, false)]
            {
                let mut tx = connection.begin().await.unwrap();
                let done = stored(&mut tx, &giving(amount, late)).await;
                let what = format!("{name}: {amount} of {HELD} and {late}: {done:?}");
                match done {
                    Ok(()) => assert!(is_there, "{what}"),
                    Err(error) => assert!(!is_there && error.is_constraint(BALANCE), "{what}"),
                }
                tx.rollback().await.unwrap();
            }
        }
        // All of them together, and a reversal that leaves less received than spent.
        let quarter = units(HELD / 4);
        let (kept, reserved, paid) = (quarter, quarter, quarter);
        let full = Books { kept, reserved, paid, returned: quarter, ..order.books };
        let mut given = PayoutOrder { books: full, ..order.clone() };
        stored(&mut connection, &given).await.unwrap();
        given.books.returned = units(HELD / 4 + 1);
        assert!(stored(&mut connection, &given).await.unwrap_err().is_constraint(BALANCE));
        given.books = Books { credited: units(HELD - 1), ..full };
        assert!(stored(&mut connection, &given).await.unwrap_err().is_constraint(BALANCE));
        assert_eq!(payer.story(&order.order_id).await.order.books, full);
        connection.close().await.unwrap();
    })
    .await;
}

/// Directly, without our code: a signature that books missing funds leaves nothing behind.
#[tokio::test(flavor = "multi_thread")]
async fn a_refused_statement_rolls_back_its_whole_transaction() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        let payer = Payer::open(&stack).await;
        let order = holding(&stack, &payer, 1_000).await;
        let mut connection = stack.database.connect().await;
        let mut tx = connection.begin().await.unwrap();
        let payment = "insert into payout_payment (id, order_id, purpose, network, sender, nonce, state, amount, value_usd, tx_hash) \
                       values (gen_random_uuid(), $1, 'pay', 'polygon', 'x', 0, 'signed', 1001, 1, 'x')";
        sqlx::query(payment).bind(order.id).execute(&mut *tx).await.unwrap();
        let reserve = "update payout_order set reserved = reserved + 1001 where id = $1";
        let refused = sqlx::query(reserve).bind(order.id).execute(&mut *tx).await.unwrap_err();
        assert_eq!(refused.as_database_error().unwrap().constraint(), Some(BALANCE));
        drop(tx);
        for column in ["kept", "reserved", "paid", "returned", "failed", "credited", "late"] {
            for less in ["-1", "'NaN'"] {
                let statement = format!("update payout_order set {column} = {less}");
                let statement = sqlx::AssertSqlSafe(statement);
                let refused = sqlx::query(statement).execute(&mut connection).await.unwrap_err();
                let constraint = refused.as_database_error().unwrap().constraint();
                let own = format!("payout_order_{column}");
                assert!(
                    [Some(BALANCE), Some(own.as_str())].contains(&constraint),
                    "{column} = {less}: {constraint:?}"
                );
            }
        }
        connection.close().await.unwrap();
        let story = payer.story(&order.order_id).await;
        assert!(story.payments.is_empty() && story.order.books == order.books);
    })
    .await;
}
