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
    private static final long ANSWER_S_MAX = 30;

    private Soak() {}

    /** False: it has failed. */
    private static boolean isAcknowledged(CompletableFuture<?> future) throws Exception {
        try {
            future.get(ANSWER_S_MAX, TimeUnit.SECONDS);
            return true;
        } catch (ExecutionException e) {
            System.out.println("failed: " + e);
            return false;
        }
    }

    /** One connection after the other, each with keys of its own, until time is over. */
    private static long write(String[] arguments) throws Exception {
        Configuration config = new Configuration();
        config.setString("bootstrap.servers", arguments[1]);
        long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(Long.parseLong(arguments[4]));
        long first = 0;
        try (PrintWriter notes =
                new PrintWriter(Files.newBufferedWriter(Paths.get(arguments[5])))) {
            for (int key = FIRST_KEY; System.nanoTime() < until; key += KEYS) {
                // Not closed: a stuck client would wait for its rows.
                Connection connection = ConnectionFactory.createConnection(config);
                Table log = connection.getTable(TablePath.of(arguments[2], "soak_log"));
                Table pk = connection.getTable(TablePath.of(arguments[2], "soak_pk"));
                AppendWriter appends = log.newAppend().createWriter();
                UpsertWriter upserts = pk.newUpsert().createWriter();
                try {
                    for (; System.nanoTime() < until; first += WINDOW) {
                        window(appends, upserts, arguments[3], first, key, notes);
                    }
                } catch (TimeoutException e) {
                    System.out.println("java connects anew after row " + first);
                    first += WINDOW;
                }
            }
        }
        return first;
    }

    private static void window(
            AppendWriter appends,
            UpsertWriter upserts,
            String writer,
            long first,
            int firstKey,
            PrintWriter notes)
            throws Exception {
        BinaryString name = BinaryString.fromString(writer);
        List<CompletableFuture<?>> appended = new ArrayList<>();
        List<CompletableFuture<?>> upserted = new ArrayList<>();
        for (long n = first; n < first + WINDOW; n++) {
            notes.println("sent " + n);
            appended.add(appends.append(GenericRow.of(name, n)));
            upserted.add(upserts.upsert(GenericRow.of(firstKey + (int) (n % KEYS), n)));
        }
        for (int i = 0; i < WINDOW; i++) {
            if (isAcknowledged(appended.get(i))) {
                notes.println("log " + (first + i));
            }
        }
        for (int i = 0; i < WINDOW; i++) {
            if (isAcknowledged(upserted.get(i))) {
                notes.println("pk " + (firstKey + (first + i) % KEYS) + " " + (first + i));
            }
        }
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
