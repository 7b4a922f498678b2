// SPDX-License-Identifier: Apache-2.0
//! The guide "Primary Key Tables" of the official Rust client, statement by statement, against the
//! server at HOST:PORT (`pk-guide HOST:PORT`). The steps are numbered as in examples/pk_guide.c, the
//! same program in C. Prints a line a check and closes with `N passed, N failed`.

use fluss::client::{FlussConnection, FlussTable, EARLIEST_OFFSET};
use fluss::config::Config;
use fluss::metadata::{DataTypes, Schema, TableBucket, TableDescriptor, TablePath};
use fluss::row::{DataGetters, GenericRow};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::{Duration, Instant};

const READ_LIMIT: Duration = Duration::from_secs(30);
const CHANGES: usize = 9;

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[derive(Default)]
struct Report {
    passed: u32,
    failed: u32,
}

impl Report {
    fn check<T: PartialEq + Debug>(&mut self, what: &str, found: T, expected: T) {
        if found == expected {
            self.passed += 1;
            println!("ok      {what}");
        } else {
            self.failed += 1;
            println!("FAILED  {what}: found {found:?}, expected {expected:?}");
        }
    }
}

/// S1.1: schema, descriptor, table.
async fn create(connection: &FlussConnection, path: &TablePath) -> Result<(), Failure> {
    let descriptor = TableDescriptor::builder()
        .schema(
            Schema::builder()
                .column("id", DataTypes::int())
                .column("name", DataTypes::string())
                .column("age", DataTypes::bigint())
                .primary_key(vec!["id"])?
                .build()?,
        )
        .build()?;
    let admin = connection.get_admin()?;
    admin.drop_table(path, true).await?;
    admin.create_table(path, &descriptor, true).await?;
    Ok(())
}

fn person(id: i32, name: &'static str, age: i64) -> GenericRow<'static> {
    let mut row = GenericRow::new(3);
    row.set_field(0, id);
    row.set_field(1, name);
    row.set_field(2, age);
    row
}

fn id_and_age(id: i32, age: i64) -> GenericRow<'static> {
    let mut row = GenericRow::new(3);
    row.set_field(0, id);
    row.set_field(2, age);
    row
}

/// S1.2 to S1.5: upsert, update, delete, partial updates by index and by name.
async fn write(table: &FlussTable<'_>) -> Result<(), Failure> {
    let upsert = table.new_upsert()?;
    let writer = upsert.create_writer()?;
    for (id, name, age) in [(1, "Alice", 25i64), (2, "Bob", 30), (3, "Charlie", 35)] {
        writer.upsert(&person(id, name, age))?;
    }
    writer.flush().await?;
    writer.upsert(&person(1, "Alice", 26))?;
    writer.flush().await?;
    let mut key = GenericRow::new(3);
    key.set_field(0, 2);
    writer.delete(&key)?;
    writer.flush().await?;
    let by_index = upsert.partial_update(Some(vec![0, 2]))?.create_writer()?;
    by_index.upsert(&id_and_age(1, 27))?;
    by_index.flush().await?;
    let by_name = upsert.partial_update_with_column_names(&["id", "age"])?.create_writer()?;
    by_name.upsert(&id_and_age(3, 36))?;
    by_name.flush().await?;
    Ok(())
}

/// S1.6, S1.7: a row by its key, as a row and as an Arrow batch.
async fn look_up(table: &FlussTable<'_>, report: &mut Report) -> Result<(), Failure> {
    let mut lookuper = table.new_lookup()?.create_lookuper()?;
    for (id, expected) in [(1, Some(("Alice", 27i64))), (2, None), (3, Some(("Charlie", 36)))] {
        let mut key = GenericRow::new(1);
        key.set_field(0, id);
        let result = lookuper.lookup(&key).await?;
        let found = match result.get_single_row()? {
            Some(row) => Some((row.get_string(1)?.to_string(), row.get_long(2)?)),
            None => None,
        };
        let expected = expected.map(|(name, age)| (name.to_string(), age));
        let count = usize::from(expected.is_some());
        report.check(&format!("the row of id {id}"), found, expected);
        let batch = result.to_record_batch()?;
        report.check(&format!("the Arrow batch of id {id}"), batch.num_rows(), count);
    }
    Ok(())
}

/// S1.8: every change of every bucket from the start.
async fn read_changelog(table: &FlussTable<'_>, report: &mut Report) -> Result<(), Failure> {
    let scanner = table.new_scan().create_log_scanner()?;
    for bucket in 0..table.get_table_info().get_num_buckets() {
        scanner.subscribe(bucket, EARLIEST_OFFSET).await?;
    }
    let mut changes: BTreeMap<i32, Vec<String>> = BTreeMap::new();
    let (mut count, started) = (0, Instant::now());
    while count < CHANGES && started.elapsed() < READ_LIMIT {
        for record in scanner.poll(Duration::from_secs(1)).await? {
            let row = record.row();
            let (change, name) = (record.change_type().short_string(), row.get_string(1)?);
            changes.entry(row.get_int(0)?).or_default().push(format!("{change} {name}"));
            count += 1;
        }
    }
    let expected = BTreeMap::from([
        (1, vec!["+I Alice", "-U Alice", "+U Alice", "-U Alice", "+U Alice"]),
        (2, vec!["+I Bob", "-D Bob"]),
        (3, vec!["+I Charlie", "-U Charlie", "+U Charlie"]),
    ]);
    let expected: BTreeMap<i32, Vec<String>> = expected
        .into_iter()
        .map(|(id, list)| (id, list.into_iter().map(String::from).collect()))
        .collect();
    report.check("the changes of each id", changes, expected);
    Ok(())
}

/// S1.p: the rows that share the bucket key, which begins the primary key.
async fn look_up_prefix(
    connection: &FlussConnection,
    report: &mut Report,
) -> Result<(), Failure> {
    let path = TablePath::new("fluss", "guide_orders");
    let descriptor = TableDescriptor::builder()
        .schema(
            Schema::builder()
                .column("user_id", DataTypes::int())
                .column("order_id", DataTypes::bigint())
                .primary_key(vec!["user_id", "order_id"])?
                .build()?,
        )
        .distributed_by(Some(3), vec!["user_id".to_string()])
        .build()?;
    let admin = connection.get_admin()?;
    admin.drop_table(&path, true).await?;
    admin.create_table(&path, &descriptor, false).await?;
    let table = connection.get_table(&path).await?;
    let writer = table.new_upsert()?.create_writer()?;
    for i in 0..6 {
        let mut row = GenericRow::new(2);
        row.set_field(0, 1 + i % 2);
        row.set_field(1, i64::from(100 + i));
        writer.upsert(&row)?;
    }
    writer.flush().await?;
    let lookup = table.new_lookup()?.lookup_by(vec!["user_id".to_string()]);
    let mut lookuper = lookup.create_lookuper()?;
    let mut prefix = GenericRow::new(1);
    prefix.set_field(0, 2);
    let result = lookuper.lookup(&prefix).await?;
    let mut orders = Vec::new();
    for row in result.get_rows()? {
        orders.push(row.get_long(1)?);
    }
    report.check("the orders of user 2", orders, vec![101, 103, 105]);
    Ok(())
}

/// S1.9: what each bucket holds now.
async fn scan(table: &FlussTable<'_>, report: &mut Report) -> Result<(), Failure> {
    let mut rows = 0;
    for bucket in 0..table.get_table_info().get_num_buckets() {
        let bucket = TableBucket::new(table.get_table_info().table_id, bucket);
        let mut scanner = table.new_scan().limit(10)?.create_bucket_batch_scanner(bucket)?;
        while let Some(batch) = scanner.next_batch().await? {
            rows += batch.batch().num_rows();
        }
    }
    report.check("the rows of the limit scan", rows, 2);
    Ok(())
}

async fn run(address: &str, report: &mut Report) -> Result<(), Failure> {
    let config = Config { bootstrap_servers: address.to_string(), ..Default::default() };
    let connection = FlussConnection::new(config).await?;
    let path = TablePath::new("fluss", "guide_users");
    create(&connection, &path).await?;
    let table = connection.get_table(&path).await?;
    write(&table).await?;
    look_up(&table, report).await?;
    read_changelog(&table, report).await?;
    look_up_prefix(&connection, report).await?;
    scan(&table, report).await
}

#[tokio::main]
async fn main() {
    let mut report = Report::default();
    let address = std::env::args().nth(1).unwrap_or_default();
    if let Err(error) = run(&address, &mut report).await {
        report.failed += 1;
        println!("FAILED  {error}");
    }
    println!("{} passed, {} failed", report.passed, report.failed);
    std::process::exit(i32::from(report.failed > 0 || report.passed == 0));
}
