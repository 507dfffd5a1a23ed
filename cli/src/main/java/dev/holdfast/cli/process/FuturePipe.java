package dev.holdfast.cli.process;

import dev.holdfast.cli.output.Failure;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;

/** A control pipe that is made while something else is waited for, on a thread that no signal interrupts. */
public final class FuturePipe implements AutoCloseable {

    private final FutureTask<ControlPipe> pipe = new FutureTask<>(ControlPipe::create);

    private FuturePipe() {}

    /** Begins to make it. */
    public static FuturePipe begin() {
        FuturePipe begun = new FuturePipe();
        Thread maker = new Thread(begun.pipe, "holdfast-pipe");
        maker.setDaemon(true);
        maker.start();
        return begun;
    }

    /** Waits for it. */
    public ControlPipe get() throws InterruptedException {
        try {
            return pipe.get();
        } catch (ExecutionException failed) {
            if (failed.getCause() instanceof Failure failure) {
                throw failure;
            }
            throw new IllegalStateException(failed.getCause());
        }
    }

    /** Removes the pipe's name, whatever has happened. */
    @Override
    public void close() {
        boolean interrupted = Thread.interrupted();
        try {
            get().close();
        } catch (InterruptedException | RuntimeException nothingToClose) {
            // It was never made.
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
