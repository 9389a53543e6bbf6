//! The methods that a node is asked, why, and how often: for a person who chooses a node.
//!
//! The tables repeat what the adapters do, so a test compares them with the calls that the adapters
//! make (`tests/it/chain/needs.rs`), and another with `docs/nodes.md`.

use crate::asset::{Family, Network};

/// The importance of a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Without it the network cannot be followed.
    Required,
    /// Without it something is seen late, costs more calls, or is not compared.
    Wanted,
    /// Asked only where a better method is missing, or to close a gap.
    Instead,
    /// Asked only for a person's or a payout's question about one transaction, token or address.
    Lookup,
}

/// A method that a node is asked.
#[derive(Debug, Clone, Copy)]
pub struct Need {
    pub method: &'static str,
    pub level: Level,
    pub purpose: &'static str,
    /// The consequence of its absence and the remedy; empty where nothing works without it.
    pub without: &'static str,
}

const fn required(method: &'static str, purpose: &'static str) -> Need {
    Need { method, level: Level::Required, purpose, without: "" }
}

const fn wanted(method: &'static str, purpose: &'static str, without: &'static str) -> Need {
    Need { method, level: Level::Wanted, purpose, without }
}

const fn instead(method: &'static str, purpose: &'static str) -> Need {
    Need { method, level: Level::Instead, purpose, without: "" }
}

const fn lookup(method: &'static str, purpose: &'static str) -> Need {
    Need { method, level: Level::Lookup, purpose, without: "" }
}

const EVM: &[Need] = &[
    required("eth_chainId", "shows which chain the node serves"),
    required("eth_getBlockByNumber", "the newest block, and each block with its transactions"),
    wanted(
        "eth_getBlockReceipts",
        "outcomes and token payments of a block in one call",
        "each transfer's receipt and the logs of each block are asked for instead, which is many more calls; \
         choose a node that has it",
    ),
    wanted(
        "eth_call",
        "coins sent by contracts, as the balances of 500 addresses in one call",
        "each open invoice's balance is asked for alone, at each block; choose a node that has it",
    ),
    wanted(
        "eth_getBalance",
        "balances of addresses, which are compared with the books",
        "balances are not compared with the books; choose a node that has it",
    ),
    instead("eth_getTransactionReceipt", "receipts one by one, without eth_getBlockReceipts"),
    instead("eth_getLogs", "the logs of one block by its hash, never of a range"),
    lookup("eth_getCode", "whether a token's contract exists"),
    lookup("eth_getTransactionByHash", "where a transaction is"),
];

const BITCOIN_LIKE: [Need; 7] = [
    required("getblockhash", "the block at a height; the first one shows which chain it is"),
    required("getblockchaininfo", "the newest block, and whether the node is still syncing"),
    required("getblockheader", "the date of the newest block and of those before it"),
    required("getblock", "each block with its transactions (verbosity 2)"),
    wanted(
        "getrawmempool",
        "payments that wait for a block",
        "buyers see a payment only once it is mined; let the node show its mempool",
    ),
    wanted(
        "getmempoolinfo",
        "whether the mempool is loaded after a restart of the node",
        "after a restart of the node, payments that wait may look as if they had vanished; update the node",
    ),
    lookup("getrawtransaction", "each waiting transaction, once"),
];

/// With balances, which nodes of dogecoin do not have.
const BITCOIN: &[Need] = &{
    let [a, b, c, d, e, f, g] = BITCOIN_LIKE;
    let scan = wanted(
        "scantxoutset",
        "balances of addresses, found by a walk through all unspent outputs",
        "balances are not compared with the books; update the node, or let its user call it",
    );
    [a, b, c, d, e, f, scan, g, lookup("gettxout", "where a transaction is")]
};

const DOGECOIN: &[Need] = &{
    let [a, b, c, d, e, f, g] = BITCOIN_LIKE;
    let scan = instead("scantxoutset", "balances of addresses; no node of dogecoin has it");
    [a, b, c, d, e, f, scan, g, lookup("gettxout", "where a transaction is")]
};

const TRON: &[Need] = &[
    required("walletsolidity/getnowblock", "the newest solidified block"),
    required("walletsolidity/getblockbynum", "each block; the first one shows which chain it is"),
    required(
        "walletsolidity/gettransactioninfobyblocknum",
        "outcomes, token payments and payments by contracts of a block",
    ),
    wanted(
        "wallet/getnowblock",
        "payments up to a minute before they are solidified",
        "buyers see a payment up to a minute later; let the node serve /wallet too",
    ),
    wanted(
        "wallet/gettransactioninfobyblocknum",
        "token payments in blocks that are not solidified",
        "buyers see a payment up to a minute later; let the node serve /wallet too",
    ),
    wanted(
        "walletsolidity/getaccount",
        "balances in coins, which are compared with the books",
        "balances are not compared with the books; choose a node that has it",
    ),
    wanted(
        "walletsolidity/triggerconstantcontract",
        "balances in tokens, and the decimals of tokens",
        "balances in tokens are not compared with the books; let the node run constant calls",
    ),
    instead("wallet/getblockbynum", "blocks between two looks that are not solidified"),
    lookup("walletsolidity/gettransactioninfobyid", "where a transaction is"),
];

const SOLANA: &[Need] = &[
    required("getGenesisHash", "shows which cluster the node serves"),
    required("getSlot", "the newest final slot"),
    required("getBlock", "each block with its balances, once"),
    required("getBlocksWithLimit", "slots that have a block"),
    wanted(
        "getBalance",
        "balances in coins, which are compared with the books",
        "balances are not compared with the books; choose a node that has it",
    ),
    wanted(
        "getTokenAccountsByOwner",
        "balances in tokens, which are compared with the books",
        "balances in tokens are not compared with the books; the node needs an index of accounts by owner",
    ),
    lookup("getTokenSupply", "the decimals of tokens"),
    lookup("getSignatureStatuses", "where a transaction is"),
];

const TON: &[Need] = &[
    required("masterchainInfo", "the newest masterchain block, and which network it is of"),
    required("blocks", "each masterchain block and the one before it"),
    required("masterchainBlockShards", "the number of transactions that a block must have"),
    required("transactionsByMasterchainBlock", "all transactions of a block"),
    required("jetton/wallets", "the token and the owner of each contract that received tokens"),
    wanted(
        "accountStates",
        "balances in coins, which are compared with the books",
        "balances are not compared with the books; choose a node that has it",
    ),
    lookup("transactions", "where a transaction is"),
];

const NEAR: &[Need] = &[
    required("last_block/final", "the newest final block"),
    required("block", "each block with the outcomes of its receipts"),
    wanted(
        "last_block/optimistic",
        "payments a second or two before they are final",
        "buyers see a payment a second or two later; let the server keep optimistic blocks",
    ),
    wanted(
        "query",
        "balances at a block, from the node behind state_url",
        "balances are not compared with the books; chains.near.state_url names a node of NEAR",
    ),
    instead("block_opt", "blocks between two looks that are not final"),
];

const THORCHAIN: &[Need] = &[
    required("status", "the newest block, and which chain it is"),
    required("block", "each block and its transactions"),
    required("block_results", "the movements of value in a block"),
    wanted(
        "abci_query",
        "balances at a block, from the bank module",
        "balances are not compared with the books; choose a node that forwards queries",
    ),
    lookup("tx", "where a transaction is"),
];

/// The methods that a node of `network` is asked by watchers, comparisons of balances and lookups.
pub const fn needs(network: Network) -> &'static [Need] {
    match network.family() {
        Family::Evm => EVM,
        Family::Bitcoin | Family::Litecoin => BITCOIN,
        Family::Dogecoin => DOGECOIN,
        Family::Tron => TRON,
        Family::Solana => SOLANA,
        Family::Ton => TON,
        Family::Near => NEAR,
        Family::Thorchain => THORCHAIN,
    }
}

/// Calls that a watcher makes to its first node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// For a look that finds nothing new: the newest block and the payments that wait.
    pub look: u64,
    /// Of these, the calls for payments that wait, which witnesses are not asked for.
    pub waiting: u64,
    /// For a block with payments.
    pub block: u64,
    /// For each transaction: those that wait are read one by one.
    pub transaction: u64,
    /// Addresses whose balances one call reads, at each head; none where blocks show everything.
    pub addresses_per_call: Option<u64>,
}

/// Calls to a good node of `network`, one that has all methods that are wanted.
pub const fn cost(network: Network) -> Cost {
    let plain = Cost { look: 2, waiting: 0, block: 2, transaction: 0, addresses_per_call: None };
    match network.family() {
        Family::Evm => Cost { addresses_per_call: Some(500), ..plain },
        Family::Bitcoin | Family::Litecoin | Family::Dogecoin => {
            Cost { look: 7, waiting: 3, block: 2, transaction: 1, ..plain }
        }
        // A block is made in each look: its outcomes are the third call.
        Family::Tron => Cost { look: 3, waiting: 2, block: 2, ..plain },
        Family::Solana => Cost { look: 5, waiting: 1, block: 1, ..plain },
        Family::Ton => Cost { look: 3, waiting: 0, block: 5, ..plain },
        // The server answers both questions for its newest block with a redirect.
        Family::Near => Cost { look: 4, waiting: 2, block: 1, ..plain },
        Family::Thorchain => plain,
    }
}

/// The usual interval between blocks of `network` in milliseconds.
pub const fn block_every_ms(network: Network) -> u64 {
    match network {
        Network::Bitcoin => 600_000,
        Network::Litecoin => 150_000,
        Network::Dogecoin => 60_000,
        Network::Ethereum => 12_000,
        Network::Thorchain => 6_000,
        Network::Tron => 3_000,
        Network::Polygon | Network::Optimism | Network::Base => 2_000,
        Network::Avalanche => 1_000,
        Network::Near => 600,
        Network::Bsc => 450,
        Network::Solana | Network::Ton => 400,
        Network::Arbitrum => 250,
    }
}
