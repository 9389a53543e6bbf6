//! One payment of a seed, and what must hold of it at any moment.

use gateway::{
    app::{Gateway, x402::Settled},
    payout::transfer::address_bytes,
    storage::StorageError,
    x402::{
        Reason, Word,
        authorization::Authorization,
        wire::{self, Request},
    },
};
use serde_json::Value;
use support::{lanes::killed_after, node::fake_evm::State};
use uuid::Uuid;

use crate::x402::scene::{CENT, Payer, body, domain};

const SECONDS_VALID: u64 = 3_000;
/// Payments of one seed at most.
pub const PAYMENTS_MAX: u8 = 4;

pub struct Payment {
    seed: u64,
    merchant_id: Uuid,
    request: Request,
    pub payer: String,
    nonce: String,
}

impl Payment {
    /// Payment `number` of a seed, by a payer of that number who signs a nonce of the seed.
    pub fn sign(seed: u64, number: u8, accepts: &Value, (merchant_id, now): (Uuid, u64)) -> Self {
        let payer = Payer::new(number);
        let bytes = |text: &str| address_bytes(text).unwrap();
        let nonce = Word::from(u128::from(seed) + 1);
        let authorization = Authorization {
            from: bytes(&payer.address),
            to: bytes(accepts["payTo"].as_str().unwrap()),
            value: Word::from(CENT),
            valid_after: 0_u64.into(),
            valid_before: (now + SECONDS_VALID).into(),
            nonce,
        };
        let body = body(accepts, &authorization, &payer.sign(&domain(), &authorization));
        let request = wire::request(body.to_string().as_bytes()).unwrap().unwrap();
        let nonce = hex::encode(nonce.bytes());
        Self { seed, merchant_id, request, payer: payer.address, nonce }
    }

    /// One request to settle, cut off after so many polls; `None` if it was, and if it got no
    /// connection in time, as some of two hundred on a busy machine: the API says "retry later".
    pub async fn ask(&self, gateway: &Gateway, polls: u32) -> Option<Settled> {
        let asked = gateway.settle_x402(self.merchant_id, &self.request, None);
        let settled = match killed_after(polls, asked).await? {
            Ok(told) => told.settled,
            Err(StorageError::Database(sqlx::Error::PoolTimedOut)) => return None,
            Err(error) => panic!("seed {}: {error}", self.seed),
        };
        if let Settled::Refused { reason, why, .. } = &settled {
            // It is valid, so nothing else can be said of it.
            let is_for_now = matches!(reason, Reason::Settling | Reason::Verifying);
            assert!(is_for_now, "seed {}: {reason:?} {why}", self.seed);
        }
        Some(settled)
    }

    /// The chain holds it at most once, and no transaction exists that could carry it out again
    /// under another nonce of the wallet.
    pub fn is_paid_at_most_once(&self, chain: &State) {
        let (times, _) = chain.carried_out(&self.payer, &self.nonce);
        assert!(times <= 1, "seed {}: {} paid {times} times", self.seed, self.payer);
        let nonces = chain.nonces_of(&self.payer, &self.nonce);
        assert!(nonces.len() <= 1, "seed {}: {} has {nonces:?}", self.seed, self.payer);
    }

    /// The chain holds it once, and all that were told of a success were told the same.
    pub fn is_paid_once(&self, chain: &State, answers: &[Settled]) {
        let seed = self.seed;
        assert_eq!(chain.carried_out(&self.payer, &self.nonce), (1, CENT), "seed {seed}");
        let mut told: Option<&str> = None;
        for answer in answers {
            let Settled::Done { transaction, amount, payer } = answer else { continue };
            assert_eq!((*amount, payer), (CENT, &self.payer), "seed {seed}");
            assert_eq!(*told.get_or_insert(transaction), transaction.as_str(), "seed {seed}");
        }
        assert!(told.is_some(), "seed {seed}: nobody was told of a success: {answers:?}");
    }
}
