// SPDX-License-Identifier: Apache-2.0
package interop;

import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.fluss.client.Connection;
import org.apache.fluss.client.ConnectionFactory;
import org.apache.fluss.client.table.Table;
import org.apache.fluss.client.table.writer.AppendWriter;
import org.apache.fluss.client.table.writer.UpsertWriter;
import org.apache.fluss.config.Configuration;
import org.apache.fluss.metadata.TablePath;
import org.apache.fluss.row.BinaryString;
import org.apache.fluss.row.GenericRow;

/**
 * The Java client's part of ../soak.py.
 *
 * <p>{@code Soak write HOST:PORT DATABASE NAME SECONDS FILE}. Closes with {@code N passed, N failed}.
 */
public final class Soak {
    private static final int WINDOW = 50;
    private static final int KEYS = 40;
    private static final int FIRST_KEY = 2000;
    private static final long ANSWER_S_MAX = 120;

    private Soak() {}

    private static boolean isAcknowledged(CompletableFuture<?> future) throws Exception {
        try {
            future.get(ANSWER_S_MAX, TimeUnit.SECONDS);
            return true;
        } catch (ExecutionException | TimeoutException e) {
            System.out.println("not told: " + e);
            return false;
        }
    }

    private static long write(String[] arguments) throws Exception {
        Configuration config = new Configuration();
        config.setString("bootstrap.servers", arguments[1]);
        long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(Long.parseLong(arguments[4]));
        long first = 0;
        try (Connection connection = ConnectionFactory.createConnection(config);
                Table log = connection.getTable(TablePath.of(arguments[2], "soak_log"));
                Table pk = connection.getTable(TablePath.of(arguments[2], "soak_pk"));
                PrintWriter notes =
                        new PrintWriter(Files.newBufferedWriter(Paths.get(arguments[5])))) {
            AppendWriter appends = log.newAppend().createWriter();
            UpsertWriter upserts = pk.newUpsert().createWriter();
            BinaryString name = BinaryString.fromString(arguments[3]);
            for (; System.nanoTime() < until; first += WINDOW) {
                List<CompletableFuture<?>> appended = new ArrayList<>();
                List<CompletableFuture<?>> upserted = new ArrayList<>();
                for (long n = first; n < first + WINDOW; n++) {
                    appended.add(appends.append(GenericRow.of(name, n)));
                    upserted.add(upserts.upsert(GenericRow.of(FIRST_KEY + (int) (n % KEYS), n)));
                }
                for (int i = 0; i < WINDOW; i++) {
                    String kind = isAcknowledged(appended.get(i)) ? "log " : "unknown ";
                    notes.println(kind + (first + i));
                }
                for (int i = 0; i < WINDOW; i++) {
                    if (isAcknowledged(upserted.get(i))) {
                        notes.println("pk " + (FIRST_KEY + (first + i) % KEYS) + " " + (first + i));
                    }
                }
            }
        }
        return first;
    }

    public static void main(String[] arguments) {
        boolean hasWritten = false;
        try {
            hasWritten = write(arguments) > 0;
        } catch (Exception e) {
            e.printStackTrace(System.out);
        }
        System.out.println(hasWritten ? "1 passed, 0 failed" : "0 passed, 1 failed");
        System.exit(hasWritten ? 0 : 1);
    }
}
