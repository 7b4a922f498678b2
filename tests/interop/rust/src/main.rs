// SPDX-License-Identifier: Apache-2.0
//! The official Rust client as an interop peer.
//!
//! `fluss-interop create|write|read log|pk HOST:PORT DATABASE TABLE` makes the table of ../README.md
//! anew, writes its rows, or reads them back and compares every value and offset. Prints a line a
//! check and closes with `N passed, N failed`.

use fluss::client::{FlussConnection, EARLIEST_OFFSET};
use fluss::config::Config;
use fluss::metadata::{DataTypes, Schema, TableDescriptor, TablePath};
use fluss::row::{
    DataGetters, Date, Datum, Decimal, GenericRow, Time, TimestampLtz, TimestampNtz,
};
use fluss::rpc::message::OffsetSpec;
use std::fmt::Debug;
use std::time::{Duration, Instant};

const ROWS: i64 = 100;
const COLUMNS: usize = 17;
const READ_LIMIT: Duration = Duration::from_secs(60);

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

fn schema(with_key: bool) -> Result<Schema, Failure> {
    let builder = Schema::builder()
        .column("id", DataTypes::int().as_non_nullable())
        .column("c_boolean", DataTypes::boolean())
        .column("c_tinyint", DataTypes::tinyint())
        .column("c_smallint", DataTypes::smallint())
        .column("c_bigint", DataTypes::bigint())
        .column("c_float", DataTypes::float())
        .column("c_double", DataTypes::double())
        .column("c_char", DataTypes::char(4))
        .column("c_string", DataTypes::string())
        .column("c_binary", DataTypes::binary(8))
        .column("c_bytes", DataTypes::bytes())
        .column("c_decimal", DataTypes::decimal(10, 2))
        .column("c_decimal_wide", DataTypes::decimal(22, 5))
        .column("c_date", DataTypes::date())
        .column("c_time", DataTypes::time_with_precision(3))
        .column("c_timestamp", DataTypes::timestamp_with_precision(6))
        .column("c_timestamp_ltz", DataTypes::timestamp_ltz_with_precision(6));
    let builder = if with_key { builder.primary_key(vec!["id"])? } else { builder };
    Ok(builder.build()?)
}

/// The rule of ../README.md for the value of a column in row i.
fn value(i: i64, column: usize) -> Result<Datum<'static>, Failure> {
    if column > 0 && (i + column as i64) % 7 == 0 {
        return Ok(Datum::Null);
    }
    Ok(match column {
        0 => (i as i32).into(),
        1 => (i % 2 == 0).into(),
        2 => ((i - 50) as i8).into(),
        3 => ((i * 300 - 15000) as i16).into(),
        4 => (i * 90_000_000_000_000_007 - 4_500_000_000_000_000_000).into(),
        5 => (i as f32 * 0.25 - 3.0).into(),
        6 => (i as f64 * 0.1).into(),
        7 => format!("{i:04}").into(),
        8 => format!("row-{i}-{}", "é€😀".repeat((i % 5) as usize)).into(),
        9 => (i + 1).to_be_bytes().to_vec().into(),
        10 => vec![i as u8; i as usize].into(),
        11 => Decimal::from_unscaled_long(i * 12345 - 500_000, 10, 2)?.into(),
        12 => {
            let unscaled = i as i128 * 1_000_000_000_000_000_000 + 7;
            Decimal::from_unscaled_bytes(&unscaled.to_be_bytes(), 22, 5)?.into()
        }
        13 => Date::new((i * 1000 - 5000) as i32).into(),
        14 => Time::new((i * 863_999) as i32).into(),
        15 => TimestampNtz::from_millis_nanos(1_700_000_000_000 + i * 86_400_001, i as i32 * 1000)?
            .into(),
        16 => TimestampLtz::from_millis_nanos(1_600_000_000_000 + i * 1000, i as i32 * 1000)?.into(),
        _ => return Err(format!("there is no column {column}").into()),
    })
}

fn row(i: i64) -> Result<GenericRow<'static>, Failure> {
    let mut row = GenericRow::new(COLUMNS);
    for column in 0..COLUMNS {
        row.set_field(column, value(i, column)?);
    }
    Ok(row)
}

/// What a key holds before its row: the values of another row.
fn older_row(i: i64) -> Result<GenericRow<'static>, Failure> {
    let mut older = row(ROWS - 1 - i)?;
    older.set_field(0, i as i32);
    Ok(older)
}

/// Compare every column; the first difference as text.
fn difference(found: &dyn DataGetters, i: i64) -> Result<Option<String>, Failure> {
    for column in 0..COLUMNS {
        let expected = value(i, column)?;
        let read: Datum = if found.is_null_at(column)? {
            Datum::Null
        } else {
            match column {
                0 => found.get_int(column)?.into(),
                1 => found.get_boolean(column)?.into(),
                2 => found.get_byte(column)?.into(),
                3 => found.get_short(column)?.into(),
                4 => found.get_long(column)?.into(),
                5 => found.get_float(column)?.into(),
                6 => found.get_double(column)?.into(),
                7 => found.get_char(column, 4)?.into(),
                8 => found.get_string(column)?.into(),
                9 => found.get_binary(column, 8)?.to_vec().into(),
                10 => found.get_bytes(column)?.to_vec().into(),
                11 => found.get_decimal(column, 10, 2)?.into(),
                12 => found.get_decimal(column, 22, 5)?.into(),
                13 => found.get_date(column)?.into(),
                14 => found.get_time(column)?.into(),
                15 => found.get_timestamp_ntz(column, 6)?.into(),
                _ => found.get_timestamp_ltz(column, 6)?.into(),
            }
        };
        if read != expected {
            return Ok(Some(format!("row {i}, column {column}: {read:?}, not {expected:?}")));
        }
    }
    Ok(None)
}

async fn create(
    connection: &FlussConnection,
    path: &TablePath,
    with_key: bool,
    report: &mut Report,
) -> Result<(), Failure> {
    let admin = connection.get_admin()?;
    admin.create_database(path.database(), None, true).await?;
    admin.drop_table(path, true).await?;
    let descriptor = TableDescriptor::builder()
        .schema(schema(with_key)?)
        .distributed_by(Some(1), vec![])
        .build()?;
    admin.create_table(path, &descriptor, false).await?;
    report.check("the table is made", admin.table_exists(path).await?, true);
    Ok(())
}

async fn write(
    connection: &FlussConnection,
    path: &TablePath,
    with_key: bool,
    report: &mut Report,
) -> Result<(), Failure> {
    let table = connection.get_table(path).await?;
    let mut acks = Vec::new();
    if with_key {
        let writer = table.new_upsert()?.create_writer()?;
        for i in 0..ROWS {
            acks.push(writer.upsert(&older_row(i)?)?);
        }
        for i in 0..ROWS {
            acks.push(writer.upsert(&row(i)?)?);
        }
        acks.push(writer.delete(&row(ROWS - 1)?)?);
        writer.flush().await?;
    } else {
        let writer = table.new_append()?.create_writer()?;
        for i in 0..ROWS {
            acks.push(writer.append(&row(i)?)?);
        }
        writer.flush().await?;
    }
    let wanted = if with_key { 2 * ROWS + 1 } else { ROWS };
    let mut acknowledged = 0;
    for ack in acks {
        ack.await?; // a flush alone does not tell of batches that failed
        acknowledged += 1;
    }
    report.check("all rows are acknowledged", acknowledged, wanted);
    Ok(())
}

async fn read_admin(
    connection: &FlussConnection,
    path: &TablePath,
    with_key: bool,
    report: &mut Report,
) -> Result<(), Failure> {
    let admin = connection.get_admin()?;
    let databases = admin.list_databases().await?;
    report.check("the database is listed", databases.iter().any(|d| d == path.database()), true);
    let tables = admin.list_tables(path.database()).await?;
    report.check("the table is listed", tables.iter().any(|t| t == path.table()), true);
    let info = admin.get_table_info(path).await?;
    report.check("the schema is equal", info.get_schema().columns(), schema(with_key)?.columns());
    report.check("the key is equal", info.get_primary_keys().len(), usize::from(with_key));
    report.check("it has one bucket", info.get_num_buckets(), 1);
    if !with_key {
        let latest = admin.list_offsets(path, &[0], OffsetSpec::Latest).await?;
        report.check("the latest offset", latest.get(&0).copied(), Some(ROWS));
    }
    let earliest = admin.list_offsets(path, &[0], OffsetSpec::Earliest).await?;
    report.check("the earliest offset", earliest.get(&0).copied(), Some(0));
    Ok(())
}

async fn read_log(
    connection: &FlussConnection,
    path: &TablePath,
    report: &mut Report,
) -> Result<(), Failure> {
    let table = connection.get_table(path).await?;
    let scanner = table.new_scan().create_log_scanner()?;
    scanner.subscribe(0, EARLIEST_OFFSET).await?;
    let (mut offsets, mut wrong, started) = (Vec::new(), None, Instant::now());
    while offsets.len() < ROWS as usize && started.elapsed() < READ_LIMIT {
        for records in scanner.poll(Duration::from_secs(5)).await?.records_by_buckets().values() {
            for record in records {
                let next = offsets.len() as i64;
                wrong = wrong.or(difference(record.row(), next)?);
                offsets.push(record.offset());
            }
        }
    }
    report.check("every value is equal", wrong, None);
    report.check("the offsets are dense", offsets, (0..ROWS).collect::<Vec<_>>());
    let scanner = table.new_scan().project_by_name(&["c_string", "id"])?.create_log_scanner()?;
    scanner.subscribe(0, ROWS - 10).await?;
    let (mut ids, started) = (Vec::new(), Instant::now());
    while ids.len() < 10 && started.elapsed() < READ_LIMIT {
        for records in scanner.poll(Duration::from_secs(5)).await?.records_by_buckets().values() {
            for record in records {
                ids.push(i64::from(record.row().get_int(1)?));
            }
        }
    }
    report.check("a projected read from an offset", ids, (ROWS - 10..ROWS).collect::<Vec<_>>());
    Ok(())
}

async fn read_pk(
    connection: &FlussConnection,
    path: &TablePath,
    report: &mut Report,
) -> Result<(), Failure> {
    let table = connection.get_table(path).await?;
    let mut lookuper = table.new_lookup()?.create_lookuper()?;
    let (mut wrong, mut found) = (None, 0);
    for i in 0..ROWS {
        let mut key = GenericRow::new(1);
        key.set_field(0, i as i32);
        let result = lookuper.lookup(&key).await?;
        if let Some(row) = result.get_single_row()? {
            found += 1;
            wrong = wrong.or(difference(&row, i)?);
        }
    }
    report.check("every value is equal", wrong, None);
    report.check("all keys but the deleted one are found", found, ROWS - 1);
    Ok(())
}

async fn run(arguments: &[String], report: &mut Report) -> Result<(), Failure> {
    let [action, kind, address, database, table] = arguments else {
        return Err("arguments: create|write|read log|pk HOST:PORT DATABASE TABLE".into());
    };
    let with_key = kind == "pk";
    let config = Config { bootstrap_servers: address.clone(), ..Default::default() };
    let connection = FlussConnection::new(config).await?;
    let path = TablePath::new(database.as_str(), table.as_str());
    match action.as_str() {
        "create" => create(&connection, &path, with_key, report).await,
        "write" => write(&connection, &path, with_key, report).await,
        "read" => {
            read_admin(&connection, &path, with_key, report).await?;
            if with_key {
                read_pk(&connection, &path, report).await
            } else {
                read_log(&connection, &path, report).await
            }
        }
        _ => Err(format!("no action '{action}'").into()),
    }
}

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut report = Report::default();
    if let Err(error) = run(&arguments, &mut report).await {
        report.failed += 1;
        println!("FAILED  {error}");
    }
    println!("{} passed, {} failed", report.passed, report.failed);
    std::process::exit(i32::from(report.failed > 0 || report.passed == 0));
}
