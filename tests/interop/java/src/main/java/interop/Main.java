// SPDX-License-Identifier: Apache-2.0
package interop;

import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.apache.fluss.client.Connection;
import org.apache.fluss.client.ConnectionFactory;
import org.apache.fluss.client.admin.Admin;
import org.apache.fluss.client.admin.OffsetSpec;
import org.apache.fluss.client.lookup.Lookuper;
import org.apache.fluss.client.table.Table;
import org.apache.fluss.client.table.scanner.ScanRecord;
import org.apache.fluss.client.table.scanner.log.LogScanner;
import org.apache.fluss.client.table.writer.AppendWriter;
import org.apache.fluss.client.table.writer.UpsertWriter;
import org.apache.fluss.config.Configuration;
import org.apache.fluss.metadata.DatabaseDescriptor;
import org.apache.fluss.metadata.Schema;
import org.apache.fluss.metadata.TableDescriptor;
import org.apache.fluss.metadata.TableInfo;
import org.apache.fluss.metadata.TablePath;
import org.apache.fluss.row.BinaryString;
import org.apache.fluss.row.Decimal;
import org.apache.fluss.row.GenericRow;
import org.apache.fluss.row.InternalRow;
import org.apache.fluss.row.TimestampLtz;
import org.apache.fluss.row.TimestampNtz;
import org.apache.fluss.types.DataTypes;

/**
 * The official Java client as an interop peer.
 *
 * <p>{@code Main create|write|read KIND HOST:PORT DATABASE TABLE} makes the table of ../README.md
 * anew, writes its rows, or reads them back and compares every value and offset. Prints a line a
 * check and closes with {@code N passed, N failed}.
 */
public final class Main {
    private static final int ROWS = 100;
    private static final int COLUMNS = 17;
    private static final Duration READ_LIMIT = Duration.ofSeconds(60);

    private int passed;
    private int failed;

    private void check(String what, Object found, Object expected) {
        if (Objects.equals(found, expected)) {
            passed++;
            System.out.println("ok      " + what);
        } else {
            failed++;
            System.out.printf("FAILED  %s: found %s, expected %s%n", what, found, expected);
        }
    }

    private static Schema schema(boolean withKey) {
        Schema.Builder builder =
                Schema.newBuilder()
                        .column("id", DataTypes.INT().copy(false))
                        .column("c_boolean", DataTypes.BOOLEAN())
                        .column("c_tinyint", DataTypes.TINYINT())
                        .column("c_smallint", DataTypes.SMALLINT())
                        .column("c_bigint", DataTypes.BIGINT())
                        .column("c_float", DataTypes.FLOAT())
                        .column("c_double", DataTypes.DOUBLE())
                        .column("c_char", DataTypes.CHAR(4))
                        .column("c_string", DataTypes.STRING())
                        .column("c_binary", DataTypes.BINARY(8))
                        .column("c_bytes", DataTypes.BYTES())
                        .column("c_decimal", DataTypes.DECIMAL(10, 2))
                        .column("c_decimal_wide", DataTypes.DECIMAL(22, 5))
                        .column("c_date", DataTypes.DATE())
                        .column("c_time", DataTypes.TIME(3))
                        .column("c_timestamp", DataTypes.TIMESTAMP(6))
                        .column("c_timestamp_ltz", DataTypes.TIMESTAMP_LTZ(6));
        return (withKey ? builder.primaryKey("id") : builder).build();
    }

    /** The rule of ../README.md for the value of a column in row i. */
    private static Object value(int i, int column) {
        if (column > 0 && (i + column) % 7 == 0) {
            return null;
        }
        switch (column) {
            case 0:
                return i;
            case 1:
                return i % 2 == 0;
            case 2:
                return (byte) (i - 50);
            case 3:
                return (short) (i * 300 - 15000);
            case 4:
                return i * 90_000_000_000_000_007L - 4_500_000_000_000_000_000L;
            case 5:
                return i * 0.25f - 3.0f;
            case 6:
                return i * 0.1;
            case 7:
                return BinaryString.fromString(String.format("%04d", i));
            case 8:
                return BinaryString.fromString("row-" + i + "-" + "é€😀".repeat(i % 5));
            case 9:
                return ByteBuffer.allocate(8).putLong(i + 1).array();
            case 10:
                byte[] bytes = new byte[i];
                Arrays.fill(bytes, (byte) i);
                return bytes;
            case 11:
                return Decimal.fromUnscaledLong(i * 12345L - 500_000, 10, 2);
            case 12:
                BigInteger unscaled =
                        BigInteger.TEN.pow(18).multiply(BigInteger.valueOf(i)).add(BigInteger.valueOf(7));
                return Decimal.fromUnscaledBytes(unscaled.toByteArray(), 22, 5);
            case 13:
                return i * 1000 - 5000;
            case 14:
                return i * 863_999;
            case 15:
                return TimestampNtz.fromMillis(1_700_000_000_000L + i * 86_400_001L, i * 1000);
            default:
                return TimestampLtz.fromEpochMillis(1_600_000_000_000L + i * 1000L, i * 1000);
        }
    }

    private static Object read(InternalRow row, int column) {
        if (row.isNullAt(column)) {
            return null;
        }
        switch (column) {
            case 1:
                return row.getBoolean(column);
            case 2:
                return row.getByte(column);
            case 3:
                return row.getShort(column);
            case 4:
                return row.getLong(column);
            case 5:
                return row.getFloat(column);
            case 6:
                return row.getDouble(column);
            case 7:
                return row.getChar(column, 4);
            case 8:
                return row.getString(column);
            case 9:
                return row.getBinary(column, 8);
            case 10:
                return row.getBytes(column);
            case 11:
                return row.getDecimal(column, 10, 2);
            case 12:
                return row.getDecimal(column, 22, 5);
            case 15:
                return row.getTimestampNtz(column, 6);
            case 16:
                return row.getTimestampLtz(column, 6);
            default: // INT, DATE, TIME
                return row.getInt(column);
        }
    }

    private static GenericRow row(int i) {
        GenericRow row = new GenericRow(COLUMNS);
        for (int column = 0; column < COLUMNS; column++) {
            row.setField(column, value(i, column));
        }
        return row;
    }

    /** The first column that differs, as text; null when all are equal. */
    private static String difference(InternalRow row, int i) {
        for (int column = 0; column < COLUMNS; column++) {
            Object found = read(row, column);
            Object expected = value(i, column);
            if (!Objects.deepEquals(found, expected)) {
                return String.format("row %d, column %d: %s, not %s", i, column, found, expected);
            }
        }
        return null;
    }

    private void create(Connection connection, TablePath path, String kind) throws Exception {
        boolean withKey = kind.startsWith("pk");
        Admin admin = connection.getAdmin();
        admin.createDatabase(path.getDatabaseName(), DatabaseDescriptor.EMPTY, true).get();
        admin.dropTable(path, true).get();
        TableDescriptor.Builder descriptor =
                TableDescriptor.builder().schema(schema(withKey)).distributedBy(1);
        // The kind ends with a format: of the log, or of the rows where there is a key.
        int end = kind.indexOf('_');
        if (end >= 0) {
            String format = kind.substring(end + 1).toUpperCase(Locale.ROOT);
            boolean isRows = withKey && format.equals("INDEXED");
            descriptor.property(isRows ? "table.kv.format" : "table.log.format", format);
        }
        admin.createTable(path, descriptor.build(), false).get();
        check("the table is made", admin.tableExists(path).get(), true);
    }

    private void write(Connection connection, TablePath path, boolean withKey) throws Exception {
        List<CompletableFuture<?>> acks = new ArrayList<>();
        try (Table table = connection.getTable(path)) {
            if (withKey) {
                UpsertWriter writer = table.newUpsert().createWriter();
                for (int i = 0; i < ROWS; i++) {
                    GenericRow older = row(ROWS - 1 - i);
                    older.setField(0, i);
                    acks.add(writer.upsert(older));
                }
                for (int i = 0; i < ROWS; i++) {
                    acks.add(writer.upsert(row(i)));
                }
                acks.add(writer.delete(row(ROWS - 1)));
                writer.flush();
            } else {
                AppendWriter writer = table.newAppend().createWriter();
                for (int i = 0; i < ROWS; i++) {
                    acks.add(writer.append(row(i)));
                }
                writer.flush();
            }
        }
        for (CompletableFuture<?> ack : acks) {
            ack.get(); // a flush alone does not tell of batches that failed
        }
        check("all rows are acknowledged", acks.size(), withKey ? 2 * ROWS + 1 : ROWS);
    }

    private void readAdmin(Connection connection, TablePath path, boolean withKey) throws Exception {
        Admin admin = connection.getAdmin();
        List<Integer> bucket = Collections.singletonList(0);
        check("the database is listed", admin.listDatabases().get().contains(path.getDatabaseName()), true);
        check("the table is listed",
                admin.listTables(path.getDatabaseName()).get().contains(path.getTableName()), true);
        TableInfo info = admin.getTableInfo(path).get();
        check("the schema is equal", info.getSchema().getRowType(), schema(withKey).getRowType());
        check("the key is equal", info.getPrimaryKeys().size(), withKey ? 1 : 0);
        check("it has one bucket", info.getNumBuckets(), 1);
        if (!withKey) {
            long latest = admin.listOffsets(path, bucket, new OffsetSpec.LatestSpec()).all().get().get(0);
            check("the latest offset", latest, (long) ROWS);
        }
        long earliest = admin.listOffsets(path, bucket, new OffsetSpec.EarliestSpec()).all().get().get(0);
        check("the earliest offset", earliest, 0L);
    }

    private static List<ScanRecord> scan(LogScanner scanner, int count) {
        List<ScanRecord> records = new ArrayList<>();
        long end = System.nanoTime() + READ_LIMIT.toNanos();
        while (records.size() < count && System.nanoTime() < end) {
            for (ScanRecord record : scanner.poll(Duration.ofSeconds(5))) {
                records.add(record);
            }
        }
        return records;
    }

    private static List<Long> range(long first, long end) {
        return LongStream.range(first, end).boxed().collect(Collectors.toList());
    }

    private void readLog(Connection connection, TablePath path) throws Exception {
        try (Table table = connection.getTable(path)) {
            try (LogScanner scanner = table.newScan().createLogScanner()) {
                scanner.subscribeFromBeginning(0);
                String wrong = null;
                List<Long> offsets = new ArrayList<>();
                for (ScanRecord record : scan(scanner, ROWS)) {
                    String found = difference(record.getRow(), offsets.size());
                    wrong = wrong == null ? found : wrong;
                    offsets.add(record.logOffset());
                }
                check("every value is equal", wrong, null);
                check("the offsets are dense", offsets, range(0, ROWS));
            }
            try (LogScanner scanner =
                    table.newScan().project(Arrays.asList("c_string", "id")).createLogScanner()) {
                scanner.subscribe(0, ROWS - 10);
                List<Long> ids =
                        scan(scanner, 10).stream()
                                .map(record -> (long) record.getRow().getInt(1))
                                .collect(Collectors.toList());
                check("a projected read from an offset", ids, range(ROWS - 10, ROWS));
            }
        }
    }

    private void readPk(Connection connection, TablePath path) throws Exception {
        try (Table table = connection.getTable(path)) {
            Lookuper lookuper = table.newLookup().createLookuper();
            String wrong = null;
            int found = 0;
            for (int i = 0; i < ROWS; i++) {
                InternalRow row = lookuper.lookup(GenericRow.of(i)).get().getSingletonRow();
                if (row != null) {
                    found++;
                    String difference = difference(row, i);
                    wrong = wrong == null ? difference : wrong;
                }
            }
            check("every value is equal", wrong, null);
            check("all keys but the deleted one are found", found, ROWS - 1);
        }
    }

    private void run(String[] arguments) throws Exception {
        if (arguments.length != 5) {
            throw new IllegalArgumentException("arguments: create|write|read log|pk HOST:PORT DATABASE TABLE");
        }
        boolean withKey = arguments[1].startsWith("pk");
        Configuration config = new Configuration();
        config.setString("bootstrap.servers", arguments[2]);
        TablePath path = TablePath.of(arguments[3], arguments[4]);
        try (Connection connection = ConnectionFactory.createConnection(config)) {
            switch (arguments[0]) {
                case "create":
                    create(connection, path, arguments[1]);
                    break;
                case "write":
                    write(connection, path, withKey);
                    break;
                default:
                    readAdmin(connection, path, withKey);
                    if (withKey) {
                        readPk(connection, path);
                    } else {
                        readLog(connection, path);
                    }
            }
        }
    }

    public static void main(String[] arguments) {
        Main main = new Main();
        try {
            main.run(arguments);
        } catch (Exception e) {
            main.failed++;
            e.printStackTrace(System.out);
        }
        System.out.println(main.passed + " passed, " + main.failed + " failed");
        System.exit(main.failed > 0 || main.passed == 0 ? 1 : 0);
    }
}
