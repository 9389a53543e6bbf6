//! Resources by hand, from forms of the dashboard: the checks of the form, then the same rules as
//! the API's.

use uuid::Uuid;

use super::resources::ResourceError;
use crate::{
    app::Gateway,
    asset::Network,
    money::Price,
    storage::{
        StorageError, audit, merchants,
        x402::resources::{self, Resource},
    },
    x402::resource::{self, TIMEOUT_SECONDS, Terms, TermsError},
};

/// The kind of a resource in the audit log.
const KIND: &str = "x402";

/// The fields of the form, as they were sent.
#[derive(Debug, Clone, Default)]
pub struct Fields<'a> {
    /// Names the form: sent twice, it creates one resource.
    pub key: &'a str,
    pub url: &'a str,
    pub description: &'a str,
    pub mime_type: &'a str,
    pub price: &'a str,
    pub networks: Vec<&'a str>,
    pub timeout: &'a str,
    pub listed: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum ByHandError {
    #[error("The form has no key. Open it again.")]
    NoKey,
    #[error("This form was sent before with other values. Open it again.")]
    KeyUsed,
    #[error("The price must be an amount in USD such as 0.01, with at most six decimal places.")]
    Price,
    #[error("The time to sign must be {} to {} seconds.", TIMEOUT_SECONDS.start(), TIMEOUT_SECONDS.end())]
    Timeout,
    #[error("The address must be an http or https address of at most 2000 characters.")]
    Url,
    #[error("The description may have 500 characters at most, on one line.")]
    Description,
    #[error("The type of the answer must be one such as application/json.")]
    MimeType,
    #[error("Choose at least one network.")]
    Networks,
    #[error("Somebody changed this meanwhile. Look at it as it is now, then change it again.")]
    Stale,
    #[error("The price is below {least} USD, the least that is settled on {network}.")]
    BelowMinimum { network: &'static str, least: String },
    #[error("Programs cannot pay on {0} here. Choose other networks.")]
    NotOffered(&'static str),
    #[error("Not saved: {0}.")]
    Refused(ResourceError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl From<TermsError> for ByHandError {
    fn from(error: TermsError) -> Self {
        match error {
            TermsError::Url => Self::Url,
            TermsError::Description => Self::Description,
            TermsError::MimeType => Self::MimeType,
            TermsError::Price => Self::Price,
            TermsError::Timeout => Self::Timeout,
            TermsError::Networks => Self::Networks,
        }
    }
}

impl From<ResourceError> for ByHandError {
    fn from(error: ResourceError) -> Self {
        match error {
            ResourceError::Storage(error) => Self::Storage(error),
            ResourceError::Terms(error) => error.into(),
            ResourceError::NotOffered(network) => Self::NotOffered(network),
            ResourceError::BelowMinimum { network, least } => Self::BelowMinimum { network, least },
            other @ (ResourceError::NotFound
            | ResourceError::TooMany { .. }
            | ResourceError::Suspended
            | ResourceError::Unavailable
            | ResourceError::NoAddress(_)) => Self::Refused(other),
        }
    }
}

impl Gateway {
    /// Creates the resource of a form, or finds the one that the same form created before. Returns
    /// its public id. `by` is the account that acts.
    pub async fn create_x402_by_hand(
        &self,
        merchant_id: Uuid,
        fields: &Fields<'_>,
        by: &str,
    ) -> Result<String, ByHandError> {
        let id = Uuid::try_parse(fields.key).map_err(|_| ByHandError::NoKey)?;
        let terms = terms(fields)?;
        terms.check()?;
        let mut connection = self.db.connection().await?;
        let before = resources::of_row(&mut connection, id).await?;
        drop(connection);
        if let Some(before) = before {
            return again(before, merchant_id, &terms);
        }
        let made = self.insert_x402_resource(merchant_id, id, &terms).await;
        let mut connection = self.db.connection().await?;
        match made {
            Ok(stored) => {
                let (id, act) = (stored.resource_id, (KIND, "create"));
                audit::note(&mut connection, act, &id, by, &terms.url).await?;
                Ok(id)
            }
            // The same form was sent twice at once.
            Err(ResourceError::Storage(error)) if error.is_constraint("x402_resource_pkey") => {
                let before = resources::of_row(&mut connection, id).await?;
                again(before.ok_or(ByHandError::KeyUsed)?, merchant_id, &terms)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Changes the text of a resource. Its price and its networks stay: programs have signed for
    /// them. `seen` is the number of edits that its form knew of.
    pub async fn edit_x402_by_hand(
        &self,
        merchant_id: Uuid,
        resource_id: &str,
        (fields, seen): (&Fields<'_>, i32),
        by: &str,
    ) -> Result<(), ByHandError> {
        let mut connection = self.db.connection().await?;
        let known = resources::known(&mut connection, merchant_id, resource_id).await?;
        let known = known.ok_or(ByHandError::Refused(ResourceError::NotFound))?;
        let terms = Terms {
            url: text(fields.url),
            description: text(fields.description),
            mime_type: text(fields.mime_type),
            timeout_seconds: whole(fields.timeout)?,
            listed: fields.listed,
            price: known.terms.price,
            networks: known.terms.networks.clone(),
        };
        terms.check()?;
        if !resources::edit(&mut connection, &known, &terms, seen).await? {
            return Err(ByHandError::Stale);
        }
        audit::note(&mut connection, (KIND, "edit"), resource_id, by, &terms.url).await?;
        Ok(())
    }

    /// Sells a resource no more, or again. Payments that are under way still arrive.
    pub async fn switch_x402_resource(
        &self,
        merchant_id: Uuid,
        resource_id: &str,
        active: bool,
        by: &str,
    ) -> Result<(), ResourceError> {
        let mut tx = self.db.begin().await?;
        if !merchants::lock_for_creation(&mut tx, merchant_id).await? && active {
            return Err(ResourceError::Suspended);
        }
        let known = resources::known(&mut tx, merchant_id, resource_id).await?;
        let known = known.ok_or(ResourceError::NotFound)?;
        if known.is_off != active {
            return Ok(());
        }
        if active {
            if resources::count(&mut tx, merchant_id).await? >= resource::RESOURCES_MAX {
                return Err(ResourceError::TooMany { max: resource::RESOURCES_MAX });
            }
            resources::switch_on(&mut tx, known.id).await?;
        } else {
            resources::delete(&mut tx, merchant_id, resource_id).await?;
        }
        let act = if active { "switch-on" } else { "switch-off" };
        audit::note(&mut tx, (KIND, act), resource_id, by, &known.terms.url).await?;
        tx.commit().await.map_err(StorageError::from)?;
        Ok(())
    }
}

/// The resource that a form created before, if the form says the same now.
fn again(before: Resource, merchant_id: Uuid, terms: &Terms) -> Result<String, ByHandError> {
    if before.merchant_id == merchant_id && before.terms == *terms {
        Ok(before.resource_id)
    } else {
        Err(ByHandError::KeyUsed)
    }
}

fn terms(fields: &Fields<'_>) -> Result<Terms, ByHandError> {
    let networks = fields.networks.iter().map(|name| name.parse::<Network>());
    Ok(Terms {
        url: text(fields.url),
        description: text(fields.description),
        mime_type: text(fields.mime_type),
        price: Price::parse(fields.price.trim()).map_err(|_| ByHandError::Price)?,
        networks: networks.collect::<Result<_, _>>().map_err(|_| ByHandError::Networks)?,
        timeout_seconds: whole(fields.timeout)?,
        listed: fields.listed,
    })
}

fn whole(field: &str) -> Result<u32, ByHandError> {
    field.trim().parse().map_err(|_| ByHandError::Timeout)
}

/// The content of a field without the space around it.
fn text(field: &str) -> String {
    field.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields() -> Fields<'static> {
        Fields {
            key: "",
            url: " https://api.example/weather ",
            description: "The weather of tomorrow",
            mime_type: "application/json",
            price: "0.001",
            networks: vec!["base", "polygon"],
            timeout: "60",
            listed: true,
        }
    }

    #[test]
    fn a_form_becomes_the_terms_that_the_api_would_read() {
        let terms = terms(&fields()).unwrap();
        assert_eq!(terms.url, "https://api.example/weather");
        assert_eq!(terms.networks, [Network::Base, Network::Polygon]);
        assert_eq!(terms.price.to_decimal(), "0.001");
        terms.check().unwrap();
    }

    #[test]
    fn a_wrong_field_is_refused_by_its_name_on_the_page() {
        let refused = |change: fn(&mut Fields<'static>), words: &str| {
            let mut fields = fields();
            change(&mut fields);
            let checked = terms(&fields).and_then(|terms| Ok(terms.check()?));
            let error = checked.unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        };
        refused(|fields| fields.price = "a cent", "such as 0.01");
        refused(|fields| fields.price = "0.0000001", "six decimal places");
        refused(|fields| fields.price = "0", "The price");
        refused(|fields| fields.networks = vec![], "at least one network");
        refused(|fields| fields.networks = vec!["moon"], "at least one network");
        refused(|fields| fields.timeout = "9", "10 to 600 seconds");
        refused(|fields| fields.timeout = "soon", "10 to 600 seconds");
        refused(|fields| fields.url = "javascript:alert(1)", "http or https");
        refused(|fields| fields.mime_type = "json", "application/json");
    }
}
