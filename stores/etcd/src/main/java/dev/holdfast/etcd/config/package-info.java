/** The configuration of the store: the options, and the URL that they are read from. */
@NullMarked
package dev.holdfast.etcd.config;

import org.jspecify.annotations.NullMarked;
