//! A mail server of a test: it speaks SMTP (RFC 5321) on loopback, keeps every message that it
//! took, and answers as it is told. It is written from the RFC and shares no code with the
//! gateway's client.

use std::{
    collections::VecDeque,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
};

use crate::server::broker::eventually;

/// What the server does with a message, once; it takes all others.
#[derive(Debug, Clone, Copy)]
pub enum Answer {
    /// Refuses the recipient with this code, and repeats its address, as servers do.
    Recipient(u16),
    /// Refuses the message after its data.
    Data(u16),
    /// Takes the message and closes the connection without an answer.
    TakenAndCut,
}

/// A message as it arrived.
#[derive(Debug, Clone)]
pub struct Mail {
    pub from: String,
    pub to: Vec<String>,
    /// Headers and body, without the dots that SMTP adds.
    pub raw: String,
}

#[derive(Default)]
struct Log {
    taken: Vec<Mail>,
    script: VecDeque<Answer>,
    credentials: Vec<String>,
}

#[derive(Clone)]
pub struct MailServer {
    pub address: SocketAddr,
    log: Arc<Mutex<Log>>,
}

impl MailServer {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self { address: listener.local_addr().unwrap(), log: Arc::default() };
        let serving = server.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let server = serving.clone();
                // A client that goes away ends its own connection.
                tokio::spawn(async move { server.converse(stream).await.ok() });
            }
        });
        server
    }

    /// Answers so in turn before it takes everything again.
    pub fn answer_first(&self, answers: &[Answer]) {
        self.log.lock().unwrap().script.extend(answers);
    }

    /// The messages taken so far.
    pub fn taken(&self) -> Vec<Mail> {
        self.log.lock().unwrap().taken.clone()
    }

    /// User and password of each sign-in, as AUTH PLAIN sends them.
    pub fn credentials(&self) -> Vec<String> {
        self.log.lock().unwrap().credentials.clone()
    }

    pub async fn wait_for(&self, count: usize) -> Vec<Mail> {
        eventually("mails arrive", async || {
            let taken = self.taken();
            (taken.len() >= count).then_some(taken)
        })
        .await
    }

    fn next(&self, matches: impl Fn(&Answer) -> bool) -> Option<Answer> {
        let mut log = self.log.lock().unwrap();
        if log.script.front().is_some_and(matches) { log.script.pop_front() } else { None }
    }

    async fn converse(&self, stream: TcpStream) -> std::io::Result<()> {
        let (read, mut write) = stream.into_split();
        let mut lines = BufReader::new(read).lines();
        write.write_all(b"220 test ESMTP\r\n").await?;
        let (mut from, mut to) = (String::new(), Vec::new());
        while let Some(line) = lines.next_line().await? {
            let verb = line.split([' ', ':']).next().unwrap_or_default().to_ascii_uppercase();
            let answer = match verb.as_str() {
                "EHLO" => "250-test\r\n250-8BITMIME\r\n250 AUTH PLAIN".to_owned(),
                "AUTH" => {
                    self.sign_in(&line);
                    "235 signed in".to_owned()
                }
                "MAIL" => {
                    (from, to) = (address(&line), Vec::new());
                    "250 ok".to_owned()
                }
                "RCPT" => {
                    let refusal = self.next(|answer| matches!(answer, Answer::Recipient(_)));
                    if let Some(Answer::Recipient(code)) = refusal {
                        format!("{code} <{}> no", address(&line))
                    } else {
                        to.push(address(&line));
                        "250 ok".to_owned()
                    }
                }
                "DATA" => {
                    write.write_all(b"354 go on\r\n").await?;
                    let raw = data(&mut lines).await?;
                    match self.next(|answer| !matches!(answer, Answer::Recipient(_))) {
                        Some(Answer::Data(code)) => format!("{code} no"),
                        cut => {
                            let mail = Mail { from: from.clone(), to: to.clone(), raw };
                            self.log.lock().unwrap().taken.push(mail);
                            if cut.is_some() {
                                return Ok(());
                            }
                            "250 taken".to_owned()
                        }
                    }
                }
                "RSET" | "NOOP" => "250 ok".to_owned(),
                "QUIT" => "221 bye".to_owned(),
                _ => "500 unknown".to_owned(),
            };
            write.write_all(format!("{answer}\r\n").as_bytes()).await?;
            if verb == "QUIT" {
                break;
            }
        }
        Ok(())
    }

    fn sign_in(&self, line: &str) {
        let encoded = line.rsplit(' ').next().unwrap_or_default();
        let plain = BASE64_STANDARD.decode(encoded).unwrap_or_default();
        let text = String::from_utf8_lossy(&plain).trim_start_matches('\0').replace('\0', " ");
        self.log.lock().unwrap().credentials.push(text);
    }
}

/// `MAIL FROM:<a@b>` and `RCPT TO:<a@b>`.
fn address(line: &str) -> String {
    let rest = line.split_once('<').map_or("", |(_, rest)| rest);
    rest.split('>').next().unwrap_or_default().to_owned()
}

/// A message up to the line with the dot alone.
async fn data<R: tokio::io::AsyncBufRead + Unpin>(
    lines: &mut tokio::io::Lines<R>,
) -> std::io::Result<String> {
    let mut raw = String::new();
    while let Some(line) = lines.next_line().await? {
        if line == "." {
            break;
        }
        raw.push_str(line.strip_prefix('.').unwrap_or(&line));
        raw.push_str("\r\n");
    }
    Ok(raw)
}

impl Mail {
    /// A header on one line, its encoded words decoded; `None` if there is none.
    pub fn header(&self, name: &str) -> Option<String> {
        let (head, _) = self.raw.split_once("\r\n\r\n").unwrap_or((&self.raw, ""));
        let head = head.replace("\r\n ", " ").replace("\r\n\t", " ");
        let mut lines = head.split("\r\n").filter_map(|line| line.split_once(": "));
        let (_, value) = lines.find(|(known, _)| known.eq_ignore_ascii_case(name))?;
        Some(decoded_words(value))
    }

    /// Names of all headers.
    pub fn header_names(&self) -> Vec<String> {
        let (head, _) = self.raw.split_once("\r\n\r\n").unwrap_or((&self.raw, ""));
        let lines = head.split("\r\n").filter(|line| !line.starts_with([' ', '\t']));
        lines.filter_map(|line| Some(line.split_once(':')?.0.to_owned())).collect()
    }

    pub fn text(&self) -> String {
        self.part("text/plain")
    }

    pub fn html(&self) -> String {
        self.part("text/html")
    }

    fn part(&self, kind: &str) -> String {
        let content_type = self.header("content-type").unwrap();
        let boundary = content_type.split_once("boundary=").unwrap().1.trim_matches('"');
        let between = format!("--{boundary}");
        let mut parts = self.raw.split(&between).skip(1);
        let part = parts.find(|part| part.contains(&format!("Content-Type: {kind}")));
        let part = part.unwrap_or_else(|| panic!("no {kind} in {}", self.raw));
        let (head, body) = part.split_once("\r\n\r\n").unwrap();
        let encoding = head.to_ascii_lowercase();
        if encoding.contains("base64") {
            let packed: String = body.split_whitespace().collect();
            String::from_utf8(BASE64_STANDARD.decode(packed).unwrap()).unwrap()
        } else if encoding.contains("quoted-printable") {
            unquoted(body)
        } else {
            body.to_owned()
        }
        .replace("\r\n", "\n")
    }
}

/// Quoted-printable (RFC 2045).
fn unquoted(text: &str) -> String {
    let text = text.replace("=\r\n", "");
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).filter(|_| *first == b'=');
        let byte =
            code.and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).unwrap()
}

/// Encoded words in base64 (RFC 2047); the space between two of them is not text.
fn decoded_words(value: &str) -> String {
    let joined = value.replace("?= =?", "?==?");
    let mut bytes = Vec::new();
    let mut rest = joined.as_str();
    while let Some((before, word)) = rest.split_once("=?utf-8?b?") {
        bytes.extend_from_slice(before.as_bytes());
        let (encoded, after) = word.split_once("?=").unwrap();
        bytes.extend(BASE64_STANDARD.decode(encoded).unwrap());
        rest = after;
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8(bytes).unwrap()
}
