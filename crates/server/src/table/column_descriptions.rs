//! The descriptions of the columns of CronJobs, copied from kube-apiserver.
//!
//! Tables of CronJobs are compared with recorded ones to the letter, so their descriptions are
//! copied. Other kinds have descriptions of our own.

pub(super) const NAME: &str = "\
    Name must be unique within a namespace. Is required when creating resources, although \
    some resources may allow a client to request the generation of an appropriate name \
    automatically. Name is primarily intended for creation idempotence and configuration \
    definition. Cannot be updated. More info: \
    https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";
pub(super) const SCHEDULE: &str = "\
    The schedule in Cron format, see https://en.wikipedia.org/wiki/Cron.";
pub(super) const TIME_ZONE: &str = "\
    The time zone name for the given schedule, see \
    https://en.wikipedia.org/wiki/List_of_tz_database_time_zones. If not specified, this \
    will default to the time zone of the kube-controller-manager process. The set of valid \
    time zone names and the time zone offset is loaded from the system-wide time zone \
    database by the API server during CronJob validation and the controller manager during \
    execution. If no system-wide time zone database can be found a bundled version of the \
    database is used instead. If the time zone name becomes invalid during the lifetime of a \
    CronJob or due to a change in host configuration, the controller will stop creating new \
    new Jobs and will create a system event with the reason UnknownTimeZone. More \
    information can be found in \
    https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/#time-zones";
pub(super) const SUSPEND: &str = "\
    This flag tells the controller to suspend subsequent executions, it does not apply to \
    already started executions.  Defaults to false.";
pub(super) const ACTIVE: &str = "A list of pointers to currently running jobs.";
pub(super) const LAST_SCHEDULE: &str = "\
    Information when was the last time the job was successfully scheduled.";
pub(super) const AGE: &str = "\
    CreationTimestamp is a timestamp representing the server time when this object was \
    created. It is not guaranteed to be set in happens-before order across separate \
    operations. Clients may not set this value. It is represented in RFC3339 form and is in \
    UTC.\n\n\
    Populated by the system. Read-only. Null for lists. More info: \
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";
pub(super) const CONTAINERS: &str = "Names of each container in the template.";
pub(super) const IMAGES: &str = "Images referenced by each container in the template.";
pub(super) const SELECTOR: &str = "\
    A label query over pods that should match the pod count. Normally, the system sets this \
    field for you. More info: \
    https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors";
