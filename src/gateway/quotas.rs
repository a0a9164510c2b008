//! Quotas of calls: how many a tenant, or the callers of one token, may make, have in flight and get answered.
//!
//! A call counts for its token and for its tenant, or for neither. Invariants: a call over a quota costs nothing but its refusal; the error
//! names the quota, its value and when to come back; a tenant's use never counts for another one; without quotas nothing is counted.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, RwLock};

use codeyard_access::Principal;
use codeyard_base::clock::Instant;
use codeyard_base::ids::TenantId;
use codeyard_config::{QuotaSection, Quotas};
use codeyard_model::error::ToolError;
use codeyard_model::limits::RETRY_AFTER_MS;

/// Owners whose use is remembered. Beyond that, those are forgotten that have used nothing for [`FORGET`].
const MAX_OWNERS: usize = 8_192;
/// Longer than the bytes of a minute need to come back, and the calls of a burst, unless one is configured that is larger than ten minutes' calls.
const FORGET: Duration = Duration::from_secs(600);
/// Seconds of calls that a burst has, if none is configured.
const BURST_S: u32 = 10;
const MIB: f64 = 1024.0 * 1024.0;
const MINUTE_S: f64 = 60.0;

/// Who a quota is for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Owner {
    Tenant(TenantId),
    /// Callers with a token of this name, `TENANT/NAME` in another tenant than `default`.
    Token(String),
}

/// The quotas of a service and their use.
#[derive(Debug, Default)]
pub(crate) struct CallQuotas {
    quotas: RwLock<Arc<Quotas>>,
    uses: Mutex<HashMap<Owner, Arc<Mutex<Use>>>>,
}

/// What an owner uses.
#[derive(Debug)]
struct Use {
    calls: Bucket,
    answer_bytes: Bucket,
    in_flight: u32,
}

/// An amount that is used up and comes back with time.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    /// What is left; below zero after an answer that was larger.
    left: f64,
    at: Instant,
}

/// The size of a bucket, and what comes back in a second.
#[derive(Debug, Clone, Copy)]
struct Rate {
    size: f64,
    per_second: f64,
}

/// The place of a call in the quotas of its tenant and token. Dropped when the call has ended.
#[derive(Debug, Default)]
pub(crate) struct QuotaUse(Vec<(Arc<Mutex<Use>>, Option<Rate>)>);

impl CallQuotas {
    /// Replaces the quotas. What is in use stays counted.
    pub(crate) fn set(&self, quotas: Quotas) {
        *self.quotas.write() = Arc::new(quotas);
    }

    /// Counts a call of `principal`.
    ///
    /// # Errors
    /// A quota that is used up.
    pub(crate) fn begin(&self, principal: &Principal) -> Result<QuotaUse, ToolError> {
        let quotas = self.quotas.read().clone();
        if quotas.is_empty() {
            return Ok(QuotaUse::default());
        }
        let now = Instant::now();
        let mut owners = Vec::with_capacity(2);
        if quotas.has_tokens() {
            let name = principal.name();
            if let Some(quota) = quotas.of_token(&name).filter(|quota| !quota.is_unlimited()) {
                owners.push((Owner::Token(name), quota));
            }
        }
        let of_tenant = quotas.of_tenant(&principal.tenant);
        if !of_tenant.is_unlimited() {
            owners.push((Owner::Tenant(principal.tenant.clone()), of_tenant));
        }
        let mut taken = QuotaUse::default();
        for (owner, quota) in owners {
            let rates = Rates::of(quota);
            let used = self.of(&owner, &rates, now);
            used.lock().take(quota, &rates, now).map_err(|exceeded| {
                // What was counted for the token is given back: the call doesn't take place.
                taken.undo();
                exceeded.error(&owner)
            })?;
            taken.0.push((used, rates.answer_bytes));
        }
        Ok(taken)
    }

    fn of(&self, owner: &Owner, rates: &Rates, now: Instant) -> Arc<Mutex<Use>> {
        let mut uses = self.uses.lock();
        if let Some(known) = uses.get(owner) {
            return known.clone();
        }
        if uses.len() >= MAX_OWNERS {
            uses.retain(|_, one| one.lock().matters(now));
        }
        let full = |rate: Option<Rate>| Bucket { left: rate.map_or(0.0, |rate| rate.size), at: now };
        let new = Use { calls: full(rates.calls), answer_bytes: full(rates.answer_bytes), in_flight: 0 };
        uses.entry(owner.clone()).or_insert_with(|| Arc::new(Mutex::new(new))).clone()
    }
}

struct Rates {
    calls: Option<Rate>,
    answer_bytes: Option<Rate>,
}

impl Rates {
    fn of(quota: &QuotaSection) -> Self {
        let calls = quota.calls_per_second.map(|calls| Rate {
            size: f64::from(quota.burst.unwrap_or(calls.saturating_mul(BURST_S))),
            per_second: f64::from(calls),
        });
        let answer_bytes = quota.answer_mib_per_minute.map(|mib| {
            let size = f64::from(mib) * MIB;
            Rate { size, per_second: size / MINUTE_S }
        });
        Self { calls, answer_bytes }
    }
}

/// A quota that is used up.
struct Exceeded {
    quota: &'static str,
    limit: u32,
    retry: Duration,
}

impl Exceeded {
    fn error(&self, owner: &Owner) -> ToolError {
        let whose = match owner {
            Owner::Tenant(_) => "tenant",
            Owner::Token(_) => "token",
        };
        // The next whole millisecond: a call that comes a moment too early is refused again.
        let retry_ms = u64::try_from(self.retry.as_micros().div_ceil(1_000)).unwrap_or(u64::MAX).max(1);
        ToolError::quota_exceeded(self.quota, whose, self.limit, retry_ms)
    }
}

impl Use {
    /// Whether forgetting it would give back what it has used.
    fn matters(&self, now: Instant) -> bool {
        let since = |bucket: &Bucket| now.saturating_duration_since(bucket.at);
        self.in_flight > 0 || since(&self.calls).min(since(&self.answer_bytes)) < FORGET
    }

    /// Takes the place of one call, or says which quota has none.
    fn take(&mut self, quota: &QuotaSection, rates: &Rates, now: Instant) -> Result<(), Exceeded> {
        if let Some(limit) = quota.calls_in_flight.filter(|limit| self.in_flight >= *limit) {
            let retry = Duration::from_millis(RETRY_AFTER_MS);
            return Err(Exceeded { quota: "calls_in_flight", limit, retry });
        }
        if let (Some(limit), Some(rate)) = (quota.answer_mib_per_minute, rates.answer_bytes) {
            self.answer_bytes.refill(rate, now);
            if let Some(retry) = self.answer_bytes.time_until(1.0, rate) {
                return Err(Exceeded { quota: "answer_mib_per_minute", limit, retry });
            }
        }
        if let (Some(limit), Some(rate)) = (quota.calls_per_second, rates.calls) {
            self.calls.refill(rate, now);
            if let Some(retry) = self.calls.time_until(1.0, rate) {
                return Err(Exceeded { quota: "calls_per_second", limit, retry });
            }
            self.calls.left -= 1.0;
        }
        self.in_flight += 1;
        Ok(())
    }
}

impl Bucket {
    fn refill(&mut self, rate: Rate, now: Instant) {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.left = (self.left + passed * rate.per_second).min(rate.size);
        self.at = now;
    }

    /// When there will be `amount`; `None` if there is.
    fn time_until(&self, amount: f64, rate: Rate) -> Option<Duration> {
        let missing = amount.min(rate.size) - self.left;
        (missing > 0.0).then(|| Duration::from_secs_f64(missing / rate.per_second))
    }
}

impl QuotaUse {
    /// Counts the bytes of the call's answer.
    pub(crate) fn answered(&self, bytes: usize) {
        let now = Instant::now();
        for (used, rate) in &self.0 {
            if let Some(rate) = rate {
                let mut used = used.lock();
                used.answer_bytes.refill(*rate, now);
                used.answer_bytes.left -= bytes as f64;
            }
        }
    }

    /// Undoes the count of a call that doesn't take place.
    fn undo(&self) {
        for (used, _) in &self.0 {
            used.lock().calls.left += 1.0;
        }
    }
}

impl Drop for QuotaUse {
    fn drop(&mut self) {
        for (used, _) in &self.0 {
            let mut used = used.lock();
            used.in_flight = used.in_flight.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use codeyard_access::{OperationSet, Scope};
    use codeyard_base::ids::PrincipalId;
    use codeyard_config::Config;

    fn paused(test: impl Future<Output = ()>) {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_time().start_paused(true).build().unwrap().block_on(test);
    }

    fn quotas(toml: &str) -> CallQuotas {
        let quotas = CallQuotas::default();
        let config: Config = codeyard_config::parse(toml, Path::new("/")).unwrap();
        quotas.set(config.quotas());
        quotas
    }

    fn principal(tenant: &str, name: &str) -> Principal {
        Principal {
            tenant: TenantId::new(tenant).unwrap(),
            id: PrincipalId::new(name),
            scope: Arc::new(Scope::of_operations(OperationSet::CALLS)),
            credential: None,
        }
    }

    /// How many calls of a principal are admitted at once, each of which ends at once; and what the next one is answered.
    fn admitted(quotas: &CallQuotas, by: &Principal) -> (usize, Option<ToolError>) {
        for count in 0..100 {
            if let Err(error) = quotas.begin(by) {
                return (count, Some(error));
            }
        }
        (100, None)
    }

    fn reason(error: &ToolError) -> String {
        let text = |key: &str| error.details[key].to_string();
        format!("{} {} {} {}", text("quota"), text("owner"), text("limit"), text("retryAfterMs"))
    }

    #[test]
    fn a_token_of_the_tenant_default_is_known_by_both_of_its_names() {
        paused(async {
            for name in ["ann", "default/ann"] {
                let quotas = quotas(&format!("[tokens.\"{name}\".quota]\ncalls_per_second = 1\nburst = 3\n"));
                assert_eq!(admitted(&quotas, &principal("default", "ann")).0, 3, "{name}");
            }
        });
    }

    #[test]
    fn calls_come_back_with_time_and_the_error_says_when() {
        paused(async {
            let quotas = quotas("[tenants.team-a.quota]\ncalls_per_second = 2\nburst = 5\n");
            let ann = principal("team-a", "ann");
            let (count, error) = admitted(&quotas, &ann);
            assert_eq!((count, reason(&error.unwrap()).as_str()), (5, r#""calls_per_second" "tenant" 2 500"#));
            assert_eq!(admitted(&quotas, &principal("team-b", "ann")), (100, None), "another tenant isn't touched");
            tokio::time::sleep(Duration::from_millis(499)).await;
            assert_eq!(admitted(&quotas, &principal("team-a", "bob")).0, 0, "all callers of the tenant count");
            tokio::time::sleep(Duration::from_millis(1)).await;
            assert_eq!(admitted(&quotas, &ann).0, 1);
            tokio::time::sleep(Duration::from_secs(3_600)).await;
            assert_eq!(admitted(&quotas, &ann).0, 5, "no more than a burst comes together");
        });
    }

    #[test]
    fn a_token_has_its_own_quota_within_that_of_its_tenant() {
        paused(async {
            let text = "[quota]\ncalls_per_second = 1\nburst = 4\n[tokens.\"team-a/ci\".quota]\ncalls_per_second = 1\nburst = 3\n";
            let quotas = quotas(text);
            let ci = principal("team-a", "ci");
            let (count, error) = admitted(&quotas, &ci);
            assert_eq!((count, reason(&error.unwrap()).as_str()), (3, r#""calls_per_second" "token" 1 1000"#));
            let (count, error) = admitted(&quotas, &principal("team-a", "ann"));
            assert_eq!(count, 1, "what the token was refused didn't count for the tenant");
            assert!(reason(&error.unwrap()).contains("tenant"));
            tokio::time::sleep(Duration::from_secs(1)).await;
            quotas.begin(&principal("team-a", "ann")).unwrap();
            assert!(reason(&quotas.begin(&ci).unwrap_err()).contains("tenant"), "the tenant has none left");
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert_eq!(admitted(&quotas, &ci).0, 1, "what the tenant was refused didn't count for the token");
            assert_eq!(
                admitted(&quotas, &principal("default", "ci")).0,
                4,
                "a token of the same name of another tenant"
            );
        });
    }

    #[test]
    fn calls_in_flight_are_counted_until_they_end() {
        paused(async {
            let quotas = quotas("[quota]\ncalls_in_flight = 2\n");
            let ann = principal("team-a", "ann");
            let first = quotas.begin(&ann).unwrap();
            let second = quotas.begin(&ann).unwrap();
            let error = quotas.begin(&ann).unwrap_err();
            assert_eq!(reason(&error), format!(r#""calls_in_flight" "tenant" 2 {RETRY_AFTER_MS}"#));
            drop(first);
            let third = quotas.begin(&ann).unwrap();
            assert!(quotas.begin(&ann).is_err());
            drop((second, third));
            assert_eq!(admitted(&quotas, &ann), (100, None));
        });
    }

    #[test]
    fn an_answer_over_the_quota_is_given_and_the_next_call_waits() {
        paused(async {
            let quotas = quotas("[quota]\nanswer_mib_per_minute = 6\n");
            let ann = principal("team-a", "ann");
            quotas.begin(&ann).unwrap().answered(7 * 1024 * 1024);
            let error = quotas.begin(&ann).unwrap_err();
            assert_eq!(reason(&error), r#""answer_mib_per_minute" "tenant" 6 10001"#);
            tokio::time::sleep(Duration::from_millis(10_001)).await;
            quotas.begin(&ann).unwrap().answered(0);
        });
    }

    #[test]
    fn a_quota_that_changes_takes_effect_and_what_is_in_use_stays_counted() {
        paused(async {
            let service = quotas("[quota]\ncalls_in_flight = 1\n");
            let ann = principal("team-a", "ann");
            let open = service.begin(&ann).unwrap();
            service.set(Quotas::default());
            assert_eq!(admitted(&service, &ann), (100, None));
            service.set(codeyard_config::parse("[quota]\ncalls_in_flight = 1\n", Path::new("/")).unwrap().quotas());
            assert!(service.begin(&ann).is_err());
            drop(open);
            assert_eq!(admitted(&service, &ann), (100, None));
        });
    }
}
