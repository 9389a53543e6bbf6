//! Prints events with their time, for a terminal or a log.

use std::{
    io::{IsTerminal, stdout},
    time::Instant,
};

pub(super) struct Timeline {
    started: Instant,
    colour: bool,
}

impl Timeline {
    pub(super) fn start(title: &str) -> Self {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let timeline = Self { started: Instant::now(), colour: wanted && stdout().is_terminal() };
        println!("\n{}\n", timeline.painted("1", title));
        timeline
    }

    /// Prints an event that happened now.
    pub(super) fn event(&self, what: &str, text: &str) {
        let elapsed = self.started.elapsed();
        let time = format!("{:>4}.{:03} s", elapsed.as_secs(), elapsed.subsec_millis());
        println!(
            "{}  {}  {text}",
            self.painted("2", &time),
            self.painted("36", &format!("{what:<9}"))
        );
    }

    /// Prints a detail of the event above.
    pub(super) fn detail(&self, text: &str) {
        println!("{:22}{}", "", self.painted("2", text));
    }

    pub(super) fn end(&self, leads: &[(&str, String)]) {
        println!("\n{}\n", self.painted("1;32", "It works. Try next:"));
        for (name, value) in leads {
            println!("  {}  {value}", self.painted("36", &format!("{name:<9}")));
        }
    }

    fn painted(&self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}
