//! Output of commands: one JSON value, or text for people with tables, and colours on a terminal
//! only.

use std::{
    fmt::Write as _,
    io::{self, IsTerminal, Write},
    process::ExitCode,
};

use serde_json::Value;

/// Result of a command, both for scripts and for people.
pub struct Answer {
    json: Value,
    text: String,
    ok: bool,
}

impl Answer {
    pub fn new(json: Value, text: impl Into<String>) -> Self {
        Self { json, text: text.into(), ok: true }
    }

    /// The command has printed everything while it ran.
    pub fn already_told() -> Self {
        Self::new(Value::Null, "")
    }

    /// What scripts and what people get, for a command that has several steps.
    pub fn into_parts(self) -> (Value, String) {
        (self.json, self.text)
    }

    /// Marks the result as a failure: it is printed as any other, and the exit code is 1.
    pub fn bad(self) -> Self {
        Self { ok: false, ..self }
    }

    pub fn print(&self, json: bool) -> ExitCode {
        let text = if json { self.json.to_string() } else { self.text.trim_end().to_owned() };
        if text.is_empty() {
            return self.exit_code();
        }
        let mut out = io::stdout().lock();
        // A reader that closes the pipe early (`| head`) is not an error.
        let printed = writeln!(out, "{text}").and_then(|()| out.flush());
        let unread = printed.is_err_and(|error| error.kind() != io::ErrorKind::BrokenPipe);
        if unread { ExitCode::FAILURE } else { self.exit_code() }
    }

    fn exit_code(&self) -> ExitCode {
        if self.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

pub fn to_stderr(text: &str) {
    // With stderr closed there is no other output for the error.
    let _: io::Result<()> = io::stderr().lock().write_all(text.as_bytes());
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    Keep,
    Join,
}

/// Removes control characters: error texts and data from outside must not control an operator's
/// terminal.
pub fn clean(text: &str, lines: Lines) -> String {
    let visible = |c: char| match c {
        '\n' if lines == Lines::Keep => c,
        c if c.is_control() => ' ',
        // Overrides of the reading direction can make one address look like another.
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => ' ',
        c => c,
    };
    text.chars().map(visible).collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Plain,
    Good,
    Doubtful,
    Bad,
    Quiet,
}

/// A piece of text that may be coloured.
#[derive(Clone)]
pub struct Cell {
    text: String,
    tone: Tone,
}

impl Cell {
    pub fn toned(text: impl AsRef<str>, tone: Tone) -> Self {
        Self { text: clean(text.as_ref(), Lines::Join), tone }
    }

    pub fn quiet(text: impl AsRef<str>) -> Self {
        Self::toned(text, Tone::Quiet)
    }

    fn width(&self) -> usize {
        self.text.chars().count()
    }

    fn painted(&self) -> String {
        let code = match self.tone {
            Tone::Plain => return self.text.clone(),
            Tone::Good => 32,
            Tone::Doubtful => 33,
            Tone::Bad => 31,
            Tone::Quiet => 2,
        };
        if coloured() { format!("\u{1b}[{code}m{}\u{1b}[0m", self.text) } else { self.text.clone() }
    }
}

impl<T: AsRef<str>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::toned(text, Tone::Plain)
    }
}

fn coloured() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) && io::stdout().is_terminal()
}

/// Aligned columns under a quiet heading.
pub fn table(heading: &[&str], rows: &[Vec<Cell>]) -> String {
    let heading: Vec<_> = heading.iter().map(|title| Cell::quiet(title.to_uppercase())).collect();
    lines(std::iter::once(&heading).chain(rows))
}

/// Formats one fact per line: its name, then its value.
pub fn facts(facts: &[(&str, Cell)]) -> String {
    let rows: Vec<_> =
        facts.iter().map(|(name, cell)| vec![Cell::quiet(name), cell.clone()]).collect();
    lines(rows.iter())
}

fn lines<'a>(rows: impl Iterator<Item = &'a Vec<Cell>>) -> String {
    let rows: Vec<_> = rows.collect();
    let columns = rows.iter().map(|row| row.len()).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(Cell::width).max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let gap = width.saturating_sub(cell.width()) + 2;
            // Writing to a String cannot fail.
            let _ = write!(line, "{}{}", cell.painted(), " ".repeat(gap));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// An absent value, for people.
pub fn or_dash(value: Option<impl AsRef<str>>) -> Cell {
    value.map_or_else(|| Cell::quiet("-"), Cell::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [vec!["a".into(), "long".into()], vec!["bcd".into(), "x".into()]];
        assert_eq!(table(&["k", "v"], &rows), "K    V\na    long\nbcd  x\n");
    }

    #[test]
    fn nothing_that_a_stranger_sent_reaches_the_terminal_as_a_command() {
        assert_eq!(Cell::from("a\u{1b}[2Jb\nc\u{202e}d").text, "a [2Jb c d");
    }
}
