//! Why a transfer was counted, or why not: the chain's word beside our rows.

use std::{collections::HashMap, sync::Arc};

use chrono::{DateTime, Utc};

use super::follow_chain::source_of;
use crate::app::Gateway;
use crate::{
    asset::{
        Network, address,
        catalogue::{Catalogue, Currency},
    },
    chain::{
        Block, ChainError, ChainSource, Located, Transfer, TransferAmount, TransferAsset,
        UnusableSource,
    },
    config::ChainSettings,
    deposit::{BookedAs, State},
    money::BaseUnits,
    storage::{
        PgConnection, StorageError, audit, cursors,
        deposit_search::{self, FoundDeposit, KnownAddress},
    },
};

/// No hash of any network is longer.
const HASH_MAX: usize = 128;

#[derive(Debug, thiserror::Error)]
pub enum ExplainError {
    #[error("{0} is not followed: its source is off")]
    Off(Network),
    #[error("that is no transaction's id on {0}")]
    NotAHash(Network),
    #[error("nothing was found by balance on {network} as {key}")]
    NotFoundByBalance { network: Network, key: String },
    #[error("{0} is no address of any network of ours")]
    UnknownAddress(String),
    #[error("{}", name_the_block(*.network, .tx_hash))]
    CannotLocate { network: Network, tx_hash: String },
    #[error("{network} has no block {height}")]
    NoBlock { network: Network, height: u64 },
    #[error(transparent)]
    Unusable(#[from] UnusableSource),
    #[error(transparent)]
    Chain(#[from] ChainError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The advice where nodes cannot find the block of a transaction: the arguments to add. On NEAR a
/// search would take the name of its sender as well, and it would find the wrong block: a payment
/// is executed in a later one.
fn name_the_block(network: Network, tx_hash: &str) -> String {
    let (why, which) = if network == Network::Near {
        (
            "its servers do not look up transactions".to_owned(),
            "the block of the receipt that pays the address, one or more after the transaction's own",
        )
    } else {
        (format!("the node of {network} did not find it"), "its block")
    };
    format!(
        "{why}. An explorer of {network} that is asked for {tx_hash} shows {which}; add the number of that block to what \
         you typed: --network {network} --height N"
    )
}

/// A transaction as its network reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Mined {
        height: u64,
        mined_at: DateTime<Utc>,
        failed: bool,
    },
    /// In the mempool, or in a block that is not final.
    Waiting,
    Unknown,
}

/// The result of one transfer, or the reason why nothing came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Its receiver is no address that we gave.
    NotOurs,
    /// Nothing moves in a transfer of zero.
    Zero,
    /// It stands in a block from before the address was given: a re-used key, or a stranger's dust.
    BeforeAddress,
    /// The watcher has not come to that block yet.
    NotRead { cursor: Option<u64> },
    /// It arrived unseen by blocks, and was counted by the address's balance under this key.
    ByBalance { key: String },
    /// It was taken out of the books after a reorganisation, and is there: as it was, or as
    /// something else.
    Returned,
    /// It has a row.
    Recorded(Standing),
    /// It should have a row, and has none.
    Missed,
}

/// Where a recorded deposit stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    Waiting,
    Confirming {
        have: u64,
        need: u64,
    },
    /// Final; deposit-matching books it in a moment.
    Final,
    Booked {
        as_what: BookedAs,
        events: Vec<String>,
    },
    /// It vanished before it was confirmed.
    Withdrawn,
    /// It vanished after it was booked.
    Reversed,
}

/// One transfer with its verdict.
#[derive(Debug, Clone)]
pub struct Told {
    pub key: String,
    /// As `match_key` spells it.
    pub to: String,
    pub owner: Option<KnownAddress>,
    /// `None` for a contract that is not in our catalogue.
    pub currency: Option<&'static Currency>,
    pub contract: Option<String>,
    /// In base units.
    pub amount_text: String,
    pub verdict: Verdict,
    /// The operator who imported it, if one did.
    pub imported_by: Option<String>,
    /// The operator who accepted it when it had come back, if one did.
    pub accepted_by: Option<String>,
}

#[derive(Debug, Clone)]
pub struct TransactionStory {
    pub network: Network,
    pub tx_hash: String,
    pub place: Place,
    pub transfers: Vec<Told>,
}

/// Everything known of one address.
#[derive(Debug, Clone)]
pub struct AddressStory {
    pub owner: KnownAddress,
    pub deposits: Vec<(FoundDeposit, Standing)>,
}

impl Gateway {
    /// Reads a transaction from its network and reports the result of each of its transfers.
    /// `height` names the block where nodes cannot find it. A deposit that was found by balance has
    /// no transaction: its key stands for one.
    pub async fn explain_transaction(
        &self,
        network: Network,
        tx_hash: &str,
        height: Option<u64>,
    ) -> Result<TransactionStory, ExplainError> {
        let settings = self.config.chain(network);
        let source = source_of(self, &settings)?.ok_or(ExplainError::Off(network))?;
        if let Some(key) = balance_key(network, tx_hash) {
            return self.explain_found(&settings, &source, key).await;
        }
        let tx_hash = spelt(network, tx_hash).ok_or(ExplainError::NotAHash(network))?;
        let located = match height {
            Some(height) => Located::Mined { height, failed: false },
            None => source.locate(&tx_hash).await?,
        };
        let (place, transfers) = match located {
            Located::Mined { height, failed } => {
                let block = source.block(height).await?.filter(|b| b.header.height == height);
                let block = block.ok_or(ExplainError::NoBlock { network, height })?;
                let mined_at = block.header.mined_at;
                (Place::Mined { height, mined_at, failed }, of_transaction(block, &tx_hash))
            }
            Located::Waiting => {
                let waiting = source.mempool().await?;
                let ours =
                    waiting.transfers.into_iter().filter(|t| same_hash(&t.tx_hash, &tx_hash));
                (Place::Waiting, ours.collect())
            }
            Located::Unknown => (Place::Unknown, Vec::new()),
            Located::CannotTell => return Err(ExplainError::CannotLocate { network, tx_hash }),
        };
        let transfers = self.judge(&settings, &tx_hash, place, &transfers).await?;
        Ok(TransactionStory { network, tx_hash, place, transfers })
    }

    /// A deposit that was found by balance, as its row describes it. It is there again if the
    /// watcher has found it again, on a branch that it still follows.
    async fn explain_found(
        &self,
        settings: &ChainSettings,
        source: &impl ChainSource,
        key: String,
    ) -> Result<TransactionStory, ExplainError> {
        let network = settings.network;
        let mut connection = self.db.connection().await?;
        let keys = std::slice::from_ref(&key);
        let rows = deposit_search::of_transaction(&mut connection, network, &key, keys).await?;
        let Some(row) = rows.into_iter().next() else {
            return Err(ExplainError::NotFoundByBalance { network, key });
        };
        drop(connection);
        let place = match row.height.and_then(|height| u64::try_from(height).ok()) {
            Some(height) => {
                let header = source.header(height).await?;
                let header = header.ok_or(ExplainError::NoBlock { network, height })?;
                Place::Mined { height, mined_at: header.mined_at, failed: false }
            }
            None => Place::Unknown,
        };
        let mut connection = self.db.connection().await?;
        let verdict = if row.state == State::Reversed && row.height.is_some() {
            Verdict::Returned
        } else {
            Verdict::Recorded(standing(&mut connection, settings, &row).await?)
        };
        let families = network.address_families();
        let owner = [row.match_key.clone()];
        let owners = deposit_search::known_addresses(&mut connection, families, &owner).await?;
        let units = row
            .amount_text
            .parse::<u128>()
            .map_err(|error| StorageError::damaged("deposit", error))?;
        let transfer = Transfer {
            key: row.deposit_key,
            tx_hash: row.tx_hash,
            to: row.match_key,
            from: None,
            asset: TransferAsset::Native,
            amount: TransferAmount::Units(BaseUnits::new(units)),
            maturity: 1,
            spends: Arc::default(),
        };
        let owner = owners.into_iter().next();
        let told = of_transfer(&mut connection, network, &transfer, owner, verdict).await?;
        Ok(TransactionStory { network, tx_hash: key, place, transfers: vec![told] })
    }

    /// Everything that ever arrived at an address, according to our rows.
    pub async fn explain_address(&self, text: &str) -> Result<Vec<AddressStory>, ExplainError> {
        let mut connection = self.db.connection().await?;
        let mut stories = Vec::new();
        for family in crate::asset::Family::ALL {
            let keys = [address::match_key(family, text.trim())];
            let found = deposit_search::known_addresses(&mut connection, &[family], &keys).await?;
            for owner in found {
                let mut deposits = Vec::new();
                for row in deposit_search::at_address(&mut connection, owner.id).await? {
                    let settings = self.config.chain(row.network);
                    let standing = standing(&mut connection, &settings, &row).await?;
                    deposits.push((row, standing));
                }
                stories.push(AddressStory { owner, deposits });
            }
        }
        if stories.is_empty() {
            return Err(ExplainError::UnknownAddress(text.to_owned()));
        }
        Ok(stories)
    }

    /// The newest deposits that were booked as `booked_as`.
    pub async fn booked_deposits(
        &self,
        booked_as: BookedAs,
        network: Option<Network>,
        limit: i64,
    ) -> Result<Vec<FoundDeposit>, StorageError> {
        let mut connection = self.db.connection().await?;
        deposit_search::booked(&mut connection, booked_as, network, limit).await
    }

    async fn judge(
        &self,
        settings: &ChainSettings,
        tx_hash: &str,
        place: Place,
        transfers: &[Transfer],
    ) -> Result<Vec<Told>, StorageError> {
        let network = settings.network;
        let mut connection = self.db.connection().await?;
        let cursor = cursors::load(&mut connection, network).await?.map(|cursor| cursor.height);
        let keys: Vec<_> = transfers.iter().map(|transfer| transfer.key.clone()).collect();
        let mut receivers: Vec<_> = transfers.iter().map(|t| t.to.clone()).collect();
        let rows = deposit_search::of_transaction(&mut connection, network, tx_hash, &keys).await?;
        receivers.extend(rows.iter().map(|row| row.match_key.clone()));
        let families = network.address_families();
        let owners = deposit_search::known_addresses(&mut connection, families, &receivers).await?;
        let owners: HashMap<_, _> =
            owners.into_iter().map(|owner| (owner.match_key.clone(), owner)).collect();
        let mut rows: HashMap<_, _> =
            rows.into_iter().map(|row| (row.deposit_key.clone(), row)).collect();
        let mut told = Vec::new();
        for transfer in transfers {
            let owner = owners.get(&transfer.to).cloned();
            let verdict = match (rows.remove(&transfer.key), &owner) {
                (Some(row), Some(owner))
                    if row.state == State::Reversed
                        && is_back(network, (place, cursor), transfer, owner) =>
                {
                    Verdict::Returned
                }
                (Some(row), _) => {
                    Verdict::Recorded(standing(&mut connection, settings, &row).await?)
                }
                (None, None) => Verdict::NotOurs,
                (None, Some(owner)) => {
                    self.missing(&mut connection, network, (place, cursor), transfer, owner).await?
                }
            };
            told.push(of_transfer(&mut connection, network, transfer, owner, verdict).await?);
        }
        // Rows that the chain no longer shows.
        for row in rows.into_values() {
            let verdict = Verdict::Recorded(standing(&mut connection, settings, &row).await?);
            let owner = owners.get(&row.match_key).cloned();
            told.push(Told {
                key: row.deposit_key,
                to: row.match_key,
                owner,
                currency: row.token_id.as_deref().and_then(|id| Catalogue::get().by_token_id(id)),
                contract: row.contract,
                amount_text: row.amount_text,
                verdict,
                imported_by: None,
                accepted_by: None,
            });
        }
        Ok(told)
    }

    /// Why a transfer to an address of ours has no row.
    async fn missing(
        &self,
        connection: &mut PgConnection,
        network: Network,
        (place, cursor): (Place, Option<u64>),
        transfer: &Transfer,
        owner: &KnownAddress,
    ) -> Result<Verdict, StorageError> {
        if transfer.amount == TransferAmount::Units(BaseUnits::ZERO) {
            return Ok(Verdict::Zero);
        }
        let Place::Mined { height, mined_at, .. } = place else {
            return Ok(Verdict::NotRead { cursor });
        };
        if is_before(network, (height, mined_at), owner) {
            return Ok(Verdict::BeforeAddress);
        }
        if cursor.is_none_or(|cursor| height > cursor) {
            return Ok(Verdict::NotRead { cursor });
        }
        if transfer.asset == TransferAsset::Native {
            let height = i64::try_from(height).unwrap_or(i64::MAX);
            let key = deposit_search::by_balance(connection, network, owner.id, height).await?;
            if let Some(key) = key {
                return Ok(Verdict::ByBalance { key });
            }
        }
        Ok(Verdict::Missed)
    }
}

/// Returns whether a block is from before an address was given. On its own network heights decide
/// that exactly; on others of its family, whose cursor was not noted, the block's date does.
fn is_before(
    network: Network,
    (height, mined_at): (u64, DateTime<Utc>),
    owner: &KnownAddress,
) -> bool {
    let issued = owner.issued_height.filter(|_| owner.network == network);
    match issued.and_then(|issued| u64::try_from(issued).ok()) {
        Some(issued) => height <= issued,
        None => mined_at < owner.created_at,
    }
}

/// Returns whether the watcher has read a block that pays our address with a deposit that is no
/// longer counted.
fn is_back(
    network: Network,
    (place, cursor): (Place, Option<u64>),
    transfer: &Transfer,
    owner: &KnownAddress,
) -> bool {
    let Place::Mined { height, mined_at, .. } = place else { return false };
    transfer.amount != TransferAmount::Units(BaseUnits::ZERO)
        && cursor.is_some_and(|cursor| height <= cursor)
        && !is_before(network, (height, mined_at), owner)
}

async fn of_transfer(
    connection: &mut PgConnection,
    network: Network,
    transfer: &Transfer,
    owner: Option<KnownAddress>,
    verdict: Verdict,
) -> Result<Told, StorageError> {
    let catalogue = Catalogue::get();
    let (currency, contract) = match &transfer.asset {
        TransferAsset::Native => (Some(catalogue.native(network)), None),
        TransferAsset::Contract(contract) => {
            (catalogue.by_contract(network, contract), Some(contract.clone()))
        }
    };
    let amount_text = match &transfer.amount {
        TransferAmount::Units(units) => units.get().to_string(),
        TransferAmount::Beyond128Bits(text) => text.clone(),
    };
    let key = subject(network, &transfer.key);
    let imported_by = audit::first_to(connection, IMPORTED, &key).await?;
    let accepted_by = audit::first_to(connection, ACCEPTED, &key).await?;
    Ok(Told {
        key: transfer.key.clone(),
        to: transfer.to.clone(),
        owner,
        currency,
        contract,
        amount_text,
        verdict,
        imported_by,
        accepted_by,
    })
}

/// The audit names of a deposit's import: the subject and the action.
pub(crate) const IMPORTED: (&str, &str) = ("deposit", "import");
/// The same for the acceptance of a deposit that had come back.
pub(crate) const ACCEPTED: (&str, &str) = ("deposit", "accept");

pub(crate) fn subject(network: Network, key: &str) -> String {
    format!("{network} {key}")
}

async fn standing(
    connection: &mut PgConnection,
    settings: &ChainSettings,
    row: &FoundDeposit,
) -> Result<Standing, StorageError> {
    Ok(match row.state {
        State::Withdrawn => Standing::Withdrawn,
        State::Reversed => Standing::Reversed,
        State::Final => Standing::Final,
        State::Settled => {
            let unbooked = || StorageError::damaged("deposit", "it is settled and has no booking");
            Standing::Booked {
                as_what: row.booked_as.ok_or_else(unbooked)?,
                events: deposit_search::events_of(connection, row.id).await?,
            }
        }
        State::Seen => {
            let Some(height) = row.height.and_then(|height| u64::try_from(height).ok()) else {
                return Ok(Standing::Waiting);
            };
            let cursor = cursors::load(connection, settings.network).await?;
            let head = cursor.map_or(height, |cursor| cursor.height);
            let own = u64::try_from(row.min_confirmations).unwrap_or(1);
            let need = settings.confirmations.max(own);
            Standing::Confirming { have: (head + 1).saturating_sub(height), need }
        }
    })
}

fn of_transaction(block: Block, tx_hash: &str) -> Vec<Transfer> {
    block.transfers.into_iter().filter(|transfer| same_hash(&transfer.tx_hash, tx_hash)).collect()
}

/// Hex has two spellings; base58 and base64 have one, and no two of them differ in case alone.
fn same_hash(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}

/// A key of something found by balance, as our rows spell it: the address, and the height it was
/// found at first.
fn balance_key(network: Network, text: &str) -> Option<String> {
    let (address, height) = text.trim().rsplit_once('@')?;
    let key = format!("{}@{height}", address::match_key(network.family(), address));
    height.starts_with(|c: char| c.is_ascii_digit()).then_some(key)
}

/// A transaction's id as its network's nodes take it.
fn spelt(network: Network, text: &str) -> Option<String> {
    use crate::asset::Family;
    let text = text.trim();
    let is_odd = |c: char| !(c.is_ascii_alphanumeric() || "+/=_-:".contains(c));
    if text.is_empty() || text.len() > HASH_MAX || text.contains(is_odd) {
        return None;
    }
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let is_hex = digits.bytes().all(|b| b.is_ascii_hexdigit());
    match network.family() {
        Family::Evm if is_hex => Some(format!("0x{}", digits.to_ascii_lowercase())),
        Family::Bitcoin | Family::Litecoin | Family::Dogecoin | Family::Tron if is_hex => {
            Some(digits.to_ascii_lowercase())
        }
        Family::Thorchain if is_hex => Some(digits.to_ascii_uppercase()),
        Family::Solana | Family::Near | Family::Ton => Some(text.to_owned()),
        Family::Evm
        | Family::Bitcoin
        | Family::Litecoin
        | Family::Dogecoin
        | Family::Tron
        | Family::Thorchain => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn if_nodes_cannot_find_a_block_the_error_names_where_to_find_it_and_what_to_type() {
        let refusal = |network| {
            let tx_hash = "9aHk".to_owned();
            ExplainError::CannotLocate { network, tx_hash }.to_string()
        };
        expect_test::expect![[r#"
            its servers do not look up transactions. An explorer of near that is asked for 9aHk shows the block of the receipt that pays the address, one or more after the transaction's own; add the number of that block to what you typed: --network near --height N
            the node of bitcoin did not find it. An explorer of bitcoin that is asked for 9aHk shows its block; add the number of that block to what you typed: --network bitcoin --height N
        "#]]
        .assert_eq(&format!("{}\n{}\n", refusal(Network::Near), refusal(Network::Bitcoin)));
    }

    #[test]
    fn a_transaction_s_id_is_spelt_as_its_nodes_take_it() {
        let cases = [
            (Network::Bsc, " 0xAB12 ", Some("0xab12")),
            (Network::Bsc, "AB12", Some("0xab12")),
            (Network::Bsc, "xyz", None),
            (Network::Bitcoin, "AB12", Some("ab12")),
            (Network::Thorchain, "0xab12", Some("AB12")),
            (Network::Solana, "5VERv8", Some("5VERv8")),
            (Network::Ton, "a+/b=", Some("a+/b=")),
            (Network::Ton, "a&b", None),
            (Network::Near, "", None),
        ];
        for (network, text, wanted) in cases {
            assert_eq!(spelt(network, text).as_deref(), wanted, "{network} {text}");
        }
    }
}
