//! Number of faults that a test caused, for the table of `make test-faults`.

/// Adds to the count of the current test, which may call it more than once: faults it has seen
/// happen, not planned ones. A test of the table that reports nothing, or only zero, fails. It
/// counts in every row of the test.
pub fn fired(times: impl TryInto<u64>) {
    println!("fired {}", times.try_into().unwrap_or(0));
}

/// The same for a test of several rows, in those of these faults alone.
pub fn fired_as(faults: &[u8], times: impl TryInto<u64>) {
    let times = times.try_into().unwrap_or(0);
    for fault in faults {
        println!("fired F{fault} {times}");
    }
}

/// Counts a process that has died at this moment in the rows that this makes true.
pub fn died_at(moment: &str) {
    let faults = DEATHS.iter().find(|(named, _)| *named == moment);
    let (_, faults) = faults.unwrap_or_else(|| panic!("no row is known for a death at {moment}"));
    fired_as(faults, 1_u64);
}

/// Faults of `tests/faults.md` by the moment of a death. After the commit of a block there is no
/// fault left: the next process goes on behind it.
const DEATHS: [(&str, &[u8]); 31] = [
    ("create.written", &[1, 3]),
    ("create.committed", &[2]),
    ("relay.confirmed", &[4]),
    ("watch.written", &[5, 6]),
    ("watch.committed", &[]),
    ("match.written", &[8]),
    ("match.committed", &[7]),
    ("expire.written", &[9]),
    ("expire.committed", &[9]),
    ("expire_one.written", &[9]),
    ("expire_one.committed", &[9]),
    ("remind.written", &[9]),
    ("remind.committed", &[9]),
    ("ipn.sending", &[12]),
    ("ipn.answered", &[11]),
    ("ipn.recorded", &[12]),
    ("mail.begun", &[12]),
    ("mail.sent", &[11]),
    ("mail.recorded", &[12]),
    ("payout.signing", &[13]),
    ("payout.signed", &[13]),
    ("payout.sending", &[13]),
    ("payout.sent", &[14]),
    ("payout.ending", &[14]),
    ("payout.ended", &[14]),
    ("payout.replaced", &[13]),
    ("nc_payout.storing", &[13]),
    ("nc_payout.stored", &[13]),
    ("nc_payout.sending", &[13]),
    ("nc_payout.sent", &[14]),
    ("nc_payout.noting", &[14]),
];
