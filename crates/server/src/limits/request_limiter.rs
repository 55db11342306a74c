//! Enforces the limits on requests: their number, rate and size, fairly between users.

use std::sync::Arc;

use punctual_api::Status;
use tokio::time::Instant;

use super::ServerLimits;
use super::fair_share::{FairShare, Share};
use super::rate::FairRate;
use crate::auth::User;

/// The units of a response of unknown length: what its stream keeps in memory.
const STREAM_BYTES: usize = 512 << 10;

/// Enforces the limits on requests. Every permit is returned when it is dropped.
pub(crate) struct RequestLimiter {
    requests: Arc<FairShare>,
    watches: Arc<FairShare>,
    log_streams: Arc<FairShare>,
    bodies: Arc<FairShare>,
    request_bytes: Arc<FairShare>,
    response_bytes: Arc<FairShare>,
    rate: FairRate,
    cron_job_rate: Option<FairRate>,
    job_rate: Option<FairRate>,
}

/// The permit of a request. It must be kept until the response was sent.
pub(crate) struct RequestPermit {
    _request: Share,
}

/// The permit of a request body.
pub(crate) struct BodyPermit {
    /// Kept until the body has arrived.
    pub(crate) receiving: Share,
    /// Kept while the body is in memory.
    pub(crate) bytes: Share,
}

impl RequestLimiter {
    pub(crate) fn new(limits: &ServerLimits) -> RequestLimiter {
        RequestLimiter {
            requests: FairShare::new(limits.requests_max),
            watches: FairShare::new(limits.watches_max),
            log_streams: FairShare::new(limits.log_streams_max),
            bodies: FairShare::new(limits.concurrent_bodies_max),
            request_bytes: FairShare::new(limits.total_body_bytes_max),
            response_bytes: FairShare::new(limits.response_bytes_max),
            rate: FairRate::new(limits.requests_per_second),
            cron_job_rate: limits.cron_job_requests_per_second.map(FairRate::new),
            job_rate: limits.job_requests_per_second.map(FairRate::new),
        }
    }

    /// Takes a permit for a request for a resource other than a watch.
    pub(crate) fn acquire_request(
        &self,
        user: &User,
        resource: &str,
        now: Instant,
    ) -> Result<RequestPermit, Status> {
        if !self.rate.try_take(user, now) {
            return Err(too_many("too many requests in a second"));
        }
        let resource_rate = match resource {
            "cronjobs" | "scheduledjobs" => &self.cron_job_rate,
            "jobs" => &self.job_rate,
            _ => &None,
        };
        if let Some(rate) = resource_rate
            && !rate.try_take(user, now)
        {
            return Err(too_many(&format!("too many requests for {resource} in a second")));
        }
        let request = self.requests.try_take(user, 1);
        let request = request.ok_or_else(|| too_many("too many requests at a time"))?;
        Ok(RequestPermit { _request: request })
    }

    /// Takes a permit for a watch or a followed log.
    pub(crate) fn acquire_watch(&self, user: &User) -> Result<Share, Status> {
        let permit = self.watches.try_take(user, 1);
        permit.ok_or_else(|| too_many("too many watches at a time"))
    }

    /// Takes a permit to read a log.
    pub(crate) fn acquire_log(&self, user: &User) -> Result<Share, Status> {
        let permit = self.log_streams.try_take(user, 1);
        permit.ok_or_else(|| too_many("too many logs are read at a time"))
    }

    /// Takes a permit to receive a body of at most this many bytes.
    pub(crate) fn acquire_body(&self, user: &User, bytes: usize) -> Result<BodyPermit, Status> {
        let receiving = self.bodies.try_take(user, 1);
        let receiving =
            receiving.ok_or_else(|| too_many("too many unfinished request bodies at a time"))?;
        let bytes = self.request_bytes.try_take(user, bytes);
        let bytes = bytes.ok_or_else(|| too_many("too many bytes of request bodies at a time"))?;
        Ok(BodyPermit { receiving, bytes })
    }

    /// Takes a permit for a response, by its length if that is known.
    pub(crate) fn acquire_response(
        &self,
        user: &User,
        length: Option<u64>,
    ) -> Result<Share, Status> {
        let bytes =
            length.map_or(STREAM_BYTES, |length| usize::try_from(length).unwrap_or(usize::MAX));
        let permit = self.response_bytes.try_take(user, bytes);
        permit.ok_or_else(|| too_many("too many bytes of unread responses"))
    }
}

fn too_many(why: &str) -> Status {
    Status::too_many_requests(format!("{why}, please try again later"), 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::{ADMIN_GROUP, VIEW_GROUP};

    #[test]
    fn a_permit_is_free_again_when_its_request_ends() {
        let limits = ServerLimits { requests_max: 1, watches_max: 1, ..ServerLimits::default() };
        let limiter = RequestLimiter::new(&limits);
        let user = User::new("a", ADMIN_GROUP);
        let permit = limiter.acquire_request(&user, "pods", Instant::now()).unwrap();
        let refused = limiter.acquire_request(&user, "pods", Instant::now()).err().unwrap();
        assert_eq!((refused.code, refused.details.unwrap().retry_after_seconds), (429, 1));
        drop(permit);
        assert!(limiter.acquire_request(&user, "pods", Instant::now()).is_ok());
        let _watch = limiter.acquire_watch(&user).ok().unwrap();
        assert_eq!(limiter.acquire_watch(&user).err().unwrap().code, 429);
    }

    #[test]
    fn cron_jobs_and_jobs_have_rates_of_their_own() {
        let limits = ServerLimits {
            cron_job_requests_per_second: Some(2),
            job_requests_per_second: Some(1),
            ..ServerLimits::default()
        };
        let limiter = RequestLimiter::new(&limits);
        let user = User::new("a", ADMIN_GROUP);
        let now = Instant::now();
        let accepted = |resource: &str| {
            let tries = std::iter::repeat_with(|| limiter.acquire_request(&user, resource, now));
            tries.take(10).filter(Result::is_ok).count()
        };
        assert_eq!((accepted("cronjobs"), accepted("scheduledjobs")), (2, 0));
        assert_eq!((accepted("jobs"), accepted("pods")), (1, 10));
    }

    #[test]
    fn a_user_cannot_use_up_the_rates_of_cron_jobs_and_jobs_of_others() {
        let limits = ServerLimits {
            cron_job_requests_per_second: Some(40),
            job_requests_per_second: Some(40),
            ..ServerLimits::default()
        };
        let limiter = RequestLimiter::new(&limits);
        let now = Instant::now();
        for resource in ["cronjobs", "jobs"] {
            let accepted = |name: &str, group: &str| {
                let user = User::new(name, group);
                let tries =
                    std::iter::repeat_with(|| limiter.acquire_request(&user, resource, now));
                tries.take(100).filter(Result::is_ok).count()
            };
            assert_eq!(accepted("a", VIEW_GROUP), 20, "half of the rate of {resource}");
            assert_eq!(accepted("b", VIEW_GROUP), 20, "the other half");
            assert_eq!(accepted("admin", ADMIN_GROUP), 40, "administrators have their own rate");
        }
    }

    #[test]
    fn unread_responses_are_bounded_by_bytes() {
        let limits = ServerLimits { response_bytes_max: 10 << 20, ..ServerLimits::default() };
        let limiter = RequestLimiter::new(&limits);
        let user = User::new("a", VIEW_GROUP);
        let streams: Vec<_> =
            std::iter::from_fn(|| limiter.acquire_response(&user, None).ok()).take(100).collect();
        assert_eq!(streams.len(), 8, "half of the eight MiB that are not reserved");
        assert!(limiter.acquire_response(&user, Some(1)).is_err());
        assert!(limiter.acquire_response(&User::new("x", ADMIN_GROUP), None).is_ok());
    }
}
