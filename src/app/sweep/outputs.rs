//! Planning on bitcoin-like networks: outputs that are worth their input, many to a transaction.

use uuid::Uuid;

use super::{
    SweepError,
    plan::{Found, LOOKED_MAX, Reason},
};
use crate::{
    app::Gateway,
    asset::{Network, address, catalogue::Catalogue},
    chain::pay::UtxoPayer,
    money::BaseUnits,
    payout::{
        coins::Place,
        recipients,
        spend::{self, Lock},
    },
    storage::sweeps::{
        NewCoin, NewTransaction,
        candidates::{self, Output},
    },
    sweep::{
        check::Pinned,
        plan::{From, Input, Transaction},
        worth::{INPUTS_MAX, fee_of, input_fee, is_worth},
    },
};

/// Parts that every transaction of the network has in common.
struct Terms<'a> {
    network: Network,
    asset: String,
    pinned: &'a Pinned,
    lock: Lock,
    script_bytes: usize,
    rate: u64,
    begin: Place,
}

pub(super) async fn plan(
    gateway: &Gateway,
    pinned: &Pinned,
    (network, payer): (Network, &UtxoPayer),
    limit: usize,
) -> Result<Found, SweepError> {
    let asset = Catalogue::get().native(network).token_id();
    let mut found = Found::default();
    // Read before the outputs are: no block up to this one has a transaction that is not signed.
    let begin = payer.tip().await?;
    let asked = u64::try_from(payer.sweep_fee().await?.rate).unwrap_or(u64::MAX);
    let rate = asked.max(spend::fee_rate_floor(network.family()));
    let mut connection = gateway.db.connection().await?;
    let outputs = candidates::outputs(&mut connection, network, LOOKED_MAX).await?;
    drop(connection);
    if u128::from(rate) > pinned.fee_rate_max {
        for output in outputs {
            found.skip(&asset, Reason::FeeRate, output.amount);
        }
        return Ok(found);
    }
    let script = address::script_of(network, pinned.realm, &pinned.treasury);
    let (Some(lock), Some(script)) = (Lock::of(network.family()), script) else {
        return Err(SweepError::NoNode(network));
    };
    let script_bytes = script.len();
    let terms = Terms { network, asset, pinned, lock, script_bytes, rate, begin };
    let (outputs, foreign): (Vec<_>, Vec<_>) =
        outputs.into_iter().partition(|output| gateway.has_key_of(network, &output.place));
    for output in foreign {
        let named = (output.outpoint.as_str(), output.amount);
        found.skip_named(&terms.asset, Reason::OtherKey, named);
    }
    let mut taken = Vec::new();
    for some in outputs.chunks(INPUTS_MAX) {
        let room = limit.saturating_sub(taken.len());
        if room == 0 {
            break;
        }
        taken.extend(worthy(payer, &terms, (some, room), &mut found).await?);
    }
    for group in taken.chunks(INPUTS_MAX) {
        draft(&terms, group, &mut found)?;
    }
    Ok(found)
}

/// Up to `room` of these outputs that can be taken. What is left out takes no room: outputs that
/// stay for ever would keep all others from any plan.
async fn worthy(
    payer: &UtxoPayer,
    terms: &Terms<'_>,
    (outputs, room): (&[Output], usize),
    found: &mut Found,
) -> Result<Vec<(Output, Vec<u8>)>, SweepError> {
    let outputs = spendable(payer, terms, outputs, found).await?;
    let fee = BaseUnits::new(input_fee(terms.lock, terms.script_bytes, terms.rate).into());
    let (worth, dear): (Vec<_>, Vec<_>) = outputs
        .into_iter()
        .partition(|output| is_worth(fee, output.amount, terms.pinned.fee_percent_max));
    for output in dear {
        found.skip(&terms.asset, Reason::Dear, output.amount);
    }
    proved(payer, terms, (worth, room), found).await
}

/// Those that the node's chain has, spent by nothing.
async fn spendable(
    payer: &UtxoPayer,
    terms: &Terms<'_>,
    outputs: &[Output],
    found: &mut Found,
) -> Result<Vec<Output>, SweepError> {
    let mut kept = Vec::with_capacity(outputs.len());
    let names: Vec<_> = outputs.iter().map(|output| output.outpoint.clone()).collect();
    for (output, is_there) in outputs.iter().zip(payer.are_spendable(&names).await?) {
        if is_there {
            kept.push(output.clone());
        } else {
            found.skip(&terms.asset, Reason::Gone, output.amount);
        }
    }
    Ok(kept)
}

/// Up to `room` whose amount the transaction that made them proves, with its bytes.
async fn proved(
    payer: &UtxoPayer,
    terms: &Terms<'_>,
    (outputs, room): (Vec<Output>, usize),
    found: &mut Found,
) -> Result<Vec<(Output, Vec<u8>)>, SweepError> {
    let mut kept = Vec::with_capacity(outputs.len());
    for output in outputs {
        if kept.len() == room {
            break;
        }
        match payer.previous(&output.outpoint, output.height).await? {
            Some(previous) => kept.push((output, previous)),
            None => {
                let named = (output.outpoint.as_str(), output.amount);
                found.skip_named(&terms.asset, Reason::Unproved, named);
            }
        }
    }
    Ok(kept)
}

/// One transaction of these outputs, unless they are not worth it together.
fn draft(
    terms: &Terms<'_>,
    outputs: &[(Output, Vec<u8>)],
    found: &mut Found,
) -> Result<(), SweepError> {
    let Terms { network, pinned, .. } = terms;
    let whole = outputs.iter().map(|(output, _)| output.amount);
    let whole = whole.fold(BaseUnits::ZERO, BaseUnits::saturating_add);
    let fee = fee_of(terms.lock, outputs.len(), terms.script_bytes, terms.rate);
    let fee_max = BaseUnits::new(fee.into());
    let amount = whole.remaining_after(fee_max);
    let is_small = amount < recipients::least_output(network.family());
    if is_small || !is_worth(fee_max, whole, pinned.fee_percent_max) {
        for (output, _) in outputs {
            found.skip(&terms.asset, Reason::Dear, output.amount);
        }
        return Ok(());
    }
    let (mut inputs, mut coins) = (Vec::new(), Vec::new());
    for (output, previous) in outputs {
        inputs.push(Input {
            outpoint: output.outpoint.clone(),
            amount: output.amount,
            address: output.place.address.clone(),
            index: super::plan_index(&output.place)?,
            previous: hex::encode(previous),
        });
        coins.push(NewCoin {
            name: output.outpoint.clone(),
            address_id: output.place.address_id,
            amount: output.amount,
        });
    }
    let (to, asset) = (pinned.treasury.clone(), terms.asset.clone());
    let row = NewTransaction {
        id: Uuid::now_v7(),
        network: *network,
        token_id: asset.clone(),
        account: None,
        relayed: false,
        recipient: to.clone(),
        amount,
        fee_max,
        begin: terms.begin.clone(),
        coins,
    };
    let from = From::Outputs(inputs);
    let planned = Transaction { network: *network, asset, to, amount, fee_max, from };
    found.drafts.push((planned, row));
    Ok(())
}
