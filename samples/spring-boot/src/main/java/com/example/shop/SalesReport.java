package com.example.shop;

import dev.holdfast.spring.Locked;
import dev.holdfast.spring.Locked.IfBusy;
import java.util.List;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Component;
import org.springframework.transaction.annotation.Transactional;

/** A job that one instance does for all of them. */
@Component
class SalesReport {

    private final JdbcClient database;
    private final String instance;

    SalesReport(JdbcClient database, @Value("${shop.instance}") String instance) {
        this.database = database;
        this.instance = instance;
    }

    /** One run of the job: who did it, and how many sales it has counted. */
    record Report(long id, String madeBy, int sales) {}

    List<Report> all() {
        return database.sql("SELECT id, made_by, sales FROM report ORDER BY id").query(Report.class).list();
    }

    /**
     * Counts the sales that are in no report yet. All instances are woken at the same moment: one has the lock, and the others
     * skip this run. The lock stays taken for half a second at least, so that an instance whose clock is late skips it, too. If the
     * instance that reports dies, another one reports next time.
     */
    @Scheduled(cron = "${shop.report-at}")
    @Locked(name = "sales-report", ifBusy = IfBusy.SKIP, lockAtLeast = "500ms")
    @Transactional
    public void report() {
        List<Long> sales = database.sql("SELECT id FROM sale WHERE reported = FALSE").query(Long.class).list();
        database.sql("INSERT INTO report (made_by, sales) VALUES (?, ?)").params(instance, sales.size()).update();
        for (long sale : sales) {
            database.sql("UPDATE sale SET reported = TRUE WHERE id = ?").param(sale).update();
        }
    }
}
