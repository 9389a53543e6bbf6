//! Accounting exports: `/v1/export/…`. Parameters and columns are frozen.

pub mod download;
pub mod place;
pub mod report;
pub mod route;
