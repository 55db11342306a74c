//! Limits that keep one client from using all resources of the server: sizes, rates, concurrent
//! requests, watches and connections.

mod fair_share;
mod rate;
mod request_limiter;

use std::time::Duration;

pub(crate) use self::fair_share::Share;
pub(crate) use self::rate::TokenBucket;
pub(crate) use self::request_limiter::{RequestLimiter, RequestPermit};

/// The limits of a server. Those on numbers, rates and total bytes are server-wide and are shared fairly
/// between users. The sizes and times of a single request apply to each request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerLimits {
    /// Maximum size of one request body in bytes.
    pub body_bytes_max: usize,
    /// Maximum number of concurrent requests other than watches.
    pub requests_max: usize,
    /// Maximum number of concurrent watches.
    pub watches_max: usize,
    /// Maximum number of logs that are read at a time. Each one needs a file descriptor.
    pub log_streams_max: usize,
    /// Maximum number of request bodies that are received at a time.
    pub concurrent_bodies_max: usize,
    /// Maximum number of bytes of all request bodies in memory.
    pub total_body_bytes_max: usize,
    /// Maximum number of bytes of all responses that wait to be sent.
    pub response_bytes_max: usize,
    /// Maximum rate of requests other than watches. Bursts of one second's worth are allowed.
    pub requests_per_second: u32,
    /// Maximum rate of requests for CronJobs and ScheduledJobs, other than watches. With `None`, only
    /// `requests_per_second` limits them.
    pub cron_job_requests_per_second: Option<u32>,
    /// Maximum rate of requests for Jobs, other than watches. With `None`, only `requests_per_second`
    /// limits them.
    pub job_requests_per_second: Option<u32>,
    /// Time limit of a request other than a watch, until its response begins.
    pub request_timeout: Duration,
    /// Maximum time without progress of a request body.
    pub body_stall_timeout: Duration,
    /// Time limit to send a whole response other than a watch or a followed log.
    pub response_timeout: Duration,
    /// The limits of connections.
    pub connections: ConnectionLimits,
}

/// The limits of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Maximum number of connections. Beyond it the connection that has been idle for the longest
    /// time is closed, or else the new one.
    pub total_max: usize,
    /// Maximum number of connections of an IPv4 address or an IPv6 network of 64 bits.
    pub per_address_max: usize,
    /// Maximum number of connections of a user who is not an administrator.
    pub per_user_max: usize,
    /// Time limit of the TLS handshake.
    pub handshake_timeout: Duration,
    /// Time limit from the handshake until the headers of the first request have arrived.
    pub first_request_timeout: Duration,
    /// Time limit of the headers of a later HTTP/1.1 request, from their first byte.
    pub header_timeout: Duration,
    /// Maximum time without a request. A watch is a request, so its connection is not idle.
    pub idle_timeout: Duration,
    /// The age at which a connection accepts no more requests and ends with its last response.
    pub age_max: Duration,
    /// Maximum time for which a client may accept no bytes that are ready to be sent.
    pub write_timeout: Duration,
}

impl Default for ServerLimits {
    fn default() -> ServerLimits {
        ServerLimits {
            body_bytes_max: 3 << 20,
            requests_max: 1_000,
            watches_max: 10_000,
            log_streams_max: 1_000,
            concurrent_bodies_max: 500,
            total_body_bytes_max: 256 << 20,
            response_bytes_max: 256 << 20,
            requests_per_second: 20_000,
            cron_job_requests_per_second: None,
            job_requests_per_second: None,
            request_timeout: Duration::from_secs(60),
            body_stall_timeout: Duration::from_secs(10),
            response_timeout: Duration::from_secs(300),
            connections: ConnectionLimits::with_total(20_000),
        }
    }
}

impl ConnectionLimits {
    /// Returns the default limits for a total number of connections. One address may have three
    /// quarters of them, and one user who is not an administrator one quarter.
    pub fn with_total(total_max: usize) -> ConnectionLimits {
        ConnectionLimits {
            total_max,
            per_address_max: (total_max - total_max / 4).max(1),
            per_user_max: (total_max / 4).max(1),
            handshake_timeout: Duration::from_secs(10),
            first_request_timeout: Duration::from_secs(10),
            header_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(120),
            age_max: Duration::from_secs(60 * 60),
            write_timeout: Duration::from_secs(30),
        }
    }
}
