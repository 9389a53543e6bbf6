//! `gatewayctl`: the operator's command line.
//!
//! It reads and writes rows, and sends messages only through the outbox; the running programs
//! publish them. Scripts depend on names, flags and JSON shapes: they may grow, never change. With
//! `--json` exactly one value goes to stdout.

mod account;
mod account_words;
mod addresses;
mod audit;
mod balances;
mod chain;
mod check_receiver;
mod currency;
mod database;
mod dead_letters;
mod dead_mails;
mod delivery;
mod demo;
mod deposit;
mod doctor;
mod failure;
mod find;
mod find_words;
mod forward;
mod instant;
mod invoice;
mod invoice_list;
mod keys;
mod keys_files;
mod keys_words;
mod ledger;
mod listen;
mod merchant;
mod merchant_set;
mod nc_payouts;
mod network;
mod operator;
mod outbound;
mod payout_limits;
mod payout_people;
mod payout_receiver;
mod payout_seed;
mod payout_words;
mod payouts;
mod proof;
mod ready;
mod receiver;
mod render;
mod reports;
mod secrets;
mod settings;
mod setup;
mod setup_words;
mod simulate;
mod story;
mod sweep;
mod sweep_files;
mod sweep_shown;
mod sweep_sign;
mod sweep_words;
mod watch;
mod words;
mod x402;

use std::{process::ExitCode, time::Duration};

use clap::{Parser, Subcommand};
use gateway::{
    app::Gateway,
    config::{Config, Part},
};

use failure::{no_connection, wrong_usage};
use render::Answer;

/// Limit of all commands but those below.
const COMMAND_LIMIT: Duration = Duration::from_secs(60);
/// Limit of a migration, which may build an index of a very large table beside its users.
const MIGRATION_LIMIT: Duration = Duration::from_secs(5 * 60 * 60);
/// Limit of a rotation's, a month's or a proof's walk through all rows.
const WALK_LIMIT: Duration = Duration::from_secs(35 * 60);
/// Limit of watching webhooks or an order.
const WATCH_LIMIT: Duration = Duration::from_secs(24 * 60 * 60);
/// Limit of the demo; each of its steps has a limit of its own.
const DEMO_LIMIT: Duration = Duration::from_secs(5 * 60);

/// The operator's command line of the gateway.
#[derive(Parser)]
#[command(name = "gatewayctl", version, after_help = words::GATEWAYCTL)]
struct Cli {
    /// Print one JSON value instead of text; errors go to stderr
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Set everything up before the programs start, and say what comes next; safe to repeat
    #[command(after_help = setup_words::SETUP)]
    Setup,
    /// Bring the database's schema up to this program's version; safe to repeat
    #[command(after_help = words::MIGRATE)]
    Migrate,
    /// Hand the database over to its standby, or say that it was restored
    #[command(subcommand)]
    Database(database::Database),
    /// Set up RabbitMQ: exchanges, queues, policies and users
    #[command(subcommand)]
    Topology(setup::Topology),
    /// Check everything the gateway depends on; exit code 1 if anything is broken
    #[command(after_help = words::DOCTOR)]
    Doctor(doctor::Doctor),
    /// Ask a program if it can work; exit code 1 if not
    #[command(after_help = setup_words::READY)]
    Ready(ready::Ready),
    /// Show the settings and where they come from, and check them for production
    #[command(subcommand)]
    Config(settings::Settings),
    /// Create merchants, give them new keys, suspend and resume them
    #[command(subcommand)]
    Merchant(merchant::Merchant),
    /// Create, reset, disable and enable accounts of the dashboard
    #[command(subcommand)]
    Account(account::Account),
    /// Make the keys of an installation, on a machine without a network
    #[command(subcommand)]
    Keys(keys::Keys),
    /// Change the master key while everything runs
    #[command(subcommand)]
    Secrets(secrets::Secrets),
    /// Move coins on the simulated chain (sandbox only)
    #[command(subcommand)]
    Simulate(simulate::Simulate),
    /// Say what an id, an order id, a transaction, an address or an e-mail address is
    #[command(after_help = find_words::FIND)]
    Find(find::Find),
    /// Look at invoices, explain them, cancel them
    #[command(subcommand)]
    Invoice(invoice::Command),
    /// Say why a payment was counted or not, import one that was missed, accept one that came back
    #[command(subcommand)]
    Deposit(deposit::Command),
    /// Compare balances of addresses on chain with the database
    #[command(subcommand)]
    Balances(balances::Balances),
    /// Restart a network's watcher after a reorganisation deeper than it remembers
    #[command(subcommand)]
    Chain(chain::Chain),
    /// Look at webhooks and the attempts to deliver them
    #[command(subcommand)]
    Deliveries(delivery::Deliveries),
    /// List and requeue dead letters, webhooks and mails that were given up
    #[command(subcommand)]
    DeadLetters(dead_letters::DeadLetters),
    /// Look at mass payouts, hold and release them, stop all signing
    #[command(subcommand)]
    Payouts(payouts::Payouts),
    /// Collect what invoices received at the treasury's addresses, signed where the cold seed is
    #[command(subcommand)]
    Sweep(sweep::Sweep),
    /// Look at payments of programs (x402), stop and resume their signing
    #[command(subcommand)]
    X402(x402::X402),
    /// Explain the ledger, show balances at a moment, and prove that nothing was changed
    #[command(subcommand)]
    Ledger(ledger::Ledger),
    /// Make, list and show the merchants' monthly reports
    #[command(subcommand)]
    Reports(reports::Reports),
    /// Enable and disable currencies, and set their minimums
    #[command(subcommand)]
    Currency(currency::Command),
    /// Show free addresses; export, sign and import those that no public key derives
    #[command(subcommand)]
    Addresses(addresses::Addresses),
    /// Show the audit log of manual changes, the newest first
    #[command(after_help = words::AUDIT)]
    Audit(audit::Audit),
    /// Take one invoice through its life and print every step (sandbox only)
    #[command(after_help = words::DEMO)]
    Demo(demo::Args),
    /// Receive webhooks on this machine and say of each whether its signature verifies
    #[command(after_help = words::LISTEN)]
    Listen(listen::Args),
    /// Attack your own webhook receiver and grade its answers
    #[command(after_help = words::CHECK_RECEIVER)]
    CheckReceiver(check_receiver::Args),
}

impl Command {
    const fn limit(&self) -> Duration {
        match self {
            // Twenty deliveries, each with the channel's own limit.
            Self::Demo(_) | Self::CheckReceiver(_) => DEMO_LIMIT,
            Self::Listen(_)
            | Self::Payouts(payouts::Payouts::Watch(_))
            | Self::Sweep(sweep::Sweep::Send(_)) => WATCH_LIMIT,
            Self::Setup | Self::Migrate => MIGRATION_LIMIT,
            // Planning a sweep asks the nodes about every address.
            Self::Secrets(_) | Self::Reports(_) | Self::Ledger(_) | Self::Sweep(_) => WALK_LIMIT,
            Self::Topology(_)
            | Self::Database(_)
            | Self::Doctor(_)
            | Self::Ready(_)
            | Self::Config(_)
            | Self::Merchant(_)
            | Self::Account(_)
            | Self::Keys(_)
            | Self::Simulate(_)
            | Self::Find(_)
            | Self::Invoice(_)
            | Self::Deposit(_)
            | Self::Balances(_)
            | Self::Chain(_)
            | Self::Deliveries(_)
            | Self::DeadLetters(_)
            | Self::Payouts(_)
            | Self::X402(_)
            | Self::Currency(_)
            | Self::Addresses(_)
            | Self::Audit(_) => COMMAND_LIMIT,
        }
    }

    async fn run(self, json: bool) -> anyhow::Result<Answer> {
        match self {
            Self::Setup => setup::all().await,
            Self::Migrate => setup::migrate().await,
            Self::Topology(command) => command.run().await,
            Self::Database(command) => command.run().await,
            Self::Doctor(doctor) => doctor.run().await,
            Self::Ready(ready) => ready.run().await,
            Self::Config(command) => command.run(),
            Self::Merchant(command) => command.run(&open().await?).await,
            Self::Account(command) => command.run(&open().await?).await,
            Self::Keys(command) => command.run(),
            Self::Secrets(command) => command.run(json).await,
            Self::Simulate(command) => command.run(&open().await?).await,
            Self::Find(find) => find.run(&open().await?).await,
            Self::Invoice(command) => command.run(&open().await?).await,
            Self::Deposit(command) => command.run(&open().await?).await,
            Self::Balances(command) => command.run(&open().await?).await,
            Self::Chain(command) => command.run(&open().await?).await,
            Self::Deliveries(command) => command.run(&open().await?).await,
            Self::DeadLetters(command) => command.run(&open().await?).await,
            // Both run where the seed is, which need not be where the database is.
            Self::Payouts(payouts::Payouts::SealSeed(seal)) => seal.run(),
            Self::Payouts(payouts::Payouts::Accounts(wallet)) => wallet.accounts(),
            Self::Payouts(command) => command.run(&open().await?, json).await,
            // Signing runs where the seed is.
            Self::Sweep(command) => command.run().await,
            Self::X402(command) => command.run(&open().await?).await,
            Self::Currency(command) => command.run(&open().await?).await,
            Self::Ledger(command) => command.run(&open().await?).await,
            Self::Reports(command) => command.run(&open().await?).await,
            Self::Audit(audit) => audit.run(&open().await?).await,
            Self::Addresses(command) => command.run().await,
            Self::Listen(args) => {
                listen::run(args).await?;
                Ok(Answer::already_told())
            }
            Self::CheckReceiver(args) => check_receiver::run(args).await,
            Self::Demo(args) => {
                demo::run(args).await?;
                Ok(Answer::already_told())
            }
        }
    }
}

/// Opens the gateway over a reachable database.
async fn open() -> anyhow::Result<Gateway> {
    let mut gateway = Gateway::new(Config::load_for(Part::Rows)?)?;
    gateway.db = gateway.db.on_behalf_of(&operator::account());
    gateway.db.reach().await.map_err(|error| no_connection(error, &gateway.db))?;
    Ok(gateway)
}

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    init_logs();
    let json = cli.json;
    run(cli).await.map_or_else(|error| failure::report(&error), |answer| answer.print(json))
}

async fn run(cli: Cli) -> anyhow::Result<Answer> {
    let limit = cli.command.limit();
    // Words of keys are for the terminal: no script may catch them with its JSON.
    let for_people = matches!(
        cli.command,
        Command::Demo(_) | Command::Listen(_) | Command::Keys(keys::Keys::New(_))
    );
    if cli.json && for_people {
        return Err(wrong_usage("this command prints text for people; it has no JSON output"));
    }
    tokio::time::timeout(limit, cli.command.run(cli.json)).await.unwrap_or_else(|_| {
        Err(anyhow::anyhow!("nothing was finished within {} s; try again", limit.as_secs()))
    })
}

/// Silent by default: a person reads the answer, and a script reads stderr.
fn init_logs() {
    use tracing_subscriber::{EnvFilter, fmt};
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("error"));
    fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(false).init();
}
