//! The quality-of-service class of a Pod, derived from its requests and limits.

use super::PodSpec;
use super::container::{Container, ResourceList};
use crate::quantity::Quantity;

/// The resources that determine the class.
const QOS_RESOURCES: [&str; 2] = ["cpu", "memory"];

/// A quality-of-service class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QosClass {
    /// Every container has equal limits and requests: evicted last.
    Guaranteed,
    /// At least one container has a request or limit.
    Burstable,
    /// No container has a request or limit: evicted first.
    BestEffort,
}

impl QosClass {
    /// Returns the name of the class.
    pub fn as_str(self) -> &'static str {
        match self {
            QosClass::Guaranteed => "Guaranteed",
            QosClass::Burstable => "Burstable",
            QosClass::BestEffort => "BestEffort",
        }
    }
}

impl PodSpec {
    /// Returns the class of a Pod with this spec, after defaulting.
    pub fn qos_class(&self) -> QosClass {
        let mut containers = self.containers_in_order().map(|(_, _, container)| container);
        if containers.clone().all(has_no_requests) {
            QosClass::BestEffort
        } else if containers.all(is_guaranteed) {
            QosClass::Guaranteed
        } else {
            QosClass::Burstable
        }
    }
}

fn positive_amount<'a>(list: &'a ResourceList, name: &str) -> Option<&'a Quantity> {
    list.get(name).filter(|amount| **amount > Quantity::ZERO)
}

fn has_no_requests(container: &Container) -> bool {
    let resources = &container.resources;
    QOS_RESOURCES.iter().all(|name| {
        positive_amount(&resources.limits, name).is_none()
            && positive_amount(&resources.requests, name).is_none()
    })
}

fn is_guaranteed(container: &Container) -> bool {
    let resources = &container.resources;
    QOS_RESOURCES.iter().all(|name| {
        let limit = positive_amount(&resources.limits, name);
        limit.is_some() && limit == positive_amount(&resources.requests, name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_qos_class_depends_on_the_requests_and_limits_of_all_containers() {
        let full = json!({"cpu": "1", "memory": "1Gi"});
        let guaranteed = json!({"resources": {"limits": full, "requests": full}});
        let nothing = json!({});
        let some = json!({"resources": {"requests": {"cpu": "1"}}});
        let zero = json!({"resources": {"requests": {"cpu": "0"}}});
        for (containers, want) in [
            (json!([guaranteed]), "Guaranteed"),
            (json!([guaranteed, nothing]), "Burstable"),
            (json!([some]), "Burstable"),
            (json!([nothing]), "BestEffort"),
            (json!([zero]), "BestEffort"),
        ] {
            let spec: PodSpec = serde_json::from_value(json!({"containers": containers})).unwrap();
            assert_eq!(spec.qos_class().as_str(), want, "{containers}");
        }
    }
}
