package dev.holdfast.shedlock;

import java.nio.file.Path;
import org.junit.jupiter.api.io.TempDir;

class SqliteShedLockTest extends ShedLockKit {

    SqliteShedLockTest(@TempDir Path folder) {
        super("sqlite:" + folder.resolve("locks.db"));
    }
}
