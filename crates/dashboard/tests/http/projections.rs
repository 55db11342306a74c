//! What a page predicts is what the schedule library and the engine say, in a thousand random cases.

use jiff::Timestamp;
use punctual_api::CronJob;
use punctual_engine::cronjob::{FeatureGates, Timetable};
use punctual_schedule::Zones;
use serde_json::json;

use crate::site::Site;

/// How many CronJobs are compared. Each has twenty projected slots and a next start.
const CASES: usize = 1_000;
const ZONES: [&str; 8] = [
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "America/Sao_Paulo",
    "Asia/Kolkata",
    "UTC",
    "Pacific/Apia",
    "Africa/Casablanca",
];

/// Numbers from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn schedule(&mut self) -> String {
        let minute = self.below(60);
        let hour = self.below(24);
        match self.below(7) {
            0 => format!("{minute} {hour} * * *"),
            1 => format!("*/{} * * * *", [5, 7, 15, 20][usize::try_from(self.below(4)).unwrap()]),
            2 => format!("{minute} 1-3 * * {}", self.below(7)),
            3 => format!("{minute} 2 {} {} *", 1 + self.below(28), 1 + self.below(12)),
            4 => format!("30 {} * 3,10,11 0", 1 + self.below(3)),
            5 => "* * * * *".to_owned(),
            _ => format!("{minute} */{} * * *", [2, 3, 6][usize::try_from(self.below(3)).unwrap()]),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn projected_slots_are_those_of_schedule_and_engine() {
    let site = Site::start("a").await;
    let cookie = site.sign_in().await;
    let mut random = Random(7);
    let api = "/apis/punctual.dev/v1/namespaces/default/scheduledjobs";
    for case in 0..CASES {
        let policy =
            ["Allow", "Forbid", "Replace", "CatchUp"][usize::try_from(random.below(4)).unwrap()];
        let zone = ZONES[usize::try_from(random.below(8)).unwrap()];
        let jitter = [0, 0, 10, 50][usize::try_from(random.below(4)).unwrap()];
        let object = json!({
            "metadata": {"name": format!("case-{case}")},
            "spec": {
                "schedule": random.schedule(), "timeZone": zone, "concurrencyPolicy": policy,
                "jitter": jitter,
                "suspend": random.below(12) == 0,
                "jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "Never",
                    "containers": [{"name": "c", "image": "i"}]}}}},
            },
        });
        site.create(api, &object).await;
    }
    let last = format!("/scheduledjobs/default/case-{}", CASES - 1);
    while site.get(&last, &cookie).await.status != 200 {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let mut compared = 0;
    for case in 0..CASES {
        let object = site.get_object(&format!("{api}/case-{case}")).await;
        let cron_job: CronJob = serde_json::from_value(object).unwrap();
        let before = crate::site::now();
        let page = site.get(&format!("/scheduledjobs/default/case-{case}"), &cookie).await.body;
        let after = crate::site::now();
        let shown = next_list(&page);
        if cron_job.is_suspended() {
            assert_eq!(shown, Vec::<Timestamp>::new(), "case {case} is suspended");
            continue;
        }
        let gates = FeatureGates::default();
        let timetable =
            Timetable::from_cron_job(&cron_job, &Zones::bundled().utc(), &gates).unwrap();
        let wanted = |now: Timestamp| -> Vec<Timestamp> {
            timetable.schedule().after(now).take(20).collect()
        };
        // A slot may have passed while the page was made.
        assert!(
            shown == wanted(before) || shown == wanted(after),
            "case {case}: {}",
            cron_job.spec.schedule
        );
        let effective = shown.first().map(|slot| timetable.effective_time(*slot));
        let first = shown.first().copied();
        if effective != first {
            let local =
                timetable.zone().at(effective.unwrap()).strftime("starts %H:%M:%S").to_string();
            assert!(page.contains(&local), "case {case}: {local}");
        }
        compared += shown.len();
    }
    assert!(compared > 15_000, "{compared} slots");
}

/// Returns the slots of the list of next slots, from their links.
fn next_list(page: &str) -> Vec<Timestamp> {
    let list = page.split("<ol class=\"next\">").nth(1).unwrap_or_default();
    let list = list.split("</ol>").next().unwrap_or_default();
    let slots = list.split("/slots/").skip(1).filter_map(|rest| rest.split('"').next());
    slots.map(|slot| slot.parse().unwrap()).collect()
}
