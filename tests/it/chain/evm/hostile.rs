//! Misleading contracts, beyond the cases that the suite has for every chain.

use gateway::{
    asset::Network,
    chain::{ChainSource, Transfer, TransferAmount, TransferAsset},
    money::BaseUnits,
};
use support::{
    fault::fired::fired,
    node::anvil::{address_word, word},
};

use super::driver::{AnvilChain, random_address};
use crate::chain::conformance::{ChainUnderTest, Output};

async fn mined(chain: &mut AnvilChain) -> Vec<Transfer> {
    chain.mine().await;
    let height = chain.anvil.height().await.expect("a height");
    let block = chain.source.block(height).await.expect("a readable block");
    block.expect("a block up to the head").transfers
}

fn units(units: u128) -> TransferAmount {
    TransferAmount::Units(BaseUnits::new(units))
}

#[tokio::test]
async fn a_token_that_takes_a_fee_pays_what_arrives() {
    let mut chain = AnvilChain::start(Network::Bsc).await.unwrap();
    let (to, hostile) = (random_address(), chain.hostile.clone());
    let words = [address_word(&to), word("3e8")];
    chain.call(&hostile, "transferWithFee(address,uint256)", &words).await;
    let transfers = mined(&mut chain).await;
    let to_us: Vec<_> = transfers.iter().filter(|transfer| transfer.to == to).collect();
    assert_eq!(to_us.len(), 1);
    assert_eq!(to_us[0].amount, units(900));
    fired(to_us.len());
    // The fee is the first log of the transaction.
    assert_eq!(to_us[0].key, format!("{}:log:1", to_us[0].tx_hash));
}

#[tokio::test]
async fn a_transfer_event_of_any_amount_is_reported_under_the_contract_that_emitted_it() {
    let mut chain = AnvilChain::start(Network::Bsc).await.unwrap();
    let (to, hostile) = (random_address(), chain.hostile.clone());
    let largest = "115792089237316195423570985008687907853269984665640564039457584007913129639935";
    for digits in ["f".repeat(64), "f".repeat(32)] {
        let words = [address_word(&to), word(&digits)];
        chain.call(&hostile, "pretend(address,uint256)", &words).await;
    }
    let transfers = mined(&mut chain).await;
    let amounts: Vec<_> = transfers.iter().map(|transfer| transfer.amount.clone()).collect();
    assert_eq!(amounts, [TransferAmount::Beyond128Bits(largest.to_owned()), units(u128::MAX)]);
    for transfer in transfers {
        assert_eq!(transfer.asset, TransferAsset::Contract(hostile.clone()));
    }
}

#[tokio::test]
async fn a_key_counts_the_logs_of_its_transaction_and_not_of_its_block() {
    let mut chain = AnvilChain::start(Network::Bsc).await.unwrap();
    let token = chain.token.clone();
    let outputs = [1, 2, 3].map(|units| Output::new(&random_address(), units));
    let first = chain.pay_token(&token, &outputs).await;
    let second = chain.pay_token(&token, &outputs).await;
    let keys: Vec<_> = mined(&mut chain).await.into_iter().map(|transfer| transfer.key).collect();
    let of = |tx_hash: &str| [0, 1, 2].map(|k| format!("{tx_hash}:log:{k}"));
    assert_eq!(keys, [of(&first), of(&second)].concat());
}
