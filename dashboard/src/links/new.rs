//! Creating a link by hand.

use askama::Template;
use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
};
use gateway::{
    app::link::by_hand::{ByHandError, Fields},
    asset::Fiat,
    link::{
        LinkKind,
        terms::{DESCRIPTION_CHARS_MAX, SUGGESTIONS_MAX, TITLE_CHARS_MAX},
    },
    subscription::Interval,
};
use uuid::Uuid;

use crate::{
    form::Form,
    problem::Problem,
    shell::{Shell, page as show, page_with},
    visit::Visit,
};

#[derive(Template)]
#[template(path = "links/new.html")]
struct Page<'a> {
    shell: Shell,
    key: String,
    fields: Fields<'a>,
}

impl Page<'_> {
    fn is_kind(&self, kind: &LinkKind) -> bool {
        self.fields.kind == kind.as_str()
    }

    fn is_interval(&self, interval: &Interval) -> bool {
        self.fields.interval == interval.as_str()
    }

    fn is_fiat(&self, fiat: &Fiat) -> bool {
        self.fields.price_currency == fiat.code()
    }
}

fn fields(form: &Form) -> Fields<'_> {
    Fields {
        key: form.text("key"),
        kind: form.text("kind"),
        title: form.text("title"),
        description: form.text("description"),
        price: form.text("price"),
        price_currency: form.text("price_currency"),
        min: form.text("min"),
        max: form.text("max"),
        suggestions: form.text("suggestions"),
        single_use: form.text("single_use") == "yes",
        interval: form.text("interval"),
        interval_count: form.text("interval_count"),
        cycles_max: form.text("cycles_max"),
        time_zone: form.text("time_zone"),
        order_id: form.text("order_id"),
        webhook_url: form.text("webhook_url"),
        success_url: form.text("success_url"),
    }
}

pub async fn form(visit: Visit) -> Result<Response, Problem> {
    let fields = fields(&visit.form);
    show(&Page { shell: Shell::of(&visit, super::HERE), key: Uuid::now_v7().to_string(), fields })
}

pub async fn submit(
    State(gateway): State<crate::State>,
    visit: Visit,
) -> Result<Response, Problem> {
    let merchant_id = visit.merchant()?.merchant_id;
    let fields = fields(&visit.form);
    match gateway.create_link_by_hand(merchant_id, &fields, visit.email()?).await {
        Ok(id) => Ok(Redirect::to(&format!("/links/{id}?done=created")).into_response()),
        Err(ByHandError::Storage(error)) => Err(error.into()),
        Err(refused) => {
            // A form whose key was used with other values can only be sent under a new one.
            let is_used = matches!(refused, ByHandError::NoKey | ByHandError::KeyUsed);
            let key = if is_used { Uuid::now_v7().to_string() } else { fields.key.to_owned() };
            let shell = Shell::of(&visit, super::HERE).with_error(refused.to_string());
            page_with(StatusCode::UNPROCESSABLE_ENTITY, &Page { shell, key, fields })
        }
    }
}
