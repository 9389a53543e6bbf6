//! The keys of two published phrases against those that other implementations derive: of invoices
//! in `address/vectors.json`, of payouts and gas in `vectors.json`.

use std::collections::BTreeMap;

use secrecy::ExposeSecret;
use serde::Deserialize;

use super::{Child, Phrase, PublicKey, PublicKeys, Seeds, settings};
use crate::asset::{
    Family,
    address::{Account, Realm},
};

#[derive(Deserialize)]
struct Invoices {
    phrases: BTreeMap<String, Words>,
    sets: BTreeMap<String, BTreeMap<String, Rows>>,
}

#[derive(Deserialize)]
struct Words {
    phrase: String,
    seed: String,
}

#[derive(Deserialize)]
struct Rows {
    account_xpub: Option<String>,
    public_key: Option<String>,
    addresses: BTreeMap<u32, String>,
}

#[derive(Deserialize)]
struct Children {
    payouts: BTreeMap<String, OfPhrase>,
    x402: BTreeMap<String, OfPhrase>,
}

#[derive(Deserialize)]
struct OfPhrase {
    phrase: String,
    seed: String,
    keys: BTreeMap<String, Spending>,
}

#[derive(Deserialize)]
struct Spending {
    path: String,
    xpub: String,
    first: String,
}

fn invoices() -> Invoices {
    serde_json::from_str(include_str!("../address/vectors.json")).unwrap()
}

fn children() -> Children {
    serde_json::from_str(include_str!("vectors.json")).unwrap()
}

fn keys(phrase: &str, realm: Realm) -> PublicKeys {
    PublicKeys::of(&Seeds::of(&Phrase::parse(phrase).unwrap()).unwrap(), realm).unwrap()
}

fn find(keys: &PublicKeys, account: Account, family: Family) -> &PublicKey {
    keys.of_account(account).find(|row| row.family == family).unwrap()
}

/// Name of the rows in the file.
fn rows_of(family: Family, realm: Realm) -> String {
    match (family, realm) {
        (Family::Ton, _) => "ton_v4r2_subwallet".to_owned(),
        (Family::Bitcoin | Family::Litecoin | Family::Dogecoin, Realm::Regtest) => {
            format!("{}_regtest", family.name())
        }
        _ => family.name().to_owned(),
    }
}

#[test]
fn a_phrase_gives_the_published_seed() {
    for (name, words) in invoices().phrases {
        let seed = Phrase::parse(&words.phrase).unwrap().seed();
        assert_eq!(hex::encode(seed.expose_secret()), words.seed, "{name}");
    }
}

#[test]
fn every_family_has_the_published_key_and_first_address_of_invoices() {
    let file = invoices();
    for (name, rows) in &file.sets {
        for realm in [Realm::Main, Realm::Regtest] {
            let keys = keys(&file.phrases[name].phrase, realm);
            assert_eq!(keys.of_account(Account::Invoices).count(), Family::ALL.len());
            for family in Family::ALL {
                let (own, of) = (find(&keys, Account::Invoices, family), rows_of(family, realm));
                let wanted = &rows[&of];
                let key = wanted.account_xpub.as_ref().or(wanted.public_key.as_ref());
                assert_eq!(own.key.as_ref(), key, "{name} {of}");
                assert_eq!(&own.first_address, &wanted.addresses[&0], "{name} {of}");
            }
        }
    }
}

#[test]
fn accounts_that_spend_are_those_that_two_other_implementations_derive() {
    let wanted = children();
    let of_payouts = [Account::Payouts, Account::Gas];
    for (name, wanted) in &wanted.payouts {
        assert_child(name, Child::Payouts, wanted, &of_payouts);
    }
    for (name, wanted) in &wanted.x402 {
        assert_child(name, Child::X402, wanted, &[Account::X402]);
    }
}

fn assert_child(name: &str, child: Child, wanted: &OfPhrase, accounts: &[Account]) {
    let words = Phrase::parse(&invoices().phrases[name].phrase).unwrap();
    let phrase: Vec<_> = words.child(child).unwrap().words().collect();
    assert_eq!(phrase.join(" "), wanted.phrase, "{name}");
    let seeds = Seeds::of(&words).unwrap();
    let seed = match child {
        Child::Payouts => &seeds.payouts,
        Child::X402 => seeds.x402.as_ref().unwrap(),
    };
    assert_eq!(hex::encode(seed.expose_secret()), wanted.seed, "{name}");
    let keys = PublicKeys::of(&seeds, Realm::Main).unwrap();
    let rows = keys.keys.iter().filter(|row| accounts.contains(&row.account));
    let rows: Vec<_> = rows.collect();
    assert_eq!(rows.len(), wanted.keys.len());
    for row in rows {
        let is_of_payouts = row.account == Account::Payouts;
        let label = if is_of_payouts { row.family.name() } else { row.account.name() };
        let wanted = &wanted.keys[label];
        assert_eq!(
            (&row.path, row.key.as_ref(), &row.first_address),
            (&wanted.path, Some(&wanted.xpub), &wanted.first),
            "{name} {label}"
        );
    }
}

#[test]
fn no_use_shares_an_address_with_another() {
    let keys = keys(&invoices().phrases["junk"].phrase, Realm::Main);
    let addresses: std::collections::HashSet<_> =
        keys.keys.iter().map(|row| &row.first_address).collect();
    assert_eq!(addresses.len(), keys.keys.len());
}

/// The file is text that operators carry by hand: a reviewer sees each change of it.
#[test]
fn the_settings_name_every_key_and_first_address_once() {
    let keys = keys(&invoices().phrases["abandon"].phrase, Realm::Main);
    let text = settings(&keys);
    for row in &keys.keys {
        for value in [row.key.as_ref(), Some(&row.first_address)].into_iter().flatten() {
            // First addresses of accounts that pay have no setting.
            let is_first = value == &row.first_address;
            let wanted = usize::from(!is_first || row.account == Account::Invoices);
            assert_eq!(text.matches(&format!("\"{value}\"")).count(), wanted, "{value}");
        }
    }
    let names = text.lines().filter_map(|line| Some(line.split_once(" = ")?.0));
    let names: Vec<_> = names.collect();
    let wanted = "bitcoin litecoin dogecoin evm tron ton thorchain pool_signer \
                  bitcoin litecoin dogecoin evm tron solana near ton thorchain \
                  bitcoin litecoin dogecoin evm gas account";
    assert_eq!(names.join(" "), wanted);
    assert!(!text.contains("TEST networks"));
    let test = settings(&self::keys(&invoices().phrases["abandon"].phrase, Realm::Regtest));
    assert!(test.contains("TEST networks") && test.contains("tpub"), "{test}");
}
