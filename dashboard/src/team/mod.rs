//! Teams: a merchant's people at `/team`, the operators at `/operator/accounts`. Both are one
//! screen; the guard has decided which of them the caller may see.

use askama::Template;
use axum::{
    extract::{MatchedPath, Path, State},
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
};
use gateway::{
    account::{Action, Role, action::Scope},
    app::account::{
        create::{CreateError, Way},
        session::Permission,
        team::{Author, TeamError},
    },
    storage::accounts::team::MemberRow,
    webhook::retry::DeliveryState,
};
use uuid::Uuid;

use crate::{
    problem::Problem,
    shell::{Shell, page as show, page_with, when},
    visit::Visit,
};

const OPERATORS: &str = "/operator/accounts";
/// Of an invitation; it names no address, as the text is the same for everybody.
pub const MAILED: &str = "Invited. The mail is on its way, and says the address to open; it works once, within 72 hours.";

/// The team that a route is about.
#[derive(Clone, Copy)]
enum Team {
    Merchant(Uuid),
    Operators,
}

impl Team {
    fn of(path: &MatchedPath, visit: &Visit) -> Result<Self, Problem> {
        if path.as_str().starts_with(OPERATORS) {
            Ok(Self::Operators)
        } else {
            Ok(Self::Merchant(visit.merchant()?.merchant_id))
        }
    }

    const fn merchant_id(self) -> Option<Uuid> {
        match self {
            Self::Merchant(id) => Some(id),
            Self::Operators => None,
        }
    }

    const fn path(self) -> &'static str {
        match self {
            Self::Merchant(_) => "/team",
            Self::Operators => OPERATORS,
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::Merchant(_) => "Team",
            Self::Operators => "Operators",
        }
    }

    const fn scope(self) -> Scope {
        match self {
            Self::Merchant(_) => Scope::Merchant,
            Self::Operators => Scope::Operator,
        }
    }

    const fn invite_action(self) -> Action {
        match self {
            Self::Merchant(_) => Action::TeamInvite,
            Self::Operators => Action::OperatorTeamInvite,
        }
    }

    const fn role_action(self) -> Action {
        match self {
            Self::Merchant(_) => Action::TeamRole,
            Self::Operators => Action::OperatorTeamRole,
        }
    }

    const fn remove_action(self) -> Action {
        match self {
            Self::Merchant(_) => Action::TeamRemove,
            Self::Operators => Action::OperatorTeamRemove,
        }
    }

    const fn roles(self) -> &'static [Role] {
        match self {
            Self::Merchant(_) => &[Role::Owner, Role::Developer, Role::Finance, Role::Viewer],
            Self::Operators => &[Role::Admin, Role::OperatorFinance, Role::Support],
        }
    }

    /// The role that can do least, which a form offers first.
    const fn least(self) -> Role {
        match self {
            Self::Merchant(_) => Role::Viewer,
            Self::Operators => Role::Support,
        }
    }
}

#[derive(Template)]
#[template(path = "team/page.html")]
struct Page {
    shell: Shell,
    team: Team,
    members: Vec<Member>,
    may_change: bool,
    table: Vec<Row>,
    /// As they were typed.
    email: String,
    invited_as: Role,
    /// It can be mailed to its owner.
    may_mail: bool,
}

struct Member {
    id: Uuid,
    email: String,
    role: Role,
    is_me: bool,
    state: String,
    /// What is known about a second factor, behind the state.
    factor: &'static str,
    removal: &'static str,
}

/// A line of the table of roles and actions.
struct Row {
    action: Action,
    cells: Vec<Cell>,
}

struct Cell {
    role: Role,
    may: bool,
}

/// The one page with the invitation's address.
#[derive(Template)]
#[template(path = "team/invited.html")]
struct Invited {
    shell: Shell,
    team: Team,
    email: String,
    role: Role,
    url: String,
}

/// The mail that tells an invitation's address, in words behind the state.
const fn of_mail(state: Option<DeliveryState>) -> &'static str {
    match state {
        None => "",
        Some(DeliveryState::Pending) => " · the mail is on its way",
        Some(DeliveryState::RetryWait) => " · the mail was not taken yet, and is tried again",
        Some(DeliveryState::Delivered) => " · mailed",
        Some(DeliveryState::Dropped | DeliveryState::Dead) => {
            " · the mail could not be delivered: invite again, and hand the address over yourself"
        }
    }
}

fn table(team: Team) -> Vec<Row> {
    let cell = |action: Action| move |role: &Role| Cell { role: *role, may: action.is_for(*role) };
    let row =
        |action: Action| Row { action, cells: team.roles().iter().map(cell(action)).collect() };
    let of_team = Action::ALL.into_iter().filter(|action| action.scope() == team.scope());
    of_team.map(row).collect()
}

fn member(row: MemberRow, me: Uuid) -> Member {
    let (state, removal) = match &row.accepted_at {
        _ if row.is_disabled => ("disabled by an operator".to_owned(), "Remove"),
        Some(at) => (format!("in the team since {}", when(at)), "Remove"),
        None => {
            let mail = of_mail(row.mail);
            (format!("invited {}, not accepted yet{mail}", when(&row.invited_at)), "Take back")
        }
    };
    let factor = match row.has_factor {
        Some(true) => " · second factor set up",
        Some(false) => " · no second factor",
        None => "",
    };
    let (id, is_me, role) = (row.id, row.account_id == me, row.role);
    Member { id, email: row.email, role, is_me, state, factor, removal }
}

async fn shown(
    gateway: &crate::State,
    visit: &Visit,
    team: Team,
    shell: Shell,
) -> Result<Page, Problem> {
    let signed = visit.signed()?;
    let me = signed.row.account_id;
    let rows = gateway.members(team.merchant_id()).await?;
    Ok(Page {
        shell,
        team,
        members: rows.into_iter().map(|row| member(row, me)).collect(),
        may_change: signed.may(team.invite_action()) == Permission::Granted,
        table: table(team),
        email: String::new(),
        invited_as: team.least(),
        may_mail: gateway.config.mail.enabled && team.merchant_id().is_some(),
    })
}

pub async fn page(
    State(gateway): State<crate::State>,
    path: MatchedPath,
    visit: Visit,
) -> Result<Response, Problem> {
    let team = Team::of(&path, &visit)?;
    let mut shell = Shell::of(&visit, team.path());
    match visit.asked("done") {
        Some("role") => shell = shell.with_notice("The role was changed. Its sessions have ended."),
        Some("mailed") => shell = shell.with_notice(MAILED),
        Some("removed") => shell = shell.with_notice("Removed. The sessions have ended."),
        Some(_) | None => {}
    }
    show(&shown(&gateway, &visit, team, shell).await?)
}

pub async fn invite(
    State(gateway): State<crate::State>,
    path: MatchedPath,
    visit: Visit,
) -> Result<Response, Problem> {
    let team = Team::of(&path, &visit)?;
    let email = visit.form.text("email").trim().to_owned();
    let role = visit.form.text("role").parse().unwrap_or_else(|_| team.least());
    let author = author(&visit)?;
    let shell = Shell::of(&visit, team.path());
    let by_mail = visit.form.text("way") == "mail";
    let way = if by_mail { Way::ByMail(author.email) } else { Way::ByHand };
    match gateway.invite(&email, role, team.merchant_id(), Some(author), way).await {
        Ok(_) if by_mail => {
            Ok(Redirect::to(&format!("{}?done=mailed", team.path())).into_response())
        }
        Ok(made) => show(&Invited { shell, team, email, role, url: made.url }),
        Err(CreateError::Storage(error)) => Err(error.into()),
        Err(error) => {
            let shell = shell.with_error(capitalised(&error.to_string()));
            let page = shown(&gateway, &visit, team, shell).await?;
            let page = Page { email, invited_as: role, ..page };
            page_with(StatusCode::UNPROCESSABLE_ENTITY, &page)
        }
    }
}

pub async fn change_role(
    State(gateway): State<crate::State>,
    Path(id): Path<String>,
    path: MatchedPath,
    visit: Visit,
) -> Result<Response, Problem> {
    let team = Team::of(&path, &visit)?;
    let id = Uuid::try_parse(&id).map_err(|_| Problem::NotFound)?;
    let role = |name| visit.form.text(name).parse::<Role>().map_err(|_| Problem::NotFound);
    let roles = (role("seen")?, role("role")?);
    let done = gateway.change_role(author(&visit)?, team.merchant_id(), id, roles).await;
    answered(&gateway, &visit, team, done, "role").await
}

pub async fn remove(
    State(gateway): State<crate::State>,
    Path(id): Path<String>,
    path: MatchedPath,
    visit: Visit,
) -> Result<Response, Problem> {
    let team = Team::of(&path, &visit)?;
    let id = Uuid::try_parse(&id).map_err(|_| Problem::NotFound)?;
    let done = gateway.remove_member(author(&visit)?, team.merchant_id(), id).await;
    answered(&gateway, &visit, team, done, "removed").await
}

async fn answered(
    gateway: &crate::State,
    visit: &Visit,
    team: Team,
    done: Result<(), TeamError>,
    what: &str,
) -> Result<Response, Problem> {
    match done {
        Ok(()) => Ok(Redirect::to(&format!("{}?done={what}", team.path())).into_response()),
        Err(TeamError::Unknown) => Err(Problem::NotFound),
        Err(TeamError::Storage(error)) => Err(error.into()),
        Err(error) => {
            let shell = Shell::of(visit, team.path()).with_error(error.to_string());
            let page = shown(gateway, visit, team, shell).await?;
            page_with(StatusCode::CONFLICT, &page)
        }
    }
}

fn author(visit: &Visit) -> Result<Author<'_>, Problem> {
    let row = &visit.signed()?.row;
    Ok(Author { account_id: row.account_id, email: &row.email })
}

/// An error of the command line as a sentence of a page.
fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).chain(['.']).collect()
}
