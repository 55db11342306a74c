//! How a Pod is treated when memory is short, from what it asks for.

use super::PodSpec;
use super::container::{Container, ResourceList};
use crate::quantity::Quantity;

/// Resources that count.
const COUNTED: [&str; 2] = ["cpu", "memory"];

/// A Pod's class of service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QosClass {
    /// Every container has limits and requests them in full: last to be stopped.
    Guaranteed,
    /// Some container asks for something.
    Burstable,
    /// Nothing is asked for: first to be stopped.
    BestEffort,
}

impl QosClass {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            QosClass::Guaranteed => "Guaranteed",
            QosClass::Burstable => "Burstable",
            QosClass::BestEffort => "BestEffort",
        }
    }
}

impl PodSpec {
    /// The class of a Pod with this spec, after defaulting.
    pub fn qos_class(&self) -> QosClass {
        let mut containers = self.containers_in_order().map(|(_, _, container)| container);
        if containers.clone().all(asks_for_nothing) {
            QosClass::BestEffort
        } else if containers.all(is_guaranteed) {
            QosClass::Guaranteed
        } else {
            QosClass::Burstable
        }
    }
}

fn asked<'a>(list: &'a ResourceList, name: &str) -> Option<&'a Quantity> {
    list.get(name).filter(|amount| **amount > Quantity::ZERO)
}

fn asks_for_nothing(container: &Container) -> bool {
    let resources = &container.resources;
    COUNTED.iter().all(|name| {
        asked(&resources.limits, name).is_none() && asked(&resources.requests, name).is_none()
    })
}

fn is_guaranteed(container: &Container) -> bool {
    let resources = &container.resources;
    COUNTED.iter().all(|name| {
        let limit = asked(&resources.limits, name);
        limit.is_some() && limit == asked(&resources.requests, name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_class_follows_from_what_every_container_asks_for() {
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
