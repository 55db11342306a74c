//! Fuzzes random objects that follow the schema tables, with injected errors: nothing panics, every
//! typed view reads what `decode` accepts, and applying the defaults twice changes nothing.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may fail")]

use punctual_api::decode::{self, ExpectedKind, UnknownFields};
use punctual_api::schema::{self, FieldType, StructSchema};
use punctual_api::validate::ValidationOptions;
use punctual_api::write_rules::{self, CreateContext, ResourceKind};
use punctual_api::{CronJobKind, Dialect};
use punctual_schedule::Zones;
use punctual_testing::TestRng;
use serde_json::{Map, Value, json};

const OBJECTS: u64 = 10_000;

/// Texts with a meaning in some field, and texts without one.
const WORDS: [&str; 24] = [
    "",
    "a",
    "x.y",
    "A b",
    "0",
    "1Gi",
    "-1",
    "500m",
    "Always",
    "Never",
    "OnFailure",
    "In",
    "TCP",
    "metadata.name",
    "metadata.labels['a']",
    "limits.cpu",
    "0-3,5",
    "* * * * *",
    "@every 1s",
    "TZ=UTC",
    "Europe/Berlin",
    "2024-01-01T00:00:00Z",
    "é\u{0}\u{2028}",
    "Indexed",
];
const NUMBERS: [i64; 10] =
    [0, 1, -1, 2, 80, 65536, 100_001, i32::MAX as i64, i32::MIN as i64, i64::MAX];

/// Generates random objects.
struct RandomGenerator(TestRng);

impl RandomGenerator {
    fn number_below(&mut self, limit: usize) -> usize {
        self.0.below(limit as u64) as usize
    }

    fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.number_below(items.len())]
    }

    fn object(&mut self, struct_schema: &StructSchema, depth: usize) -> Value {
        let mut fields = Map::new();
        for _ in 0..self.number_below(7) {
            if struct_schema.fields.is_empty() {
                break;
            }
            let field = &struct_schema.fields[self.number_below(struct_schema.fields.len())];
            let value = self.value(&field.ty, depth);
            fields.insert(field.json.to_owned(), value);
        }
        if self.number_below(20) == 0 {
            fields.insert("novel".to_owned(), json!({"deep": [1, null]}));
        }
        Value::Object(fields)
    }

    fn value(&mut self, ty: &FieldType, depth: usize) -> Value {
        if self.number_below(60) == 0 {
            return self
                .pick(&[Value::Null, json!([]), json!({}), json!(1.5), json!("x")].each_ref())
                .clone();
        }
        match ty {
            FieldType::Bool => json!(self.number_below(2) == 0),
            FieldType::Int32 | FieldType::Int64 => json!(self.pick(&NUMBERS)),
            FieldType::IntOrString if self.number_below(2) == 0 => json!(self.pick(&NUMBERS)),
            FieldType::Time | FieldType::MicroTime => json!("2024-01-01T00:00:00Z"),
            FieldType::Quantity => json!(self.pick(&["1", "1Gi", "500m", "-1", "0.0001", "2e3"])),
            FieldType::Struct(id) if depth > 0 => self.object(id.get(), depth - 1),
            FieldType::List(item) => {
                let count = if depth > 0 { self.number_below(4) } else { 0 };
                (0..count).map(|_| self.value(item, depth - 1)).collect()
            }
            FieldType::Map(item) => {
                let count = if depth > 0 { self.number_below(3) } else { 0 };
                let entries =
                    (0..count).map(|_| (self.pick(&WORDS).to_owned(), self.value(item, depth - 1)));
                entries.collect()
            }
            FieldType::Struct(_) | FieldType::Any => json!({}),
            _ => json!(self.pick(&WORDS)),
        }
    }
}

const KINDS: [(ResourceKind, &str, &str); 12] = [
    (ResourceKind::CronJob(CronJobKind::BatchV1), "batch/v1", "CronJob"),
    (ResourceKind::CronJob(CronJobKind::ScheduledJob), "punctual.dev/v1", "ScheduledJob"),
    (ResourceKind::Job, "batch/v1", "Job"),
    (ResourceKind::Pod, "v1", "Pod"),
    (ResourceKind::Namespace, "v1", "Namespace"),
    (ResourceKind::ConfigMap, "v1", "ConfigMap"),
    (ResourceKind::Secret, "v1", "Secret"),
    (ResourceKind::ServiceAccount, "v1", "ServiceAccount"),
    (ResourceKind::Event, "v1", "Event"),
    (ResourceKind::Lease, "coordination.k8s.io/v1", "Lease"),
    (ResourceKind::Node, "v1", "Node"),
    (ResourceKind::RunRequest, "punctual.dev/v1", "RunRequest"),
];

fn context() -> CreateContext<'static> {
    let now = "2026-01-01T00:00:00Z".parse().unwrap();
    CreateContext { namespace: "n", uid: "u", suffix: "abcde", now }
}

/// Returns an object to update; its own errors do not matter.
fn base(kind: ResourceKind) -> Value {
    let pod = json!({"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]});
    let spec = match kind {
        ResourceKind::CronJob(_) => {
            json!({"schedule": "* * * * *", "jobTemplate": {"spec": {"template": {"spec": pod}}}})
        }
        ResourceKind::Job => json!({"template": {"spec": pod}}),
        ResourceKind::Pod => pod,
        ResourceKind::RunRequest => json!({"target": {"name": "a"}, "now": true}),
        _ => json!({}),
    };
    let rules = ValidationOptions { zones: Zones::bundled(), dialect: Dialect::Punctual };
    let mut object = json!({"metadata": {"name": "a"}, "spec": spec});
    if kind == ResourceKind::Event {
        object = json!({"metadata": {"name": "a"}, "involvedObject": {"namespace": "n"}});
    }
    write_rules::create(kind, object, &context(), &rules).unwrap().object
}

#[test]
fn random_objects_are_accepted_or_rejected_without_panic() {
    let mut passed = 0;
    let mut accepted = 0;
    let bases: Vec<_> = KINDS.iter().map(|(kind, ..)| base(*kind)).collect();
    let rules = [Dialect::Punctual, Dialect::Kubernetes]
        .map(|dialect| ValidationOptions { zones: Zones::bundled(), dialect });
    for seed in 1..=OBJECTS {
        let mut random = RandomGenerator(TestRng::new(seed));
        let i = random.number_below(KINDS.len());
        let (kind, api_version, name) = KINDS[i];
        let rules = &rules[random.number_below(2)];
        let struct_schema =
            schema::find_struct(if name == "ScheduledJob" { "CronJob" } else { name }).unwrap();
        let body = random.object(struct_schema, 9).to_string();
        let expected = ExpectedKind { api_version, kind: name };
        let unknown = random.pick(&[UnknownFields::Keep, UnknownFields::Drop]);
        let Ok(decoded) = decode::decode_json(body.as_bytes(), &expected, rules.dialect, unknown)
        else {
            continue;
        };
        passed += 1;
        let now = context().now;
        let answers = [
            write_rules::create(kind, decoded.value.clone(), &context(), rules),
            write_rules::update(kind, decoded.value.clone(), &bases[i], rules, now),
            write_rules::update_status(kind, decoded.value.clone(), &bases[i]),
        ];
        for answer in answers {
            match answer {
                Ok(admitted) => {
                    accepted += 1;
                    let mut again = admitted.object.clone();
                    kind.apply_defaults(&mut again);
                    assert_eq!(again, admitted.object, "seed {seed}: defaults are not stable");
                }
                Err(status) => {
                    let is_refusal = status.code == 422 || status.message.contains("namespace");
                    assert!(is_refusal, "seed {seed}: {} for {body}", status.message);
                }
            }
        }
    }
    println!("{OBJECTS} objects, {passed} passed decoding, {accepted} writes accepted");
    assert!(passed > OBJECTS / 10 && accepted > 100, "{passed} {accepted}");
}

#[test]
fn random_bytes_are_rejected() {
    let expected = ExpectedKind { api_version: "batch/v1", kind: "CronJob" };
    for seed in 1..=2_000 {
        let mut random = RandomGenerator(TestRng::new(seed));
        let alphabet = b"{}[]\",:0-9.eE+tfn\\u \xff\x00ab";
        let body: Vec<u8> = (0..random.number_below(60)).map(|_| random.pick(alphabet)).collect();
        if let Err(status) =
            decode::decode_json(&body, &expected, Dialect::Kubernetes, UnknownFields::Keep)
        {
            assert_eq!(status.code, 400, "seed {seed}");
        }
    }
}
