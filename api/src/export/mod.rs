//! Accounting exports: `/v1/export/…`. Parameters and columns are frozen.

pub mod report;
pub mod route;
