//! An owner and an operator who open every page of a merchant with many payments: what they cost
//! those who create payments, and how long they wait for their pages meanwhile.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use gateway::account::Role;
use serde_json::json;
use support::{
    client::{Client, visitor::Visitor},
    server::{
        installation::Program,
        processes::{Signal, free_port},
    },
    shop::grown::{Grown, OPERATORS_PAGES, Size},
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::{
    creation,
    report::{Goal, Report, Rounds, percentile},
    world::{World, with_world},
};

const SIZE: Size = Size { invoices: 100_000, deliveries: 10 };
/// Between two pages of one person: as many pages as ten people open who read each for five
/// seconds.
const PAUSE: Duration = Duration::from_millis(500);
/// Of the orders of `creation`: enough for an owner to open all of his pages meanwhile.
const BATCHES: usize = 8;
const LIMIT: Duration = Duration::from_secs(60);
const CREATE: &str = "dashboard: POST /v1/payment beside an owner and an operator";
const PAGES: &str = "dashboard: p95 of their pages meanwhile";

pub async fn run(report: &mut Report) {
    if ![CREATE, PAGES].into_iter().any(|name| report.wants(name)) {
        return;
    }
    let (mut create, mut pages) = (Rounds::default(), Rounds::default());
    let (of_create, of_pages, count) = (&mut create, &mut pages, report.rounds);
    with_world(&[], |world| async move {
        let api = world.installation.start_api().await;
        api.ready().await;
        let desk = Desk::open(&world).await;
        // Neither cold caches nor first connections.
        created(&world).await;
        for _ in 0..count {
            let calm = created(&world).await;
            let people = desk.people();
            let busy = created(&world).await;
            of_create.add(busy, calm);
            of_pages.add_alone(people.leave().await);
        }
        for program in [api, desk.program] {
            program.process.signal(Signal::Terminate);
            program.process.ended(LIMIT).await;
        }
    })
    .await;
    let limit = "the same with nobody at the dashboard";
    report.ratio(CREATE, "ms", limit, Goal::AtMost(1.1), create);
    report.value(PAGES, "ms", None, Goal::AtMost(150.0), pages);
}

/// Milliseconds per payment: how long so many take, one beside another, divided by their number.
async fn created(world: &World) -> f64 {
    world.refresh_rates().await;
    let mut requests = Vec::new();
    for _ in 0..BATCHES {
        requests.extend(creation::requests(world).await);
    }
    1_000.0 / creation::call(world, requests).await
}

/// The dashboard over grown tables, and two people who signed in.
struct Desk {
    program: Program,
    owner: (Visitor, Vec<String>),
    admin: (Visitor, Vec<String>),
}

impl Desk {
    async fn open(world: &World) -> Self {
        let merchants = world.merchants(2).await;
        let (ours, theirs) = (&merchants[0], &merchants[1]);
        let client = Client::new(world.installation.api).with_key(ours.api_key.reveal());
        let body =
            json!({ "price_amount": 20, "price_currency": "usd", "pay_currency": "usdtmatic" });
        let created = client.post("/v1/payment", &body).await.json();
        let payment = created["payment_id"].as_str().unwrap().to_owned();
        let (ids, size) = ([ours.id, theirs.id], SIZE.or_given());
        let (gateway, mut hand) = (&world.gateway, world.connect().await);
        let grown = Grown::fill(gateway, &mut hand, ids, payment, size).await;
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let listen = ("GATEWAY_DASHBOARD__LISTEN", &*address.to_string());
        let program = world.installation.launch("gateway-dashboard", &[], &[listen]);
        program.ready().await;
        let [owner, admin] = ["owner@example.com", "admin@example.com"];
        gateway.create_account(owner, Role::Owner, Some(ours.id)).await.unwrap();
        gateway.create_account(admin, Role::Admin, None).await.unwrap();
        let owner = Visitor::signed_in(address, gateway, owner).await;
        let admin = Visitor::signed_in(address, gateway, admin).await;
        let operators_pages = OPERATORS_PAGES.map(str::to_owned).to_vec();
        Self { program, owner: (owner, grown.owners_pages()), admin: (admin, operators_pages) }
    }

    fn people(&self) -> People {
        let leaving = CancellationToken::new();
        let visits = [&self.owner, &self.admin].map(|(visitor, pages)| {
            tokio::spawn(visit(visitor.clone(), pages.clone(), leaving.clone()))
        });
        People { leaving, visits }
    }
}

struct People {
    leaving: CancellationToken,
    visits: [JoinHandle<Vec<f64>>; 2],
}

impl People {
    /// The p95 of the milliseconds that they waited for a page.
    async fn leave(self) -> f64 {
        self.leaving.cancel();
        let mut took = Vec::new();
        for visit in self.visits {
            took.extend(visit.await.unwrap());
        }
        percentile(&mut took, 0.95)
    }
}

/// Opens one page after another; returns the milliseconds that each took.
async fn visit(mut visitor: Visitor, pages: Vec<String>, leaving: CancellationToken) -> Vec<f64> {
    let (mut took, mut pace) = (Vec::new(), tokio::time::interval(PAUSE));
    while !leaving.is_cancelled() {
        pace.tick().await;
        let page = &pages[took.len() % pages.len()];
        let started = Instant::now();
        let answer = visitor.get(page).await;
        took.push(started.elapsed().as_secs_f64() * 1_000.0);
        assert_eq!(answer.status, 200, "{page}: {}", answer.body);
    }
    assert!(took.len() >= pages.len(), "{} of {} pages", took.len(), pages.len());
    took
}
