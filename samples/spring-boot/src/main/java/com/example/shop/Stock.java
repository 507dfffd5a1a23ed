package com.example.shop;

import dev.holdfast.spring.Locked;
import java.util.Optional;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;

/** What can be sold. */
@Service
class Stock {

    private final JdbcClient database;
    private final String instance;

    Stock(JdbcClient database, @Value("${shop.instance}") String instance) {
        this.database = database;
        this.instance = instance;
    }

    /** An item, how many are left, and how many were sold. */
    record Item(long id, String name, int stock, int sold) {}

    Optional<Item> find(long id) {
        return database.sql("SELECT id, name, stock, (SELECT COUNT(*) FROM sale WHERE item = item.id) AS sold FROM item WHERE id = ?")
                .param(id)
                .query(Item.class)
                .optional();
    }

    /**
     * Sells one of an item, unless none is left. It reads and then writes, as programs do: without the lock two calls could read
     * that one is left, and both sell it. The lock is held until the transaction was committed, so that the next call reads what
     * this one has written, on whichever instance it is.
     */
    @Locked("item:#{#item}")
    @Transactional
    public boolean sell(long item) {
        int stock = database.sql("SELECT stock FROM item WHERE id = ?")
                .param(item)
                .query(Integer.class)
                .optional()
                .orElse(0);
        if (stock == 0) {
            return false;
        }
        database.sql("UPDATE item SET stock = ? WHERE id = ?").params(stock - 1, item).update();
        database.sql("INSERT INTO sale (item, sold_by) VALUES (?, ?)").params(item, instance).update();
        return true;
    }
}
