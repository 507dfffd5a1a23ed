package dev.holdfast.spring.boot;

import org.springframework.boot.autoconfigure.condition.ConditionOutcome;
import org.springframework.boot.autoconfigure.condition.SpringBootCondition;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.core.type.AnnotatedTypeMetadata;
import org.springframework.util.StringUtils;

/** Whether a key has a text. An empty one stands for a variable of the environment that is not set. */
abstract class KeyIsSet extends SpringBootCondition {

    private final String key;

    KeyIsSet(String key) {
        this.key = key;
    }

    @Override
    public final ConditionOutcome getMatchOutcome(ConditionContext context, AnnotatedTypeMetadata metadata) {
        boolean isSet = StringUtils.hasText(context.getEnvironment().getProperty(key));
        return new ConditionOutcome(isSet, key + " is " + (isSet ? "set" : "not set"));
    }
}
