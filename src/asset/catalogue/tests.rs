//! The catalogue against the spec's tables, and the data against itself.

use expect_test::{Expect, expect};

use super::{load::load, *};

fn found(currency: Option<&Currency>) -> String {
    currency.map_or_else(|| "-".to_owned(), Currency::token_id)
}

#[test]
fn the_minimums_are_the_table_of_the_spec() {
    let catalogue = Catalogue::get();
    let mut table = String::from("| Network | Native min | Token min |\n|---|---|---|\n");
    for network in Network::ALL {
        let mut tokens: Vec<_> = catalogue
            .all()
            .iter()
            .filter(|c| c.network == network && !c.is_native() && c.enabled_by_default)
            .map(|currency| currency.min_usd)
            .collect();
        tokens.dedup();
        let token = match tokens.as_slice() {
            [] => "-".to_owned(),
            same => same.iter().map(Decimal::to_string).collect::<Vec<_>>().join(" and "),
        };
        let native = catalogue.native(network).min_usd;
        table.push_str(&format!("| {network} | {native} | {token} |\n"));
    }
    let spec: Expect = expect![[r#"
        | Network | Native min | Token min |
        |---|---|---|
        | bitcoin | 250 | - |
        | litecoin | 6 | - |
        | dogecoin | 75 | - |
        | ethereum | 300 | 500 |
        | polygon | 2 | 2 |
        | bsc | 20 | 20 |
        | arbitrum | 15 | 15 |
        | optimism | 10 | 10 |
        | base | 10 | 5 |
        | avalanche | 15 | 15 |
        | tron | 2 | 100 |
        | solana | 2 | 5 |
        | near | 5 | - |
        | ton | 5 | - |
        | thorchain | 5 | - |
    "#]];
    spec.assert_eq(&table);
}

#[test]
fn only_tokens_without_a_listed_minimum_are_off() {
    let off: Vec<_> = Catalogue::get()
        .all()
        .iter()
        .filter(|currency| !currency.enabled_by_default)
        .map(|currency| format!("{} {}", currency.token_id(), currency.min_usd))
        .collect();
    assert_eq!(off, ["usdtnear@near 5", "usdcnear@near 5", "usdtton@ton 5"]);
}

#[test]
fn every_entry_has_the_standard_of_its_network() {
    for currency in Catalogue::get().all() {
        let token = match currency.family() {
            Family::Evm if currency.network == Network::Bsc => Some(Standard::Bep20),
            Family::Evm => Some(Standard::Erc20),
            Family::Tron => Some(Standard::Trc20),
            Family::Solana => Some(Standard::Spl),
            Family::Near => Some(Standard::Nep141),
            Family::Ton => Some(Standard::Jetton),
            Family::Bitcoin | Family::Litecoin | Family::Dogecoin | Family::Thorchain => None,
        };
        let expected = if currency.is_native() { Some(Standard::Native) } else { token };
        assert_eq!(Some(currency.standard), expected, "{}", currency.token_id());
    }
}

#[test]
fn every_contract_is_a_sound_address_in_the_spelling_of_explorers() {
    for currency in Catalogue::get().all() {
        let Some(contract) = currency.contract else { continue };
        let canonical = match address::ton::TonAddress::parse(contract) {
            // Jettons are contracts, and contracts are shown as bounceable.
            Ok(master) => Ok(master.bounceable()),
            Err(_) => address::validate(currency.network, contract),
        };
        assert_eq!(canonical.as_deref(), Ok(contract), "{}", currency.token_id());
    }
}

#[test]
fn every_entry_is_found_by_each_of_its_names() {
    let catalogue = Catalogue::get();
    assert_eq!(catalogue.all().len(), 74);
    for currency in catalogue.all() {
        let (id, network) = (currency.token_id(), Some(currency.network.name()));
        let names = currency.aliases.iter().chain([&currency.code, &currency.symbol]);
        for name in names {
            assert_eq!(catalogue.resolve(name, network), Some(currency), "{id} as {name}");
        }
        for alias in &currency.aliases {
            assert_eq!(catalogue.resolve(alias, None), Some(currency), "{id} as {alias}");
        }
        assert_eq!(catalogue.by_token_id(&id), Some(currency), "{id}");
        assert_eq!(catalogue.named(&id), Some(currency), "{id}");
        match currency.contract {
            Some(contract) => {
                assert_eq!(catalogue.by_contract(currency.network, contract), Some(currency));
            }
            None => assert_eq!(catalogue.native(currency.network), currency),
        }
    }
}

#[test]
fn a_pay_currency_means_what_the_api_says() {
    let cases = [
        // (pay_currency, network, resolved entry)
        ("btc", None, "btc@bitcoin"),
        ("BTC", None, "btc@bitcoin"),
        ("eth", None, "eth@ethereum"),
        ("eth", Some("base"), "eth@base"),
        ("ethbase", None, "eth@base"),
        ("etharb", None, "eth@arbitrum"),
        ("ethop", None, "eth@optimism"),
        ("eth", Some("bsc"), "ethbsc@bsc"),
        ("eth", Some("bitcoin"), "-"),
        ("matic", None, "pol@polygon"),
        ("matic", Some("polygon"), "pol@polygon"),
        ("maticmainnet", None, "pol@polygon"),
        ("avaxc", None, "avax@avalanche"),
        ("bnbbsc", None, "bnb@bsc"),
        ("usdt", None, "-"),
        ("usdt", Some("polygon"), "usdtmatic@polygon"),
        ("USDT", Some("Tron"), "usdttrc20@tron"),
        ("usdt", Some("base"), "-"),
        ("usdc", None, "usdcerc20@ethereum"),
        ("usdc", Some("polygon"), "usdcmatic@polygon"),
        ("usdc.e", Some("polygon"), "usdcematic@polygon"),
        ("dai", None, "daierc20@ethereum"),
        ("dai", Some("optimism"), "daiop@optimism"),
        ("usdtmatic", None, "usdtmatic@polygon"),
        ("UsdtMatic", None, "usdtmatic@polygon"),
        ("usdtmatic", Some("polygon"), "usdtmatic@polygon"),
        ("usdtmatic", Some("ethereum"), "-"),
        ("usdcop", None, "usdcop@optimism"),
        ("arb", None, "arbarb@arbitrum"),
        ("op", None, "opop@optimism"),
        ("btc", Some(""), "-"),
        ("btc", Some("nowhere"), "-"),
        ("", None, "-"),
        (" btc", None, "-"),
        ("all", None, "-"),
    ];
    for (pay_currency, network, expected) in cases {
        let resolved = found(Catalogue::get().resolve(pay_currency, network));
        assert_eq!(resolved, expected, "{pay_currency} on {network:?}");
    }
}

#[test]
fn an_operator_names_a_currency_by_code_or_by_code_and_network() {
    let cases = [
        ("usdtmatic", "usdtmatic@polygon"),
        ("USDTMATIC@POLYGON", "usdtmatic@polygon"),
        ("usdt@polygon", "usdtmatic@polygon"),
        ("eth", "eth@ethereum"),
        ("eth@arbitrum", "eth@arbitrum"),
        ("eth@", "-"),
        ("@polygon", "-"),
        ("eth@base@base", "-"),
    ];
    for (text, expected) in cases {
        assert_eq!(found(Catalogue::get().named(text)), expected, "{text}");
    }
    // A token id is ours, exact, and knows no aliases.
    for text in ["USDTMATIC@polygon", "usdt@polygon", "matic@polygon", "usdtmatic"] {
        assert_eq!(found(Catalogue::get().by_token_id(text)), "-", "{text}");
    }
}

#[test]
fn a_contract_is_found_in_every_spelling_its_network_allows_and_on_no_other() {
    let cases = [
        (Network::Polygon, "0xc2132d05d31c914a87c6611c10748aeb04b58e8f", "usdtmatic@polygon"),
        (Network::Polygon, "0XC2132D05D31C914A87C6611C10748AEB04B58E8F", "usdtmatic@polygon"),
        (Network::Ethereum, "0xc2132d05d31c914a87c6611c10748aeb04b58e8f", "-"),
        // One issuer, one address, two networks.
        (Network::Ethereum, "0xc5f0f7b66764f6ec8c8dff7ba683102295e16409", "fdusderc20@ethereum"),
        (Network::Bsc, "0xc5f0f7b66764f6ec8c8dff7ba683102295e16409", "fdusdbsc@bsc"),
        (Network::Tron, "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", "usdttrc20@tron"),
        (Network::Tron, "41a614f803b6fd780986a42c78ec9c7f77e6ded13c", "usdttrc20@tron"),
        (Network::Tron, "tr7nhqjekqxgtci8q8zy4pl8otszgjlj6t", "-"),
        (Network::Solana, "Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB", "usdtsol@solana"),
        (Network::Solana, "es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB", "-"),
        (Network::Near, "usdt.tether-token.near", "usdtnear@near"),
        (Network::Ton, "EQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_sDs", "usdtton@ton"),
        (
            Network::Ton,
            "0:b113a994b5024a16719f69139328eb759596c38a25f59028b146fecdc3621dfe",
            "usdtton@ton",
        ),
        (Network::Ethereum, "", "-"),
    ];
    for (network, contract, expected) in cases {
        let by_contract = found(Catalogue::get().by_contract(network, contract));
        assert_eq!(by_contract, expected, "{contract} on {network}");
    }
}

#[test]
fn data_that_contradicts_itself_is_refused() {
    const DATA: &str = include_str!("catalogue.json");
    let cases = [
        // (original text, replacement, error)
        (r#""code": "ltc""#, r#""code": "btc""#, "btc: used twice, or not in lower case"),
        (r#""code": "usdtarb""#, r#""code": "eth""#, "eth: used twice, or not in lower case"),
        (
            r#""code": "usdtarb""#,
            r#""code": "USDTARB""#,
            "USDTARB: used twice, or not in lower case",
        ),
        (r#""code": "usdtarb""#, r#""code": "all""#, "all: used twice, or not in lower case"),
        (r#"["avaxc"]"#, r#"["trx"]"#, "trx: used twice, or not in lower case"),
        (r#"["avaxc"]"#, r#"["usdc"]"#, "usdc: used twice, or not in lower case"),
        (
            r#""symbol": "USDC.E", "network": "optimism""#,
            r#""symbol": "USDC", "network": "optimism""#,
            "usdceop@optimism: the symbol is used twice on its network, or not in upper case",
        ),
        (
            r#""symbol": "BTCB""#,
            r#""symbol": "BTCb""#,
            "btcbbsc@bsc: the symbol is used twice on its network, or not in upper case",
        ),
        (
            r#""standard": "BEP20""#,
            r#""standard": "BEP2""#,
            "usdtbsc: an unknown standard, or one that contradicts the contract",
        ),
        (
            r#""standard": "native""#,
            r#""standard": "ERC20""#,
            "btc: an unknown standard, or one that contradicts the contract",
        ),
        (
            "0xaf88d065e77c8cC2239327C5EDb3A432268e5831",
            "0xFD086BC7CD5C481DCC9C85EBE478A1C0B69FCBB9",
            "usdcarb@arbitrum: a contract that another entry has",
        ),
        (
            r#""near", "native_min_usd": "5""#,
            r#""near", "native_min_usd": "5e""#,
            "near: a minimum that is not a decimal number",
        ),
        (
            r#"{ "network": "near", "#,
            r#"{ "network": "ton", "#,
            "ton: not exactly one row of minimums",
        ),
        (
            r#""network": "thorchain", "standard""#,
            r#""network": "ton", "standard""#,
            "ton: not exactly one coin",
        ),
        (
            r#""network": "thorchain", "standard""#,
            r#""network": "mars", "standard""#,
            "mars: an unknown network",
        ),
    ];
    for (old, new, complaint) in cases {
        assert!(DATA.contains(old), "{old}");
        let text: &'static str = DATA.replacen(old, new, 1).leak();
        let error = load(text).expect_err(new);
        assert_eq!(error.to_string(), complaint, "{new}");
    }
}
