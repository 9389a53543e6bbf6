//! `gatewayctl config`: what is set and where, and whether production would start with it. No
//! server is asked.

use clap::Subcommand;
use gateway::{
    app::refusals,
    config::{Checklist, Line, Origin, Overview, Setting, Shown, State},
};
use serde_json::{Value, json};

use crate::{
    render::{self, Answer, Cell, Tone},
    words,
};

#[derive(Subcommand)]
pub enum Settings {
    /// Go through production's check-list; exit code 1 if production would not start
    #[command(after_help = words::CONFIG_CHECK)]
    Check,
    /// Show every setting with its value and where it comes from; secrets are not shown
    #[command(after_help = words::CONFIG_SHOW)]
    Show,
}

impl Settings {
    pub fn run(&self) -> anyhow::Result<Answer> {
        match self {
            Self::Check => {
                let told = |config: &_| refusals(config).iter().map(ToString::to_string).collect();
                Ok(checked(&Checklist::read(told)?))
            }
            Self::Show => Ok(shown(&Overview::read()?)),
        }
    }
}

fn checked(list: &Checklist) -> Answer {
    let json = |line: &Line| json!({ "check": line.subject, "state": line.state.as_str(), "detail": line.text });
    let lines: Vec<_> = list.lines.iter().map(json).collect();
    let row = |line: &Line| {
        let tone = match line.state {
            State::Ok => Tone::Good,
            State::Doubtful => Tone::Doubtful,
            State::Broken => Tone::Bad,
        };
        vec![line.subject.into(), Cell::toned(line.state.as_str(), tone), Cell::from(&line.text)]
    };
    let rows: Vec<_> = list.lines.iter().map(row).collect();
    let table = render::table(&["check", "state", "what was found, and what to do"], &rows);
    let (is_met, verdict) = if list.is_met() {
        (true, "Production starts with these settings. Next: gatewayctl doctor")
    } else {
        (false, "Production does not start with these settings.")
    };
    let json = json!({ "ok": is_met, "checks": lines });
    let answer = Answer::new(json, format!("{table}\n{verdict}"));
    if is_met { answer } else { answer.bad() }
}

fn shown(overview: &Overview) -> Answer {
    let settings: Vec<_> = overview.settings.iter().map(to_json).collect();
    let json = json!({ "settings": settings, "unknown": overview.unknown });
    let rows: Vec<_> = overview.settings.iter().map(line).collect();
    let table = render::table(&["setting", "value", "from"], &rows);
    if overview.unknown.is_empty() {
        return Answer::new(json, table);
    }
    let unknown: String = overview.unknown.iter().map(|fault| format!("  {fault}\n")).collect();
    let unknown = render::clean(&unknown, render::Lines::Keep);
    Answer::new(json, format!("{table}\nNo program starts with these:\n{unknown}")).bad()
}

fn line(setting: &Setting) -> Vec<Cell> {
    let value = match &setting.value {
        Shown::Unset => Cell::quiet("-"),
        Shown::Secret => Cell::quiet("(secret)"),
        Shown::Plain(Value::String(text)) => text.into(),
        Shown::Plain(value) => value.to_string().into(),
    };
    let origin = setting.origin.to_string();
    let origin = match &setting.origin {
        Origin::Default => Cell::quiet(origin),
        Origin::File(_) | Origin::Environment(_) => Cell::from(origin),
    };
    vec![Cell::from(&setting.key), value, origin]
}

fn to_json(setting: &Setting) -> Value {
    let (value, is_set) = match &setting.value {
        Shown::Unset => (Value::Null, false),
        Shown::Secret => (Value::Null, true),
        Shown::Plain(value) => (value.clone(), true),
    };
    let (from, at) = match &setting.origin {
        Origin::Default => ("default", None),
        Origin::File(path) => ("file", Some(path.display().to_string())),
        Origin::Environment(name) => ("environment", Some(name.clone())),
    };
    json!({
        "key": setting.key,
        "value": value,
        "set": is_set,
        "secret": setting.is_secret,
        "from": from,
        "at": at,
    })
}
