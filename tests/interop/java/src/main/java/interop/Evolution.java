// SPDX-License-Identifier: Apache-2.0
package interop;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.apache.fluss.client.Connection;
import org.apache.fluss.client.ConnectionFactory;
import org.apache.fluss.client.lookup.Lookuper;
import org.apache.fluss.client.table.Table;
import org.apache.fluss.client.table.scanner.ScanRecord;
import org.apache.fluss.client.table.scanner.batch.BatchScanner;
import org.apache.fluss.client.table.scanner.log.LogScanner;
import org.apache.fluss.client.table.writer.AppendWriter;
import org.apache.fluss.client.table.writer.UpsertWriter;
import org.apache.fluss.config.Configuration;
import org.apache.fluss.metadata.TableBucket;
import org.apache.fluss.metadata.TablePath;
import org.apache.fluss.row.BinaryString;
import org.apache.fluss.row.GenericArray;
import org.apache.fluss.row.GenericRow;
import org.apache.fluss.row.InternalArray;
import org.apache.fluss.row.InternalRow;
import org.apache.fluss.utils.CloseableIterator;

/**
 * The Java client's part of ../evolution.py: the rows of a schema, and reading all of them.
 *
 * <p>{@code Evolution write1|write2|write3|read|read-ours HOST:PORT DATABASE WRITER}. Prints a line a check and
 * closes with {@code N passed, N failed}.
 */
public final class Evolution {
    private static final int PER_SCHEMA = 10;
    private static final int[] WIDTHS = {0, 4, 5, 7};
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

    private static GenericRow row(int i, int schema) {
        Object[] values = {
            i % 3,
            i,
            i % 7 == 0 ? null : BinaryString.fromString("n" + i),
            i * 1_000_000_000_000L,
            i / 4.0,
            i % 2 == 0
                    ? new GenericArray(new Object[0])
                    : new GenericArray(
                            new Object[] {
                                BinaryString.fromString("t" + i), null, BinaryString.fromString("")
                            }),
            i % 5 == 0
                    ? null
                    : GenericRow.of(i, i % 3 == 0 ? BinaryString.fromString("b" + i) : null),
        };
        return GenericRow.of(Arrays.copyOf(values, WIDTHS[schema]));
    }

    /** All seven columns as text; those that a row has not got are null. */
    private static String text(InternalRow row) {
        List<String> parts = new ArrayList<>();
        for (int k = 0; k < WIDTHS[3]; k++) {
            if (k >= row.getFieldCount() || row.isNullAt(k)) {
                parts.add("null");
                continue;
            }
            switch (k) {
                case 0:
                case 1:
                    parts.add(String.valueOf(row.getInt(k)));
                    break;
                case 2:
                    parts.add(row.getString(k).toString());
                    break;
                case 3:
                    parts.add(String.valueOf(row.getLong(k)));
                    break;
                case 4:
                    parts.add(String.valueOf(row.getDouble(k)));
                    break;
                case 5:
                    parts.add(text(row.getArray(k)));
                    break;
                default:
                    InternalRow extra = row.getRow(k, 2);
                    String b = extra.isNullAt(1) ? "null" : extra.getString(1).toString();
                    parts.add("(" + extra.getInt(0) + ", " + b + ")");
            }
        }
        return String.join(" | ", parts);
    }

    /** The first five columns of a row's text. */
    private static String scalars(String text) {
        return String.join("|", Arrays.copyOf(text.split("[|]"), WIDTHS[2]));
    }

    private static String text(InternalArray array) {
        List<String> parts = new ArrayList<>();
        for (int i = 0; i < array.size(); i++) {
            parts.add(array.isNullAt(i) ? "null" : "'" + array.getString(i) + "'");
        }
        return parts.toString();
    }

    private static List<String> expectedLog() {
        List<String> rows = new ArrayList<>();
        for (int i = 0; i < 3 * PER_SCHEMA; i++) {
            rows.add(text(row(i, i / PER_SCHEMA + 1)));
        }
        return rows;
    }

    private static Map<Integer, String> expectedPk() {
        Map<Integer, GenericRow> rows = new TreeMap<>();
        for (int i = 0; i < 3 * PER_SCHEMA; i++) {
            GenericRow wide = new GenericRow(WIDTHS[3]);
            GenericRow narrow = row(i, i / PER_SCHEMA + 1);
            for (int k = 0; k < narrow.getFieldCount(); k++) {
                wide.setField(k, narrow.getField(k));
            }
            rows.put(i, wide);
        }
        rows.get(1).setField(4, -1.5);
        rows.remove(2);
        rows.put(0, row(0, 3));
        rows.get(11)
                .setField(5, new GenericArray(new Object[] {BinaryString.fromString("late")}));
        rows.get(3).setField(3, null);
        Map<Integer, String> texts = new TreeMap<>();
        rows.forEach((id, row) -> texts.put(id, text(row)));
        return texts;
    }

    /** The table once its columns are those of a schema. */
    private static Table open(Connection connection, TablePath path, int schema) throws Exception {
        long end = System.nanoTime() + READ_LIMIT.toNanos();
        while (true) {
            Table table = connection.getTable(path);
            int width = table.getTableInfo().getRowType().getFieldCount();
            if (width == WIDTHS[schema] || System.nanoTime() > end) {
                return table;
            }
            table.close();
            Thread.sleep(100);
        }
    }

    private static GenericRow sparse(int width, Object... indexesAndValues) {
        GenericRow row = new GenericRow(width);
        for (int k = 0; k < indexesAndValues.length; k += 2) {
            row.setField((Integer) indexesAndValues[k], indexesAndValues[k + 1]);
        }
        return row;
    }

    private void write(Connection connection, TablePath log, TablePath pk, int schema)
            throws Exception {
        int first = (schema - 1) * PER_SCHEMA;
        try (Table table = open(connection, log, schema)) {
            AppendWriter writer = table.newAppend().createWriter();
            for (int i = first; i < first + PER_SCHEMA; i++) {
                writer.append(row(i, schema));
                if (i == first + 4) {
                    writer.flush();
                }
            }
            writer.flush();
        }
        try (Table table = open(connection, pk, schema)) {
            UpsertWriter writer = table.newUpsert().createWriter();
            for (int i = first; i < first + PER_SCHEMA; i++) {
                writer.upsert(row(i, schema));
            }
            int width = WIDTHS[schema];
            if (schema == 2) {
                writer.delete(sparse(width, 0, 2, 1, 2));
                writer.flush();
                UpsertWriter part =
                        table.newUpsert().partialUpdate("grp", "id", "score").createWriter();
                part.upsert(sparse(width, 0, 1, 1, 1, 4, -1.5));
                part.flush();
            } else if (schema == 3) {
                writer.upsert(row(0, 3));
                writer.flush();
                UpsertWriter part =
                        table.newUpsert().partialUpdate("grp", "id", "tags").createWriter();
                Object[] late = {BinaryString.fromString("late")};
                part.upsert(sparse(width, 0, 11 % 3, 1, 11, 5, new GenericArray(late)));
                part.flush();
                part = table.newUpsert().partialUpdate("grp", "id", "n").createWriter();
                part.delete(sparse(width, 0, 0, 1, 3));
                part.flush();
            }
            writer.flush();
        }
        check("rows of schema " + schema + " are written", true, true);
    }

    private static List<String> rows(Table table, int limit) throws Exception {
        TableBucket bucket = new TableBucket(table.getTableInfo().getTableId(), 0);
        List<String> rows = new ArrayList<>();
        try (BatchScanner scanner = table.newScan().limit(limit).createBatchScanner(bucket)) {
            while (true) {
                try (CloseableIterator<InternalRow> batch =
                        scanner.pollBatch(Duration.ofSeconds(10))) {
                    if (batch == null) {
                        return rows;
                    }
                    while (batch.hasNext()) {
                        rows.add(text(batch.next()));
                    }
                }
            }
        }
    }

    /** A column that older rows lack, and an old one; the official server refuses such a read. */
    private void project(Table table, List<String> expected) throws Exception {
        List<String> found = new ArrayList<>();
        List<String> wanted = new ArrayList<>();
        expected.forEach(
                row -> {
                    String[] parts = row.split(" [|] ");
                    wanted.add(parts[4] + " | " + parts[1]);
                });
        try (LogScanner scanner =
                table.newScan().project(Arrays.asList("score", "id")).createLogScanner()) {
            scanner.subscribeFromBeginning(0);
            long end = System.nanoTime() + READ_LIMIT.toNanos();
            while (found.size() < wanted.size() && System.nanoTime() < end) {
                for (ScanRecord record : scanner.poll(Duration.ofSeconds(2))) {
                    InternalRow row = record.getRow();
                    String score = row.isNullAt(0) ? "null" : String.valueOf(row.getDouble(0));
                    found.add(score + " | " + row.getInt(1));
                }
            }
        }
        check("log: projected, all rows", found, wanted);
    }

    private void readLog(Connection connection, TablePath path, boolean onOurs) throws Exception {
        try (Table table = open(connection, path, 3);
                LogScanner scanner = table.newScan().createLogScanner()) {
            List<String> expected = expectedLog();
            List<String> found = new ArrayList<>();
            scanner.subscribeFromBeginning(0);
            long end = System.nanoTime() + READ_LIMIT.toNanos();
            while (found.size() < expected.size() && System.nanoTime() < end) {
                for (ScanRecord record : scanner.poll(Duration.ofSeconds(2))) {
                    found.add(text(record.getRow()));
                }
            }
            check("log: records", found, expected);
            // The client reads nested values of a limit scan after it freed their memory: leave them.
            List<String> last = new ArrayList<>();
            rows(table, 15).forEach(row -> last.add(scalars(row)));
            List<String> wanted = new ArrayList<>();
            expected.subList(15, 30).forEach(row -> wanted.add(scalars(row)));
            check("log: the last 15", last, wanted);
            if (onOurs) {
                project(table, expected);
            }
        }
    }

    private void readPk(Connection connection, TablePath path) throws Exception {
        try (Table table = open(connection, path, 3)) {
            Map<Integer, String> expected = expectedPk();
            Map<Integer, String> found = new TreeMap<>();
            Lookuper lookuper = table.newLookup().createLookuper();
            for (int i = 0; i < 3 * PER_SCHEMA; i++) {
                InternalRow row = lookuper.lookup(GenericRow.of(i % 3, i)).get().getSingletonRow();
                if (row != null) {
                    found.put(i, text(row));
                }
            }
            check("pk: lookups", found, expected);
            found = new TreeMap<>();
            Lookuper prefix = table.newLookup().lookupBy("grp").createLookuper();
            for (int group = 0; group < 3; group++) {
                for (InternalRow row : prefix.lookup(GenericRow.of(group)).get().getRowList()) {
                    found.put(row.getInt(1), text(row));
                }
            }
            check("pk: prefix lookups", found, expected);
            List<String> rows = rows(table, 100);
            rows.sort(null);
            List<String> all = new ArrayList<>(expected.values());
            all.sort(null);
            check("pk: limit scan", rows, all);
            readChangelog(table, expected);
        }
    }

    private void readChangelog(Table table, Map<Integer, String> expected) throws Exception {
        Map<Integer, String> image = new TreeMap<>();
        try (LogScanner scanner = table.newScan().createLogScanner()) {
            scanner.subscribeFromBeginning(0);
            long end = System.nanoTime() + READ_LIMIT.toNanos();
            while (!image.equals(expected) && System.nanoTime() < end) {
                for (ScanRecord record : scanner.poll(Duration.ofMillis(500))) {
                    String row = text(record.getRow());
                    int id = record.getRow().getInt(1);
                    switch (record.getChangeType()) {
                        case UPDATE_BEFORE:
                        case DELETE:
                            String old = image.remove(id);
                            if (!row.equals(old)) {
                                check("pk: " + record.getChangeType() + " has the old row", row, old);
                            }
                            break;
                        default:
                            image.put(id, row);
                    }
                }
            }
        }
        check("pk: changelog", image, expected);
    }

    private void run(String[] arguments) throws Exception {
        Configuration config = new Configuration();
        config.setString("bootstrap.servers", arguments[1]);
        TablePath log = TablePath.of(arguments[2], arguments[3] + "_log");
        TablePath pk = TablePath.of(arguments[2], arguments[3] + "_pk");
        try (Connection connection = ConnectionFactory.createConnection(config)) {
            if (arguments[0].startsWith("write")) {
                write(connection, log, pk, Integer.parseInt(arguments[0].substring(5)));
            } else {
                readLog(connection, log, arguments[0].equals("read-ours"));
                readPk(connection, pk);
            }
        }
    }

    public static void main(String[] arguments) {
        Evolution evolution = new Evolution();
        try {
            evolution.run(arguments);
        } catch (Exception e) {
            evolution.failed++;
            e.printStackTrace(System.out);
        }
        System.out.println(evolution.passed + " passed, " + evolution.failed + " failed");
        System.exit(evolution.failed > 0 || evolution.passed == 0 ? 1 : 0);
    }
}
