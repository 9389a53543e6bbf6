//! Roles, and the part of the gateway that each belongs to.

use crate::vocabulary::vocabulary;

vocabulary! {
    /// The role of an account in one merchant, or among the operators.
    pub enum Role: "role" {
        Admin = "operator-admin",
        OperatorFinance = "operator-finance",
        /// Reads what operators see.
        Support = "operator-support",
        Owner = "owner",
        Developer = "developer",
        Finance = "finance",
        /// Reads what its merchant sees.
        Viewer = "viewer",
    }
}

impl Role {
    /// Operators belong to no merchant.
    pub const fn is_operator(self) -> bool {
        matches!(self, Self::Admin | Self::OperatorFinance | Self::Support)
    }
}
