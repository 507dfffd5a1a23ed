/** What can be set: the options and the URL they are read from. */
@NullMarked
package dev.holdfast.zookeeper.config;

import org.jspecify.annotations.NullMarked;
