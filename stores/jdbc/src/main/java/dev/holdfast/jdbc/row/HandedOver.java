package dev.holdfast.jdbc.row;

import dev.holdfast.spi.Released.Handed;

/**
 * What the one statement did that ends an exclusive holder and grants the resource to the first in the queue.
 *
 * @param handed the grant that it made
 * @param contended whether more is left than this holder
 */
public record HandedOver(Handed handed, boolean contended) {}
