//! Reads and writes what RunRequests need: slot records, the statuses of requests, and their deletion.

use std::sync::Arc;

use punctual_api::RunRequest;
use punctual_engine::cronjob::{
    NeededRecords, ReadRecords, RequestKey, RequestPlan, RequestUpdate, plan_without_target,
};
use punctual_queue::Failure;

use super::CronJobController;
use super::key::{CronJobName, ReconcileKey};

impl CronJobController {
    /// Reads the slot records that a decision needs.
    pub(super) async fn read_records(
        &self,
        name: &CronJobName,
        uid: &str,
        query: NeededRecords,
    ) -> Result<ReadRecords, Failure> {
        let records = self.client.read_records(&name.namespace, uid, query).await?;
        Ok(ReadRecords { query, records })
    }

    /// Reports on RunRequests whose CronJob does not exist or is not managed by this controller.
    pub(super) async fn reconcile_requests_without_target(
        &self,
        key: &ReconcileKey,
        name: &Arc<CronJobName>,
    ) -> Result<(), Failure> {
        let requests = self.index().requests.of_target(name);
        if requests.is_empty() {
            return Ok(());
        }
        let is_kind_managed = self.options.kinds.contains(&name.kind);
        let plan = plan_without_target(&requests, is_kind_managed, self.clock.now());
        let RequestPlan { updates, to_delete, wake_at } = plan;
        let is_written = self.write_requests(key, name, &updates, &to_delete).await;
        self.queue.set_wake(key, wake_at);
        if is_written { Ok(()) } else { Err(Failure::default()) }
    }

    /// Writes the statuses of requests and deletes expired ones. Returns whether all calls succeeded.
    pub(super) async fn write_requests(
        &self,
        key: &ReconcileKey,
        name: &CronJobName,
        updates: &[RequestUpdate],
        to_delete: &[RequestKey],
    ) -> bool {
        let mut all_written = true;
        for update in updates {
            all_written &= self.write_request(key, name, update).await;
        }
        for request in to_delete {
            let deleted = self.client.delete_request(&name.namespace, request).await;
            if let Err(error) = deleted {
                all_written = false;
                log_error(name, &request.name, "could not delete a finished RunRequest", &error);
            }
        }
        all_written
    }

    async fn write_request(
        &self,
        key: &ReconcileKey,
        name: &CronJobName,
        update: &RequestUpdate,
    ) -> bool {
        let metadata = &update.request.metadata;
        match self.client.write_request_status(update).await {
            Ok(written) => {
                self.index().requests.apply_response(written);
                // The next run may start now.
                self.queue.add(key);
                true
            }
            Err(error) if error.is_not_found() => true,
            Err(error) if error.is_conflict() => {
                self.read_request_again(key, name, &metadata.name).await
            }
            Err(error) => {
                log_error(
                    name,
                    &metadata.name,
                    "could not write the status of a RunRequest",
                    &error,
                );
                false
            }
        }
    }

    /// Reads a request after its status could not be written because it has changed.
    async fn read_request_again(
        &self,
        key: &ReconcileKey,
        name: &CronJobName,
        request: &str,
    ) -> bool {
        match self.client.read_request(&name.namespace, request).await {
            Ok(Some(current)) => {
                self.index().requests.apply_response(current);
                self.queue.add(key);
                true
            }
            Ok(None) => true,
            Err(error) => {
                log_error(name, request, "could not read a RunRequest", &error);
                false
            }
        }
    }

    /// Queues the CronJob of a request that was changed, created or deleted.
    pub(super) fn queue_target(&self, target: Arc<CronJobName>) {
        self.queue.add(&ReconcileKey::CronJob(target));
    }

    /// Applies a request that the watch shows.
    pub(super) fn apply_request(&self, request: RunRequest) {
        let target = self.index().requests.apply(request);
        if let Some(target) = target {
            self.queue_target(target);
        }
    }
}

fn log_error(
    name: &CronJobName,
    request: &str,
    message: &'static str,
    error: &punctual_client::ApiError,
) {
    tracing::warn!(
        namespace = name.namespace,
        name = name.name,
        request,
        error = error.message(),
        "{message}; retrying with backoff"
    );
}
