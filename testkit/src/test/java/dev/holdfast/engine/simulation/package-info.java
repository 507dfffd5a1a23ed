/** Whole clients of the engine of which one thread runs at a time, with time, network, store and chance under the control of a seed. */
package dev.holdfast.engine.simulation;
