// SPDX-License-Identifier: Apache-2.0
//! The peer skade as a worker of bench/run.py: for each line on standard input it reads the change rows of the last
//! snapshot of an Iceberg table and answers with one line of JSON.
//!
//!     skade-reader METADATA_FILE
//!
//! The first answer also sums `amount` by kind of change, outside the time it gives and unless BENCH_SUMS is 0; the later
//! ones count rows and nothing else.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::time::Instant;

use skade::arrow_array::cast::AsArray;
use skade::arrow_array::types::Float64Type;
use skade::iceberg::io::FileIO;
use skade::iceberg::table::StaticTable;
use skade::iceberg::TableIdent;

type Failure = Box<dyn std::error::Error>;

/// Rows and sum(amount) by change word.
type Groups = BTreeMap<String, (u64, f64)>;

async fn read(metadata: &str, sums: bool) -> Result<(f64, Groups, u64), Failure> {
    let started = Instant::now();
    let identity = TableIdent::from_strs(["db", "table"])?;
    let table = StaticTable::from_metadata_file(metadata, identity, FileIO::new_with_fs()).await?.into_table();
    let snapshot = table.metadata().current_snapshot().ok_or("the table has no snapshot")?;
    let changes = skade::read_changelog(&table, snapshot.parent_snapshot_id(), snapshot.snapshot_id()).await?;
    if changes.plan.needs_full_reload {
        return Err("skade reads the whole table instead of the changes".into());
    }
    let rows = changes.rows.iter().map(|batch| batch.num_rows() as u64).sum();
    let seconds = started.elapsed().as_secs_f64();
    let mut groups = Groups::new();
    for batch in changes.rows.iter().filter(|_| sums) {
        let words = batch.column_by_name("_change_type").ok_or("no _change_type")?.as_string::<i32>();
        let amounts = batch.column_by_name("amount").ok_or("no amount")?.as_primitive::<Float64Type>();
        for (word, amount) in words.iter().zip(amounts.iter()) {
            let group = groups.entry(word.unwrap_or("").to_string()).or_default();
            group.0 += 1;
            group.1 += amount.unwrap_or(0.0);
        }
    }
    Ok((seconds, groups, rows))
}

fn json_text(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if (c as u32) < 32 => out.push(' '),
            c => out.push(c),
        }
    }
    out + "\""
}

#[tokio::main]
async fn main() {
    let metadata = std::env::args().nth(1).unwrap_or_default();
    let mut sums = std::env::var("BENCH_SUMS").as_deref() != Ok("0");
    for _ in std::io::stdin().lock().lines() {
        match read(&metadata, sums).await {
            Ok((seconds, groups, rows)) => {
                let groups: Vec<String> =
                    groups.iter().map(|(word, (n, sum))| format!("{}: [{n}, {sum}]", json_text(word))).collect();
                let groups = if sums { format!("{{{}}}", groups.join(", ")) } else { "null".to_string() };
                println!("{{\"seconds\": {seconds}, \"rows\": {rows}, \"groups\": {groups}}}");
                sums = false;
            }
            Err(error) => println!("{{\"refused\": {}}}", json_text(&error.to_string())),
        }
    }
}
