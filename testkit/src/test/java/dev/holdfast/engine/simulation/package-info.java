/** Whole clients of the engine on one thread, with time, network, store and chance under the control of a seed. */
package dev.holdfast.engine.simulation;
