//! Recent changes that touch security, in words.

use gateway::storage::audit::AuditEntry;

use crate::shell::when;

pub struct Line {
    pub at: String,
    pub text: String,
    pub by: String,
    pub from: String,
}

pub fn lines(entries: &[AuditEntry], me: &str) -> Vec<Line> {
    let line = |entry: &AuditEntry| Line {
        at: when(&entry.at),
        text: text(entry, me),
        by: if entry.operator == me { "you".to_owned() } else { entry.operator.clone() },
        from: entry.address.clone().unwrap_or_default(),
    };
    entries.iter().map(line).collect()
}

fn text(entry: &AuditEntry, me: &str) -> String {
    let detail = entry.change["detail"].as_str().unwrap_or_default();
    match (entry.subject_kind.as_str(), entry.act.as_str()) {
        ("session", "begin") => {
            format!("A password was entered, and the second factor not yet: {detail}")
        }
        ("session", "open") => format!("Signed in {detail}"),
        ("session", "end") => "A session was ended".to_owned(),
        ("team", act) => format!("Team: {act}: {detail}"),
        ("merchant", "observe") => "An operator began to view the merchant's pages".to_owned(),
        ("merchant", "observe-end") => {
            "An operator stopped viewing the merchant's pages".to_owned()
        }
        ("merchant", "suspend") => "An operator suspended the merchant".to_owned(),
        ("merchant", "resume") => "An operator resumed the merchant".to_owned(),
        ("merchant", _) => format!("Merchant changed: {}", columns(entry)),
        (_, act) if entry.subject == me => capitalised(&format!("{act}: {detail}")),
        (_, act) => capitalised(&format!("{act} of {}: {detail}", entry.subject)),
    }
}

/// The columns of a row that changed; the values of secrets are not in the log.
fn columns(entry: &AuditEntry) -> String {
    let names = entry.change.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    let known = names.map(|name| match name {
        "api_key_preview" | "api_key_sha256" => "the API key",
        "webhook_secret_sealed" => "the webhook secret",
        "accepted_tokens" => "accepted currencies",
        "payout_webhook_url" => "the address of payout webhooks",
        "default_ipn_callback_url" => "the default address of webhooks",
        "default_success_url" | "default_cancel_url" => "the default pages for buyers",
        "suspended_at" => "suspension",
        "overpay_bps" => "the tolerance",
        "name" => "the name",
        _ => "other settings",
    });
    let mut words: Vec<_> = known.collect();
    words.sort_unstable();
    words.dedup();
    words.join(", ")
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}
