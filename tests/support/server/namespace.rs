//! A separate host for one listener: a network namespace, joined to ours by a pair of interfaces
//! that can lose every packet of one direction. The kernel allows it only for root.

use std::{
    fs::{self, File},
    net::{Ipv4Addr, TcpListener},
    process::Command,
    sync::atomic::{AtomicU8, Ordering},
    thread,
};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::server::processes::is_alive;

/// No interface has this address, so packets to it are lost.
const NOBODY: &str = "02:00:00:00:00:99";
const PREFIX: &str = "gw";
static MADE: AtomicU8 = AtomicU8::new(0);

pub struct Namespace {
    name: String,
    /// Our end of the pair, and the address at either end.
    interface: String,
    ours: Ipv4Addr,
    theirs: Ipv4Addr,
    our_card: String,
    their_card: String,
}

/// End of the pair whose packets are lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Ours,
    Theirs,
}

impl Namespace {
    pub fn is_permitted() -> bool {
        rustix::process::geteuid().is_root()
    }

    pub fn create() -> Self {
        remove_orphans();
        let number = MADE.fetch_add(1, Ordering::Relaxed) % 60;
        let process = std::process::id();
        let name = format!("{PREFIX}-{process}-{number}");
        let (interface, peer) = (format!("{PREFIX}{process}o{number}"), "other");
        // A block per process and pair, of the range that is for tests of networks (RFC 2544).
        let third = u8::try_from(process % 256).unwrap_or_default();
        let address = |last: u8| Ipv4Addr::new(198, 18, third, number * 4 + last);
        let (ours, theirs) = (address(1), address(2));
        ip(&["netns", "add", &name]);
        ip(&["link", "add", &interface, "type", "veth", "peer", "name", peer, "netns", &name]);
        ip(&["addr", "add", &format!("{ours}/30"), "dev", &interface]);
        ip(&["-n", &name, "addr", "add", &format!("{theirs}/30"), "dev", peer]);
        ip(&["link", "set", &interface, "up"]);
        ip(&["-n", &name, "link", "set", peer, "up"]);
        let our_card = card(&ip(&["-o", "link", "show", &interface]));
        let their_card = card(&ip(&["-n", &name, "-o", "link", "show", peer]));
        let made = Self { name, interface, ours, theirs, our_card, their_card };
        made.lose(End::Ours, false);
        made.lose(End::Theirs, false);
        made
    }

    /// Opens a listener on that host. Its connections come over the pair; its server may run
    /// anywhere.
    pub fn listen(&self) -> TcpListener {
        let (path, address) = (format!("/run/netns/{}", self.name), self.theirs);
        let inside = thread::spawn(move || {
            let file = File::open(path).unwrap();
            let kind = Some(LinkNameSpaceType::Network);
            // Of this thread alone, which ends with the socket made.
            move_into_link_name_space(std::os::fd::AsFd::as_fd(&file), kind).unwrap();
            TcpListener::bind((address, 0)).unwrap()
        });
        inside.join().unwrap()
    }

    /// Starts or stops losing every packet sent from that end.
    pub fn lose(&self, from: End, all: bool) {
        let card = |true_one: &str| if all { NOBODY } else { true_one }.to_owned();
        let (theirs, ours) = (self.theirs.to_string(), self.ours.to_string());
        match from {
            End::Ours => {
                let card = card(&self.their_card);
                ip(&[
                    "neigh",
                    "replace",
                    &theirs,
                    "lladdr",
                    &card,
                    "dev",
                    &self.interface,
                    "nud",
                    "permanent",
                ]);
            }
            End::Theirs => {
                let card = card(&self.our_card);
                ip(&[
                    "-n",
                    &self.name,
                    "neigh",
                    "replace",
                    &ours,
                    "lladdr",
                    &card,
                    "dev",
                    "other",
                    "nud",
                    "permanent",
                ]);
            }
        }
    }

    /// Packets that left either end so far.
    pub fn sent(&self, from: End) -> usize {
        let count = match from {
            End::Ours => "tx_packets",
            End::Theirs => "rx_packets",
        };
        let path = format!("/sys/class/net/{}/statistics/{count}", self.interface);
        fs::read_to_string(path).unwrap().trim().parse().unwrap()
    }
}

impl Drop for Namespace {
    /// The pair goes with it.
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.name]).status();
    }
}

/// Removes the leftovers of processes that were killed before they could clean up.
fn remove_orphans() {
    for name in ip(&["netns", "list"]).lines().filter_map(|line| line.split(' ').next()) {
        let owner = name.strip_prefix("gw-").and_then(|rest| rest.split('-').next());
        if owner.and_then(|id| id.parse().ok()).is_some_and(|id: u32| !is_alive(id)) {
            let _ = Command::new("ip").args(["netns", "del", name]).output();
        }
    }
}

/// The hardware address in a line of `ip -o link show`.
fn card(line: &str) -> String {
    let mut words = line.split_whitespace().skip_while(|word| *word != "link/ether");
    words.nth(1).unwrap().to_owned()
}

fn ip(arguments: &[&str]) -> String {
    let output =
        Command::new("ip").args(arguments).output().expect("the program ip (package iproute2)");
    assert!(
        output.status.success(),
        "ip {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}
