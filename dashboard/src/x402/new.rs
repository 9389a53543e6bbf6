//! Selling a resource by hand.

use askama::Template;
use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
};
use gateway::{
    app::x402::by_hand::{ByHandError, Fields},
    asset::Network,
    x402::resource::{MIME_TYPE_DEFAULT, TIMEOUT_SECONDS_DEFAULT},
};
use uuid::Uuid;

use crate::{
    form::Form,
    problem::Problem,
    shell::{Shell, page as show, page_with},
    visit::Visit,
};

#[derive(Template)]
#[template(path = "x402/new.html")]
struct Page {
    shell: Shell,
    key: String,
    typed: Typed,
    price: String,
    networks: Vec<Choice>,
}

/// A network that is offered.
struct Choice {
    network: Network,
    is_chosen: bool,
}

/// The fields of a resource that can be changed later, for `x402/fields.html`.
pub struct Typed {
    pub url: String,
    pub description: String,
    pub mime_type: String,
    pub timeout: String,
    pub listed: bool,
}

impl Typed {
    pub fn of(form: &Form) -> Self {
        let text = |name| form.text(name).to_owned();
        Self {
            url: text("url"),
            description: text("description"),
            mime_type: text("mime_type"),
            timeout: text("timeout"),
            listed: form.text("listed") == "yes",
        }
    }
}

pub fn fields(form: &Form) -> Fields<'_> {
    Fields {
        key: form.text("key"),
        url: form.text("url"),
        description: form.text("description"),
        mime_type: form.text("mime_type"),
        price: form.text("price"),
        networks: form.all("network").collect(),
        timeout: form.text("timeout"),
        listed: form.text("listed") == "yes",
    }
}

pub async fn form(State(gateway): State<crate::State>, visit: Visit) -> Result<Response, Problem> {
    let offered = gateway.x402_networks().into_iter();
    show(&Page {
        shell: Shell::of(&visit, super::HERE),
        key: Uuid::now_v7().to_string(),
        typed: Typed {
            mime_type: MIME_TYPE_DEFAULT.to_owned(),
            timeout: TIMEOUT_SECONDS_DEFAULT.to_string(),
            ..Typed::of(&visit.form)
        },
        price: String::new(),
        networks: offered.map(|network| Choice { network, is_chosen: true }).collect(),
    })
}

pub async fn submit(
    State(gateway): State<crate::State>,
    visit: Visit,
) -> Result<Response, Problem> {
    let merchant_id = visit.merchant()?.merchant_id;
    let fields = fields(&visit.form);
    match gateway.create_x402_by_hand(merchant_id, &fields, visit.email()?).await {
        Ok(id) => Ok(Redirect::to(&format!("{}/{id}?done=created", super::HERE)).into_response()),
        Err(ByHandError::Storage(error)) => Err(error.into()),
        Err(refused) => {
            // A form whose key was used with other values can only be sent under a new one.
            let is_used = matches!(refused, ByHandError::NoKey | ByHandError::KeyUsed);
            let key = if is_used { Uuid::now_v7().to_string() } else { fields.key.to_owned() };
            let choice = |network: Network| Choice {
                network,
                is_chosen: fields.networks.contains(&network.name()),
            };
            let page = Page {
                shell: Shell::of(&visit, super::HERE).with_error(refused.to_string()),
                key,
                typed: Typed::of(&visit.form),
                price: fields.price.to_owned(),
                networks: gateway.x402_networks().into_iter().map(choice).collect(),
            };
            page_with(StatusCode::UNPROCESSABLE_ENTITY, &page)
        }
    }
}
