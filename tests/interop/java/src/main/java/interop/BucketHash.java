// SPDX-License-Identifier: Apache-2.0
package interop;

import java.util.function.IntFunction;
import org.apache.fluss.client.Connection;
import org.apache.fluss.client.ConnectionFactory;
import org.apache.fluss.client.table.Table;
import org.apache.fluss.client.table.writer.UpsertWriter;
import org.apache.fluss.config.Configuration;
import org.apache.fluss.metadata.TablePath;
import org.apache.fluss.row.BinaryString;
import org.apache.fluss.row.GenericRow;

/**
 * Writes the keys of ../bucket_hash.py to its tables, so that the Java client chooses their buckets.
 *
 * <p>{@code BucketHash write HOST:PORT DATABASE WRITER}. Prints a line a table and closes with
 * {@code N passed, N failed}.
 */
public final class BucketHash {
    private static final int ROWS = 100_000;

    private BucketHash() {}

    private static BinaryString text(int i) {
        return BinaryString.fromString("key-" + i + "é".repeat(i % 3));
    }

    private static void write(Connection connection, TablePath path, IntFunction<GenericRow> rule)
            throws Exception {
        try (Table table = connection.getTable(path)) {
            UpsertWriter writer = table.newUpsert().createWriter();
            for (int i = 0; i < ROWS - 1; i++) {
                writer.upsert(rule.apply(i));
            }
            var last = writer.upsert(rule.apply(ROWS - 1));
            writer.flush();
            last.get();
        }
        System.out.println("ok      " + path + " is written");
    }

    public static void main(String[] arguments) {
        int passed = 0;
        Configuration config = new Configuration();
        config.setString("bootstrap.servers", arguments[1]);
        String database = arguments[2];
        String prefix = arguments[3];
        try (Connection connection = ConnectionFactory.createConnection(config)) {
            write(connection, TablePath.of(database, prefix + "_int"),
                    i -> GenericRow.of(i - 500, i));
            passed++;
            write(connection, TablePath.of(database, prefix + "_int_sparse"),
                    i -> GenericRow.of(i * 40_009 - 2_000_000_000, i));
            passed++;
            write(connection, TablePath.of(database, prefix + "_bigint"),
                    i -> GenericRow.of(i * 90_000_000_007L - 4_500_000_000_000_000L, i));
            passed++;
            write(connection, TablePath.of(database, prefix + "_string"),
                    i -> GenericRow.of(text(i), i));
            passed++;
            write(connection, TablePath.of(database, prefix + "_int_string"),
                    i -> GenericRow.of(i % 1000 - 500, text(i), i));
            passed++;
        } catch (Exception e) {
            e.printStackTrace(System.out);
        }
        int failed = passed == 5 ? 0 : 1;
        System.out.println(passed + " passed, " + failed + " failed");
        System.exit(failed);
    }
}
