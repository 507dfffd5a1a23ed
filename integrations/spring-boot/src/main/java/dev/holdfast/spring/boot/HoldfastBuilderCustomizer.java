package dev.holdfast.spring.boot;

import dev.holdfast.Holdfast;

/** Changes the settings of the client before it is made. Beans of this type are called in their order. */
@FunctionalInterface
public interface HoldfastBuilderCustomizer {

    /** Changes the settings, but neither the store nor its URL. */
    void customize(Holdfast.Builder builder);
}
