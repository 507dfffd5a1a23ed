package dev.holdfast.cli.process;

import dev.holdfast.cli.output.ExitCode;
import java.util.List;
import org.jspecify.annotations.Nullable;
import sun.misc.Signal;
import sun.misc.SignalHandler;

/**
 * Hands the signals that reach the tool to the command's group; before there is a command, they end the wait for the lock.
 *
 * <p>A terminal sends Ctrl-C to its foreground group only, which the command is no part of: it gets the signal once, from
 * here. A signal that was ignored when the tool was started (nohup) stays ignored, by the tool and by the command.
 */
public final class SignalRelay implements SignalHandler {

    /** Signals that end a process by default: while the tool waits for the lock they end the wait. */
    static final List<String> ENDING =
            List.of("HUP", "INT", "TERM", "USR1", "ALRM", "VTALRM", "PROF", "IO", "PWR", "STKFLT", "XCPU");

    /** Signals that tell a running command something and that a waiting tool has no use for. */
    static final List<String> TELLING = List.of("WINCH", "URG");

    // Not here: QUIT, SEGV, ILL, FPE and USR2 are the JVM's own. PIPE, CHLD, TTIN, TTOU, XFSZ, ABRT, BUS, TRAP and SYS
    // are about the tool itself. KILL and STOP reach nobody.

    private final Thread waiter;
    private @Nullable ChildGroup child;
    private @Nullable LossGuard guard;
    private @Nullable Signal pending;
    private boolean over;

    private SignalRelay(Thread waiter) {
        this.waiter = waiter;
    }

    /** Catches signals from now on; {@code waiter} is interrupted by one that ends the wait. */
    public static SignalRelay install(Thread waiter) {
        SignalRelay relay = new SignalRelay(waiter);
        for (String name : ENDING) {
            relay.take(name);
        }
        for (String name : TELLING) {
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
            case "WINCH", "URG" -> tell(signal);
            default -> end(signal);
        }
    }

    /** The number of the signal that ended the wait, or 0. */
    public synchronized int pending() {
        return pending == null ? 0 : pending.getNumber();
    }

    /** From now on signals go to the command, also one that came while it was being started. */
    public synchronized void forwardTo(ChildGroup newChild, LossGuard newGuard) {
        child = newChild;
        guard = newGuard;
        // Ctrl-Z while waiting needs no handler: it stops the tool, which has no child yet.
        take("TSTP");
        take("CONT");
        if (pending != null) {
            newChild.signal(pending.getName());
        }
    }

    /** The command has ended: what comes now is for a tool that hangs while it tidies up. */
    public synchronized void commandEnded() {
        over = true;
        child = null;
    }

    private synchronized void end(Signal signal) {
        if (child != null) {
            child.signal(signal.getName());
        } else if (pending == null && !over) {
            pending = signal;
            waiter.interrupt();
        } else {
            // Whatever keeps the tool from giving up, its user wants it gone. Its lease will end.
            Runtime.getRuntime().halt(ExitCode.SIGNAL + signal.getNumber());
        }
    }

    private synchronized void tell(Signal signal) {
        if (child != null) {
            child.signal(signal.getName());
        }
    }

    private synchronized void pause() {
        if (child != null) {
            child.pause();
        }
    }

    /** After Ctrl-Z and fg: the command goes on, unless the lock was lost meanwhile; then it is killed as it stands. */
    private synchronized void resume() {
        if (child != null && guard != null && guard.mayContinue()) {
            child.signal("CONT");
        }
    }
}
