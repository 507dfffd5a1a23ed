package com.example;

import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import java.time.Duration;

/** Does something in one place at a time, on the store whose URL is given. */
public final class SellTheLastItem {

    private SellTheLastItem() {}

    public static void main(String[] arguments) throws InterruptedException {
        String url = arguments[0]; // sqlite:locks.db, redis://localhost:6379, ...
        try (Holdfast locks = Holdfast.connect(url);
                Lease lease = locks.lock("item:42").acquire(Duration.ofSeconds(5))) {
            lease.onLost(reason -> System.err.println("Stop: the lock was lost, " + reason));
            System.out.println("Sold the last item, with fencing token " + lease.token());
        }
    }
}
