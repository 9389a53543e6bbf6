//! The payers of a network, as it is configured: its own node, and the witnesses without whose word
//! no payment has ended.
//!
//! They are made at the first use and kept, for they keep their connections.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use secrecy::SecretString;

use crate::app::Gateway;
use crate::{
    asset::Network,
    chain::{
        ChainError, UnusableSource,
        pay::{
            Call, Conflicting, EvmPayer, Named, Payer, SimulatedPayer, Standing, Unsigned,
            UtxoPayer, Wanted, Witnesses, Work,
        },
    },
    config::{ChainSettings, ChainSourceKind},
    payout::PayoutFamily,
};

/// A merchant waits while his payout is built, which asks twice, and a request lasts at most 12
/// seconds.
const ANSWER_WITHIN: Duration = Duration::from_secs(4);
/// A node that fails after so long is not asked about the next payment: the worker that holds the
/// order's lease must not wait for each.
const SILENCE_MAX: Duration = Duration::from_secs(2);

/// Whose payments they make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Purpose {
    /// Orders that are paid from addresses of ours.
    Orders,
    /// Payments that merchants sign themselves.
    Merchants,
    /// Collected deposits, which are signed where the cold seed is.
    Sweeps,
}

/// One network's nodes.
pub(crate) struct Payers {
    pub payer: Payer,
    /// The other nodes; none where there is one alone.
    witnesses: Witnesses,
}

impl Payers {
    /// The work of payments, in their order. One estimate alone refuses no payment: the node is
    /// asked again, and then the others, and a payment that any of them estimates is one that can
    /// be made.
    pub async fn works(
        &self,
        payments: &[Unsigned],
    ) -> Result<Vec<Result<Work, ChainError>>, ChainError> {
        let mut works = self.payer.works(payments).await?;
        for (payment, work) in payments.iter().zip(&mut works) {
            if work.as_ref().is_ok_and(|work| is_refused(work, payment)) {
                *work = self.asked_again(payment).await;
            }
        }
        Ok(works)
    }

    async fn asked_again(&self, payment: &Unsigned) -> Result<Work, ChainError> {
        let told = self.payer.work(payment).await?;
        if !is_refused(&told, payment) {
            return Ok(told);
        }
        let mut outcome = Ok(told);
        for node in &self.witnesses.nodes {
            match node.work(payment).await {
                Ok(work) => return Ok(work),
                // Without a second word the row waits.
                Err(error) => outcome = Err(error),
            }
        }
        outcome
    }

    /// The gas of calls of a sender whose key is not ours, in their order. One node's estimate
    /// alone refuses no call: those that it refuses are asked of the others, and of the same node
    /// again where there is none. A call that any of them estimates is one that can be made.
    pub async fn gas(&self, sender: &str, calls: &[Call]) -> Result<Vec<Work>, ChainError> {
        let mut works = self.payer.gas(sender, calls).await?;
        let others = self.witnesses.nodes.iter();
        let again = self.witnesses.nodes.is_empty().then_some(&self.payer);
        let (mut was_seconded, mut failure) = (false, None);
        for node in others.chain(again) {
            let is_refused = |(_, work): &(usize, &Work)| matches!(work, Work::Refused(_));
            let refused: Vec<_> =
                works.iter().enumerate().filter(is_refused).map(|(place, _)| place).collect();
            if refused.is_empty() {
                return Ok(works);
            }
            let asked: Vec<_> = refused.iter().map(|place| calls[*place].clone()).collect();
            match node.gas(sender, &asked).await {
                Ok(told) => {
                    was_seconded = true;
                    refused.into_iter().zip(told).for_each(|(place, work)| works[place] = work);
                }
                // Without a second word no recipient is called one that refuses.
                Err(error) => failure = Some(error),
            }
        }
        let still_refused = works.iter().any(|work| matches!(work, Work::Refused(_)));
        match failure {
            Some(error) if still_refused && !was_seconded => Err(error),
            Some(_) | None => Ok(works),
        }
    }

    /// The standings of payments, their end as a witness confirms it too. See
    /// [`Witnesses::standings`].
    pub async fn standings(
        &self,
        payments: &[Wanted],
        required: u64,
    ) -> Result<Vec<Standing>, ChainError> {
        self.witnesses.standings(&self.payer, payments, required).await
    }

    /// The transaction that took the place of one of `payments` for good, as a witness confirms it
    /// too.
    pub async fn conflicting(
        &self,
        payments: &[Wanted],
        named: &Named,
        required: u64,
    ) -> Result<Option<Conflicting>, ChainError> {
        self.witnesses.conflicting(&self.payer, payments, named, required).await
    }

    /// The same of each payment whose standing can be determined, and the reason why that of the
    /// others cannot. Where blocks are read for every payment anew, the obstacle to finding one
    /// hides no other.
    pub async fn standings_told(
        &self,
        payments: &[Wanted],
        required: u64,
    ) -> (Vec<Option<Standing>>, Option<ChainError>) {
        let together = if self.payer.spends_coins() { 1 } else { payments.len().max(1) };
        let (mut told, mut failure) = (Vec::with_capacity(payments.len()), None);
        let mut is_silent = false;
        for some in payments.chunks(together) {
            if is_silent {
                told.extend(some.iter().map(|_| None));
                continue;
            }
            let asked = Instant::now();
            match self.standings(some, required).await {
                Ok(standings) => told.extend(standings.into_iter().map(Some)),
                Err(error) => {
                    told.extend(some.iter().map(|_| None));
                    is_silent = asked.elapsed() > SILENCE_MAX;
                    failure = Some(error);
                }
            }
        }
        (told, failure)
    }
}

/// Returns true if a payment cannot be made as it was quoted.
fn is_refused(work: &Work, payment: &Unsigned) -> bool {
    match work {
        Work::Units(units) => *units > payment.work,
        Work::Refused(_) => true,
    }
}

/// Those of a process.
#[derive(Default)]
pub struct KeptPayers(Mutex<HashMap<(Network, Purpose), Arc<Payers>>>);

impl Gateway {
    /// `None` where nothing can be paid.
    ///
    /// # Errors
    /// When the network's nodes are not configured as they must be.
    pub(crate) fn payers(
        &self,
        network: Network,
        purpose: Purpose,
    ) -> Result<Option<Arc<Payers>>, UnusableSource> {
        let mut kept = self.kept_payers.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(payers) = kept.get(&(network, purpose)) {
            return Ok(Some(payers.clone()));
        }
        let made = self.make_payers(network, purpose)?.map(Arc::new);
        if let Some(payers) = &made {
            kept.insert((network, purpose), payers.clone());
        }
        Ok(made)
    }

    fn make_payers(
        &self,
        network: Network,
        purpose: Purpose,
    ) -> Result<Option<Payers>, UnusableSource> {
        let Some(family) = PayoutFamily::of(network) else { return Ok(None) };
        let chain = self.config.chain(network);
        let (payer, nodes) = match (chain.source, family, purpose) {
            // The simulated chain has no outputs that a merchant could spend, and nothing to
            // collect.
            (ChainSourceKind::Off, ..)
            | (ChainSourceKind::Simulated, PayoutFamily::Utxo, Purpose::Merchants)
            | (ChainSourceKind::Simulated, _, Purpose::Sweeps) => {
                return Ok(None);
            }
            (ChainSourceKind::Simulated, ..) => {
                (Payer::Simulated(SimulatedPayer::new(network, self.db.clone())), Vec::new())
            }
            (ChainSourceKind::Node, ..) => {
                let at = |url| self.payer_at(&chain, family, purpose, url);
                let url = chain.rpc_url.as_ref().ok_or(UnusableSource::NoUrl(network))?;
                (at(url)?, chain.witnesses.iter().map(at).collect::<Result<_, _>>()?)
            }
        };
        Ok(Some(Payers { payer, witnesses: Witnesses { network, nodes } }))
    }

    fn payer_at(
        &self,
        chain: &ChainSettings,
        family: PayoutFamily,
        purpose: Purpose,
        url: &SecretString,
    ) -> Result<Payer, UnusableSource> {
        let network = chain.network;
        Ok(match family {
            PayoutFamily::Evm => {
                let payer = EvmPayer::new(network, url, chain.chain_id)?;
                Payer::Evm(match purpose {
                    Purpose::Orders | Purpose::Sweeps => payer,
                    Purpose::Merchants => payer.with_deadline(ANSWER_WITHIN),
                })
            }
            PayoutFamily::Utxo => {
                let (genesis, db) = (chain.genesis.as_deref(), self.db.clone());
                let payer = UtxoPayer::new(network, url, genesis, chain.fee_rate, db)?;
                Payer::Utxo(Box::new(match purpose {
                    Purpose::Orders => payer,
                    Purpose::Merchants => payer.for_merchants(ANSWER_WITHIN),
                    Purpose::Sweeps => payer.for_sweeps(),
                }))
            }
        })
    }
}
