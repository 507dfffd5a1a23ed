package dev.holdfast.redis.lettuce;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import org.junit.jupiter.api.Test;

class ReplyOutputTest {

    /** Before, Lettuce took the rest of the reply for the answers to the commands that followed. */
    @Test
    void replyWithoutMemoryForItIsAFailure() {
        ReplyOutput output = new ReplyOutput();
        output.multi(2);
        assertThatCode(() -> output.multi(Integer.MAX_VALUE)).doesNotThrowAnyException();
        output.set(1);
        assertThat(output.hasError()).isTrue();
        assertThat(output.getError()).contains("no memory");
    }
}
