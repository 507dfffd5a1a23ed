package dev.holdfast.spring.boot;

import org.springframework.boot.autoconfigure.service.connection.ConnectionDetails;

/**
 * Where the store is, from somewhere else than the configuration: a container that a test has started, or a service that the
 * platform names. For an application's own Redis or DataSource it is not needed.
 */
public interface HoldfastConnectionDetails extends ConnectionDetails {

    /** The URL of the store, with the credentials. */
    String url();
}
