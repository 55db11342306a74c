//! Many at once.

use serde_json::json;

use crate::world::{World, slot};

const MANY: usize = 300;

#[tokio::test]
async fn in_a_burst_jobs_come_before_everything_else() {
    let world = World::at("08:00:10").await;
    for number in 0..MANY {
        world.cron_job(&format!("c{number}"), json!({"schedule": "* * * * *"})).await;
    }
    for number in 0..MANY {
        world.until_next(&format!("c{number}"), "08:01:00").await;
    }
    let before = world.store.revision();
    world.set("08:01:00");
    for number in 0..MANY {
        let name = format!("c{number}");
        let found = world.until_next(&name, "08:02:00").await;
        assert_eq!(world.jobs(&name), [slot("08:01:00")]);
        assert_eq!(found["status"]["active"].as_array().unwrap().len(), 1);
    }
    let written = world.written(before);
    let order: Vec<bool> = written.iter().map(|key| key.starts_with("/jobs.batch/")).collect();
    // While slots are due, one turn in seventeen may be about something else.
    let last_job = order.iter().rposition(|is_job| *is_job).unwrap();
    let others = order[..=last_job].iter().filter(|is_job| !**is_job).count();
    assert!(others <= MANY / 16 + 16 + 1, "{others} other writes among the creates");
}
