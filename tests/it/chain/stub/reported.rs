//! Behaviour that was reported of nodes of these networks: internal transactions that are missing,
//! shards that are split, and transactions whose receipts are executed blocks apart.

use gateway::chain::{
    Agreement, Block, ChainError, ChainSource, Transfer, TransferAsset, near::NearSource,
    tron::TronSource,
};
use secrecy::SecretString;
use serde_json::{Value, json};
use support::{
    fault::{
        faulty_line::{Fault, FaultyLine},
        fired::fired,
    },
    node::{
        java_tron::{TronTx, internal},
        near_data::{NearReceipt, random_hash, transfer},
    },
};

use super::{
    driver::{Flavour, StubDriver},
    near::Near,
    tron::{SOME_CONTRACT, Tron},
};
use crate::chain::conformance::{Coin, Output};

/// As a node without `vm.saveInternalTx` answers.
fn without_internals(path: &str, body: &mut Value) {
    if path.ends_with("gettransactioninfobyblocknum") {
        for info in body.as_array_mut().into_iter().flatten() {
            info.as_object_mut().unwrap().remove("internal_transactions");
        }
    }
}

/// Reads one block through three nodes, of which some leave out internal transactions.
async fn read(lines: &[FaultyLine; 3], leave_out: [bool; 3]) -> Result<Block, ChainError> {
    let source = |line: &FaultyLine| TronSource::new(&SecretString::from(line.url())).unwrap();
    for (line, leaves_out) in lines.iter().zip(leave_out) {
        line.set(leaves_out.then_some(Fault::Tells(without_internals)));
    }
    let [first, witnesses @ ..] = lines;
    let nodes = Agreement::new(source(first), witnesses.iter().map(source).collect());
    let head = nodes.head().await.unwrap();
    Ok(nodes.block(head.height).await?.unwrap())
}

/// One such node alone is believed, as nothing in a block commits to them.
#[tokio::test]
async fn trx_that_a_contract_sent_is_credited_although_one_of_three_nodes_does_not_list_it() {
    let chain = StubDriver::<Tron>::start().await;
    let to = Tron::fresh_address();
    let sent = internal(&to, &json!({ "callValue": 5 }), "call");
    chain.wait(vec![TronTx::call(SOME_CONTRACT, Vec::new(), vec![sent])]);
    chain.mine_now();
    let mut lines = Vec::new();
    for _ in 0..3 {
        lines.push(FaultyLine::to(chain.node.url()).await.unwrap());
    }
    let lines: [FaultyLine; 3] = lines.try_into().ok().unwrap();

    for one in 0..3 {
        let block = read(&lines, [0, 1, 2].map(|node| node == one)).await.unwrap();
        let [paid] = block.transfers.as_slice() else { panic!("{:?}", block.transfers) };
        assert_eq!((paid.to.as_str(), &paid.asset), (to.as_str(), &TransferAsset::Native));
    }
    let two = read(&lines, [true, true, false]).await.unwrap();
    assert_eq!(two.transfers, [], "two of three are believed, and so is one that is alone");
    let spoilt = lines.iter().map(FaultyLine::spoilt).sum::<usize>();
    assert!(spoilt >= 3, "{spoilt} answers were changed");
    fired(spoilt);

    // Of two nodes that differ none is believed, so the network waits, loudly.
    lines[0].set(Some(Fault::Tells(without_internals)));
    let source = |line: &FaultyLine| TronSource::new(&SecretString::from(line.url())).unwrap();
    let pair = Agreement::new(source(&lines[0]), vec![source(&lines[2])]);
    let head = pair.head().await.unwrap();
    let refused = pair.block(head.height).await;
    assert!(matches!(refused, Err(ChainError::Inconsistent { .. })), "{refused:?}");
}

/// All blocks from the one after `above` to the head, as a follower reads them.
async fn read_on(source: &NearSource, above: u64) -> Vec<Transfer> {
    let mut transfers = Vec::new();
    let mut height = above + 1;
    while height <= source.head().await.unwrap().height {
        let block = source.block(height).await.unwrap().unwrap();
        height = block.header.height + 1;
        transfers.extend(block.transfers);
    }
    transfers
}

#[tokio::test]
async fn payments_around_a_split_of_shards_of_near_are_read_once_each() {
    let chain = StubDriver::<Near>::start().await;
    chain.mine_now();
    let first = chain.source.head().await.unwrap();
    // A quiet shard before the split, which no chunk of its number in the next block confirms.
    {
        let mut node = chain.node.node();
        node.resharded_at = Some(first.height + 4);
        node.quiet_at = Some(first.height + 3);
    }
    let to: Vec<_> = (0..12).map(|_| Near::fresh_address()).collect();
    for (number, to) in to.iter().enumerate() {
        let coin = if number % 2 == 0 { Coin::Native } else { Coin::Token };
        // Two payments a block, so that more than one shard has some.
        chain.wait(chain.flavour.pay(coin, &[Output::new(to, 5)]).0);
        if number % 2 == 1 {
            chain.mine_now();
        }
    }
    chain.mine_now();
    let paid: Vec<_> = read_on(&chain.source, first.height).await;
    let mut paid: Vec<_> = paid.into_iter().map(|transfer| transfer.to).collect();
    let mut wanted = to;
    paid.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(paid, wanted);
    fired(1);
}

#[tokio::test]
async fn receipts_of_one_transaction_of_near_pay_in_the_blocks_that_execute_them() {
    let chain = StubDriver::<Near>::start().await;
    chain.mine_now();
    let first = chain.source.head().await.unwrap();
    let (to, tx_hash) = (Near::fresh_address(), random_hash());
    let receipt = |units| NearReceipt::new(&tx_hash, &to, vec![transfer(units)]);
    // Tokens that are lent, and taken back blocks later.
    let [lent, taken_back] = NearReceipt::token_and_back("usdt.tether-token.near", &to, "9");
    for executed in [vec![receipt("5"), lent], Vec::new(), vec![receipt("6")], vec![taken_back]] {
        chain.wait(executed);
        chain.mine_now();
    }
    chain.mine_now();
    let paid = read_on(&chain.source, first.height).await;
    let ours: Vec<_> = paid.iter().filter(|transfer| transfer.to == to).collect();
    let [one, other] = ours.as_slice() else { panic!("{ours:?}") };
    assert_eq!((&one.tx_hash, &other.tx_hash), (&tx_hash, &tx_hash));
    assert_ne!(one.key, other.key, "each receipt is a payment of its own");
    assert!(ours.iter().all(|transfer| transfer.asset == TransferAsset::Native));
    fired(1);
}
