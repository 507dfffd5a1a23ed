package dev.holdfast.cli.process;

import dev.holdfast.cli.output.ExitCode;
import java.util.List;
import org.jspecify.annotations.Nullable;
import sun.misc.Signal;
import sun.misc.SignalHandler;

/**
 * Forwards the signals that reach the tool to the command's group; before there is a command, they end the wait for
 * the lock.
 *
 * <p>A terminal sends Ctrl-C to its foreground group only, which the command is no part of: it gets the signal once,
 * from this relay. A signal that was ignored when the tool was started (nohup) stays ignored, by the tool and by the
 * command.
 */
public final class SignalRelay implements SignalHandler {

    /** Signals that end a process by default: while the tool waits for the lock they end the wait. */
    static final List<String> ENDING =
            List.of("HUP", "INT", "TERM", "USR1", "ALRM", "VTALRM", "PROF", "IO", "PWR", "STKFLT", "XCPU");

    /** Of these, the signals that only ever ask a running command to end. */
    static final List<String> STOPPING = List.of("INT", "TERM");

    /** Signals that inform a running command; a tool that waits for the lock ignores them. */
    static final List<String> INFORMING = List.of("WINCH", "URG");

    // Not here: QUIT, SEGV, ILL, FPE and USR2 are the JVM's own. PIPE, CHLD, TTIN, TTOU, XFSZ, ABRT, BUS, TRAP and
    // SYS are about the tool itself. KILL and STOP cannot be caught.

    private final Thread waiter;
    private @Nullable ChildGroup child;
    private @Nullable LossGuard guard;
    private @Nullable Signal pending;
    /** The signal by which a command was asked to end. */
    private @Nullable Signal stop;

    private boolean paused;
    private boolean over;

    /** It catches no signals yet. */
    public SignalRelay(Thread waiter) {
        this.waiter = waiter;
    }

    /** Catches signals from now on; a signal that ends the wait interrupts {@code waiter}. */
    public static SignalRelay install(Thread waiter) {
        SignalRelay relay = new SignalRelay(waiter);
        for (String name : ENDING) {
            relay.take(name);
        }
        for (String name : INFORMING) {
            relay.take(name);
        }
        return relay;
    }

    private void take(String name) {
        try {
            Signal signal = new Signal(name);
            if (Signal.handle(signal, this) == SIG_IGN) {
                Signal.handle(signal, SIG_IGN);
            }
        } catch (IllegalArgumentException notOnThisSystem) {
            // Signals differ between systems and JVM options; what cannot be caught acts as it does by default.
        }
    }

    @Override
    public void handle(Signal signal) {
        switch (signal.getName()) {
            case "TSTP" -> pause();
            case "CONT" -> resume();
            case "WINCH", "URG" -> forward(signal);
            default -> end(signal);
        }
    }

    /** The number of the signal that ended the wait, or 0. */
    public synchronized int pending() {
        return pending == null ? 0 : pending.getNumber();
    }

    /** The number of a signal that ended the wait, or that asked a command to end, as INT and TERM do; 0 if there was none. */
    public synchronized int stopAsked() {
        return pending != null ? pending.getNumber() : stop != null ? stop.getNumber() : 0;
    }

    /**
     * Call it before the command is started: Ctrl-Z no longer stops the tool alone, as it does while the tool waits for
     * the lock. A command that runs while nobody renews its lock would be left without it.
     *
     * <p>The first process of a container cannot be stopped, so that nothing would ever continue the command. Ctrl-Z has
     * no effect there, as on every such process.
     */
    public void commandStarts() {
        if (ProcessHandle.current().pid() != 1) {
            take("TSTP");
        }
        take("CONT");
    }

    /** From now on signals go to the command, also those that came while it was being started. */
    public synchronized void forwardTo(ChildGroup newChild, LossGuard newGuard) {
        child = newChild;
        guard = newGuard;
        if (pending != null) {
            newChild.signal(pending.getName());
        } else if (paused) {
            newChild.pause();
        }
    }

    /** Call it when the command has ended: a signal from now on ends the tool, which may hang while it cleans up. */
    public synchronized void commandEnded() {
        over = true;
        child = null;
    }

    /** Call it when a command has ended and another one will be waited for: signals end the wait again, and Ctrl-Z stops the tool. */
    public synchronized void waitAgain() {
        over = false;
        paused = false;
        for (String name : List.of("TSTP", "CONT")) {
            Signal signal = new Signal(name);
            if (Signal.handle(signal, SIG_DFL) == SIG_IGN) {
                Signal.handle(signal, SIG_IGN);
            }
        }
    }

    private synchronized void end(Signal signal) {
        if (child != null) {
            child.signal(signal.getName());
            stop = STOPPING.contains(signal.getName()) ? signal : stop;
        } else if (pending == null && !over) {
            pending = signal;
            waiter.interrupt();
        } else {
            // The user wants the tool to end, whatever it is waiting for. Its lease will expire.
            Runtime.getRuntime().halt(ExitCode.SIGNAL + signal.getNumber());
        }
    }

    private synchronized void forward(Signal signal) {
        if (child != null) {
            child.signal(signal.getName());
        }
    }

    private synchronized void pause() {
        if (child != null) {
            child.pause();
        } else {
            paused = true;
        }
    }

    /**
     * After Ctrl-Z and fg: the command goes on, unless the lock was lost meanwhile; then it is killed while it is
     * stopped.
     */
    private synchronized void resume() {
        paused = false;
        if (child != null && guard != null && guard.mayContinue()) {
            child.signal("CONT");
        }
    }
}
