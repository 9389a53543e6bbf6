//! The e-mail address that names an account.

/// The host of the accounts that `make run` creates. No mail reaches it (RFC 2606).
pub const SANDBOX_HOST: &str = "demo.example";

const LENGTH_MAX: usize = 254;
/// Of the part before the `@` (RFC 5321, 4.5.3.1.1).
const NAME_LENGTH_MAX: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is no e-mail address such as name@example.com")]
pub struct InvalidEmail;

/// An address in lower case without the space around it. Letters, digits and `.+_-` before the
/// one `@`, a host name behind it: what other spellings RFC 5321 knows would only help to look
/// like somebody else.
pub fn normalised(text: &str) -> Result<String, InvalidEmail> {
    let text = text.trim().to_ascii_lowercase();
    let (name, host) = text.split_once('@').ok_or(InvalidEmail)?;
    let known = |letters: &str, text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || letters.contains(c))
    };
    let has_parts = |text: &str| text.split('.').all(|part| !part.is_empty());
    let fits = known(".+_-", name) && known(".-", host) && has_parts(name) && has_parts(host);
    let fits = fits && name.len() <= NAME_LENGTH_MAX && text.len() <= LENGTH_MAX;
    if fits { Ok(text) } else { Err(InvalidEmail) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_one_spelling() {
        assert_eq!(normalised(" Ada+shop@Example.COM ").unwrap(), "ada+shop@example.com");
        for wrong in ["", "ada", "@x", "ada@", "a b@x", "ada@x@y", "<ada@x>", "ädä@x", "a\n@x"] {
            assert_eq!(normalised(wrong), Err(InvalidEmail), "{wrong:?}");
        }
        for dotted in ["a..b@x.com", ".a@x.com", "a.@x.com", "a@x..com", "a@.x", "a@x."] {
            assert_eq!(normalised(dotted), Err(InvalidEmail), "{dotted}");
        }
        let long = |name: usize, host: usize| format!("{}@{}", "a".repeat(name), "x".repeat(host));
        assert!(normalised(&long(64, 189)).is_ok());
        assert_eq!(normalised(&long(65, 10)), Err(InvalidEmail));
        assert_eq!(normalised(&long(64, 190)), Err(InvalidEmail));
    }
}
