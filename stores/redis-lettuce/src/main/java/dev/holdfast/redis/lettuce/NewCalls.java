package dev.holdfast.redis.lettuce;

import dev.holdfast.redis.client.ClientLibrary;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.MaintNotificationsConfig;

/** The calls that came with Lettuce 7, and what is done with Lettuce 6.8. No other class makes such a call. */
final class NewCalls {

    private static final boolean NOTIFIES = ClientLibrary.has("io.lettuce.core.MaintNotificationsConfig");

    private NewCalls() {}

    /** Keeps Lettuce from asking each server for notifications that only some know. Lettuce 6 asks for none. */
    static void withoutMaintenanceNotifications(ClientOptions.Builder builder) {
        if (NOTIFIES) {
            builder.maintNotificationsConfig(MaintNotificationsConfig.disabled());
        }
    }
}
