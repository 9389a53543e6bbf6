//! Named moments at which a process crashes on request of a test, as if its machine had lost power,
//! is stopped, or panics.
//!
//! They lie between the steps that must survive each other: row and commit, commit and message,
//! response and record. A release build has none.

/// Environment variables that name the moment.
#[cfg(debug_assertions)]
const DIE_AT: &str = "FAIL_POINT";
#[cfg(debug_assertions)]
const STOP_AT: &str = "STOP_POINT";
#[cfg(debug_assertions)]
const PANIC_AT: &str = "PANIC_POINT";

/// Kills the process here, without any cleanup, or stops it once until it is continued, if the
/// environment names this moment.
#[cfg_attr(not(debug_assertions), inline(always))]
pub fn fail_point(moment: &'static str) {
    #[cfg(debug_assertions)]
    {
        use std::sync::{LazyLock, Once};
        static DIES: LazyLock<Option<String>> = LazyLock::new(|| std::env::var(DIE_AT).ok());
        static STOPS: LazyLock<Option<String>> = LazyLock::new(|| std::env::var(STOP_AT).ok());
        static STOPPED: Once = Once::new();
        if DIES.as_deref() == Some(moment) {
            eprintln!("dies at {moment}");
            std::process::abort();
        }
        if STOPS.as_deref() == Some(moment) {
            STOPPED.call_once(|| stand_still(moment));
        }
    }
    #[cfg(not(debug_assertions))]
    let _ = moment;
}

/// Panics here as often as the environment says: `moment:subject:times`.
#[cfg_attr(not(debug_assertions), inline(always))]
pub fn panic_point(moment: &'static str, subject: &str) {
    #[cfg(debug_assertions)]
    {
        use std::sync::{
            LazyLock,
            atomic::{AtomicU32, Ordering},
        };
        static PANICS: LazyLock<Option<(String, AtomicU32)>> = LazyLock::new(|| {
            let asked = std::env::var(PANIC_AT).ok()?;
            let (place, times) = asked.rsplit_once(':')?;
            Some((place.to_owned(), AtomicU32::new(times.parse().ok()?)))
        });
        let Some((place, left)) = &*PANICS else { return };
        let here = *place == format!("{moment}:{subject}");
        let one_less = |left: u32| left.checked_sub(1);
        if here && left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok() {
            std::panic::panic_any(format!("panics at {moment} of {subject}"));
        }
    }
    #[cfg(not(debug_assertions))]
    let _ = (moment, subject);
}

/// The signal may reach another thread, and stops this one a moment later.
#[cfg(debug_assertions)]
const STOPS_WITHIN: std::time::Duration = std::time::Duration::from_secs(1);

#[cfg(debug_assertions)]
fn stand_still(moment: &str) {
    use rustix::process::{Signal, getpid, kill_process};
    eprintln!("stands still at {moment}");
    if let Err(error) = kill_process(getpid(), Signal::STOP) {
        eprintln!("cannot stand still: {error}");
    }
    std::thread::sleep(STOPS_WITHIN);
}
