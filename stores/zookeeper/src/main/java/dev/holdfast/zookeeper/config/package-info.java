/** The options of the store, and the URL from which they are read. */
@NullMarked
package dev.holdfast.zookeeper.config;

import org.jspecify.annotations.NullMarked;
