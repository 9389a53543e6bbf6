//! Prices of hosted forms. A form is not signed: its buyer may have edited every field, so its IPN
//! always tells the price that was paid.

use super::order::IpnType;
use crate::money::Price;

/// Pieces of one order; more are a mistake.
pub const QUANTITY_MAX: u32 = 10_000;

/// `cmd` of a hosted form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormKind {
    /// `_pay` and `_pay_auto`.
    Button,
    /// `_pay_simple`.
    Simple,
    /// `_donate`.
    Donation,
    /// `_pos`: the amount is typed at the till.
    Pos,
}

impl FormKind {
    pub fn named(cmd: &str) -> Option<Self> {
        match cmd {
            "_pay" | "_pay_auto" => Some(Self::Button),
            "_pay_simple" => Some(Self::Simple),
            "_donate" => Some(Self::Donation),
            "_pos" => Some(Self::Pos),
            _ => None,
        }
    }

    pub const fn ipn_type(self) -> IpnType {
        match self {
            Self::Button => IpnType::Button,
            Self::Simple | Self::Pos => IpnType::Simple,
            Self::Donation => IpnType::Donation,
        }
    }
}

/// The parts of a price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Priced {
    /// Of one piece.
    pub amount: Price,
    pub quantity: u32,
    pub tax: Price,
    pub shipping: Price,
}

impl Priced {
    /// Price of all pieces; `None` if it is no price.
    pub fn subtotal(&self) -> Option<Price> {
        let atoms = self.amount.atoms().checked_mul(u128::from(self.quantity))?;
        in_range(atoms)
    }

    /// The whole price; `None` if it is no price, or zero.
    pub fn total(&self) -> Option<Price> {
        let atoms = self.subtotal()?.atoms();
        let atoms = atoms.checked_add(self.tax.atoms())?.checked_add(self.shipping.atoms())?;
        in_range(atoms).filter(|price| !price.is_zero())
    }
}

fn in_range(atoms: u128) -> Option<Price> {
    Price::parse(&Price::from_atoms(atoms).to_decimal()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_total_is_pieces_and_tax_and_shipping() {
        let price = |text: &str| Price::parse(text).unwrap();
        let priced = |amount, quantity, tax, shipping| {
            let (amount, tax, shipping) = (price(amount), price(tax), price(shipping));
            Priced { amount, quantity, tax, shipping }.total().map(Price::to_decimal)
        };
        assert_eq!(priced("12.50", 3, "1.2", "4").as_deref(), Some("42.7"));
        assert_eq!(priced("0", 1, "0", "0"), None);
        assert_eq!(priced("0", 1, "0", "0.01").as_deref(), Some("0.01"));
        assert_eq!(priced("999999999999999", 10_000, "0", "0"), None);
    }
}
