//! Lists, page by page.

use std::{collections::HashSet, collections::VecDeque};

use serde::de::DeserializeOwned;

use crate::{
    contract::{Event, EventPage, Page},
    error::Error,
    transport::{PATIENT, Request, Transport},
};

/// All items of a list: `while let Some(item) = each.next().await? { … }`. It waits out the rate
/// limit.
///
/// New items move others onto the next page while it is read, so those of the page before are left
/// out when they come again.
pub struct Each<T> {
    transport: Transport,
    path: Vec<String>,
    query: Vec<(&'static str, String)>,
    id: fn(&T) -> &str,
    page: i64,
    is_last: bool,
    waiting: VecDeque<T>,
    before: HashSet<String>,
}

impl<T: DeserializeOwned> Each<T> {
    pub(crate) fn new(transport: &Transport, request: Request, id: fn(&T) -> &str) -> Self {
        let Request { path, query, .. } = request;
        let (waiting, before) = (VecDeque::new(), HashSet::new());
        Self { transport: transport.clone(), path, query, id, page: 0, is_last: false, waiting, before }
    }

    /// The next item, or none at the end. After an error it may be asked again.
    pub async fn next(&mut self) -> Result<Option<T>, Error> {
        loop {
            if let Some(item) = self.waiting.pop_front() {
                return Ok(Some(item));
            }
            if self.is_last {
                return Ok(None);
            }
            let mut request = Request::get(&[]).query("page", Some(self.page));
            request.path.clone_from(&self.path);
            request.query.extend(self.query.iter().cloned());
            request.max_wait = Some(PATIENT);
            let found: Page<T> = self.transport.read(request).await?;
            self.page += 1;
            self.is_last = found.data.is_empty() || self.page >= found.pages_count;
            let ids = found.data.iter().map(|item| (self.id)(item).to_owned()).collect();
            let before = std::mem::replace(&mut self.before, ids);
            self.waiting.extend(found.data.into_iter().filter(|item| !before.contains((self.id)(item))));
        }
    }
}

/// The feed of events: `while let Some(event) = events.next().await? { … }`. It waits out the rate
/// limit.
pub struct Events {
    transport: Transport,
    query: Vec<(&'static str, String)>,
    after: Option<String>,
    is_last: bool,
    waiting: VecDeque<Event>,
}

impl Events {
    pub(crate) fn new(transport: &Transport, request: Request, after: Option<String>) -> Self {
        let (transport, query) = (transport.clone(), request.query);
        Self { transport, query, after, is_last: false, waiting: VecDeque::new() }
    }

    /// The next event, or none where there is no more now; then, and after an error, it may be
    /// asked again later.
    pub async fn next(&mut self) -> Result<Option<Event>, Error> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Ok(Some(event));
            }
            if std::mem::take(&mut self.is_last) {
                return Ok(None);
            }
            let mut request = Request::get(&["events"]).query("after", self.after.as_ref());
            request.query.extend(self.query.iter().cloned());
            request.max_wait = Some(PATIENT);
            let page: EventPage = self.transport.read(request).await?;
            self.after = page.next.or(self.after.take());
            self.is_last = !page.has_more;
            self.waiting.extend(page.data);
        }
    }
}
