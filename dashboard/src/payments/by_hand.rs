//! Creating a payment by hand.

use askama::Template;
use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
};
use gateway::{
    app::invoice::by_hand::{BUYERS_CHOICE, ByHandError, Fields},
    asset::{Fiat, catalogue::Currency},
};
use uuid::Uuid;

use crate::{
    problem::Problem,
    shell::{Shell, page as show, page_with},
    visit::Visit,
};

#[derive(Template)]
#[template(path = "payments/by_hand.html")]
struct Page {
    shell: Shell,
    key: String,
    price: String,
    price_currency: String,
    pay_currency: String,
    order_id: String,
    description: String,
    webhook_url: String,
    currencies: Vec<&'static Currency>,
}

impl Page {
    /// The form with the values of one that was refused; a new one has none and a key of its own.
    async fn new(
        gateway: &crate::State,
        shell: Shell,
        fields: &Fields<'_>,
    ) -> Result<Self, Problem> {
        let key =
            if fields.key.is_empty() { Uuid::now_v7().to_string() } else { fields.key.to_owned() };
        let market = gateway.market().await?;
        Ok(Self {
            shell,
            key,
            price: fields.price.to_owned(),
            price_currency: fields.price_currency.to_owned(),
            pay_currency: fields.pay_currency.to_owned(),
            order_id: fields.order_id.to_owned(),
            description: fields.description.to_owned(),
            webhook_url: fields.webhook_url.to_owned(),
            currencies: market.offers().iter().map(|offer| offer.currency).collect(),
        })
    }

    fn is_fiat(&self, fiat: &Fiat) -> bool {
        fiat.code() == self.price_currency
    }

    fn is_currency(&self, currency: &Currency) -> bool {
        currency.token_id() == self.pay_currency
    }
}

pub async fn form(State(gateway): State<crate::State>, visit: Visit) -> Result<Response, Problem> {
    let fields = Fields {
        key: "",
        price: "",
        price_currency: Fiat::Usd.code(),
        pay_currency: BUYERS_CHOICE,
        order_id: "",
        description: "",
        webhook_url: "",
    };
    show(&Page::new(&gateway, Shell::of(&visit, "/payments"), &fields).await?)
}

pub async fn submit(
    State(gateway): State<crate::State>,
    visit: Visit,
) -> Result<Response, Problem> {
    let merchant_id = visit.merchant()?.merchant_id;
    let form = &visit.form;
    let fields = Fields {
        key: form.text("key"),
        price: form.text("price"),
        price_currency: form.text("price_currency"),
        pay_currency: form.text("pay_currency"),
        order_id: form.text("order_id"),
        description: form.text("description"),
        webhook_url: form.text("webhook_url"),
    };
    match gateway.create_by_hand(merchant_id, &fields, visit.email()?).await {
        Ok(id) => Ok(Redirect::to(&format!("/payments/{id}?done=created")).into_response()),
        Err(ByHandError::Storage(error)) => Err(error.into()),
        Err(ByHandError::NoMerchant) => Err(Problem::NotFound),
        Err(refused) => {
            // A form whose key was used with other values can only be sent under a new one.
            let is_used = matches!(refused, ByHandError::NoKey | ByHandError::KeyUsed);
            let again = if is_used { Fields { key: "", ..fields } } else { fields };
            let shell = Shell::of(&visit, "/payments").with_error(refused.to_string());
            let page = Page::new(&gateway, shell, &again).await?;
            page_with(StatusCode::UNPROCESSABLE_ENTITY, &page)
        }
    }
}
