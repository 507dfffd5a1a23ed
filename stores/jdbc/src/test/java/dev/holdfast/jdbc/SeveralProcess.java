package dev.holdfast.jdbc;

import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import java.io.IOException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/**
 * Another process that takes several names at once, in random orders, for as long as its argument says: {@code
 * SeveralProcess URL SEED SECONDS}. Under each lock it writes its mark into a row of table {@code held}, which must
 * not have another mark, and takes it out again. It says {@code ready}, then {@code done COUNT}.
 */
final class SeveralProcess {

    static final int NAMES = 12;
    static final String CREATE = "CREATE TABLE held (name integer PRIMARY KEY, mark integer NOT NULL)";

    private SeveralProcess() {}

    public static void main(String[] arguments) throws IOException, SQLException, InterruptedException {
        String url = arguments[0];
        int seed = Integer.parseInt(arguments[1]);
        long nanos = Duration.ofSeconds(Integer.parseInt(arguments[2])).toNanos();
        try (Holdfast locks = Holdfast.connect(url);
                Connection connection = Servers.connect(url.replaceAll("&holdfast.*", ""))) {
            System.out.println("ready");
            System.in.read();
            System.out.println("done " + run(locks, connection, seed, nanos));
        }
    }

    static int run(Holdfast locks, Connection connection, int seed, long nanos)
            throws SQLException, InterruptedException {
        Random random = new Random(seed);
        long start = System.nanoTime();
        int done = 0;
        while (System.nanoTime() - start < nanos) {
            List<Integer> names = new ArrayList<>();
            for (int i = 0; i < NAMES; i++) {
                names.add(i);
            }
            Collections.shuffle(names, random);
            List<Integer> some = names.subList(0, 2 + random.nextInt(4));
            String[] wanted = some.stream().map(name -> "several-" + name).toArray(String[]::new);
            try (Lease ignored = locks.multiLock(wanted).acquire()) {
                mark(connection, some, 0, seed);
                mark(connection, some, seed, 0);
                done++;
            }
        }
        return done;
    }

    private static void mark(Connection connection, List<Integer> names, int from, int to) throws SQLException {
        try (PreparedStatement statement =
                connection.prepareStatement("UPDATE held SET mark = ? WHERE name = ? AND mark = ?")) {
            for (int name : names) {
                statement.setInt(1, to);
                statement.setInt(2, name);
                statement.setInt(3, from);
                if (statement.executeUpdate() != 1) {
                    throw new AssertionError("row " + name + " was marked by another process");
                }
            }
        }
    }

    /** Creates the rows to mark. */
    static void prepare(String url) {
        Servers.run(url, CREATE);
        for (int i = 0; i < NAMES; i++) {
            Servers.run(url, "INSERT INTO held VALUES (" + i + ", 0)");
        }
    }
}
