/** Leader election: of all processes that stand for a name, one at a time leads. Begin with {@link dev.holdfast.Holdfast#election}. */
@NullMarked
package dev.holdfast.election;

import org.jspecify.annotations.NullMarked;
