//! Named moments at which a process dies if a test says so, as if its machine had lost power there.
//!
//! They stand between the steps that must survive each other: row and commit, commit and message, answer and record.
//! A release build has none.

/// The variable that names the moment.
#[cfg(debug_assertions)]
const DIE_AT: &str = "FAIL_POINT";

/// Ends the process here, without any farewell, if the environment names this moment.
#[cfg_attr(not(debug_assertions), inline(always))]
pub fn fail_point(moment: &'static str) {
    #[cfg(debug_assertions)]
    {
        use std::sync::LazyLock;
        static CHOSEN: LazyLock<Option<String>> = LazyLock::new(|| std::env::var(DIE_AT).ok());
        if CHOSEN.as_deref() == Some(moment) {
            eprintln!("dies at {moment}");
            std::process::abort();
        }
    }
    #[cfg(not(debug_assertions))]
    let _ = moment;
}
