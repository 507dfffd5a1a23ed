# Becomes the command, as the leader of the session that it was started in, after it started a sentinel that ends the
# session's process group when the tool is gone. Comments are cut off before the script is run.
#
#   /bin/sh -c LAUNCH holdfast FIFO SESSION SENTINEL TOOL TERMINAL VARIABLES COMMAND [ARG...]
#
#   FIFO       the control pipe, which the tool alone holds open for writing
#   SESSION    words that start a program in a new session: setsid, or a line of perl
#   SENTINEL   the text of sentinel.sh
#   TOOL       the process id of the tool
#   TERMINAL   "foreground", or "background": then the terminal must not be read, since it belongs to another group
#   VARIABLES  arguments of env(1) that give variables their names back, see OddNames.java; -- if there are none
#
# The sentinel runs before the command does, so that there is no moment at which the tool can die and leave the command
# alone: the sentinel finds the pipe closed whenever it reads. It has a session of its own, so that neither the terminal
# nor a signal to either group reaches it, and it is a child neither of the tool nor of the command, so that the command never waits for it.
#
# The script uses positional parameters, and odd names, because a variable could have the name of one that the command
# inherits.
if [ "$5" = background ] && [ -t 0 ]; then
    exec </dev/null
fi
_holdfast_sentinel=$(eval "$2 /bin/sh -c \"\$3\" holdfast-sentinel \$\$ \"\$1\" \"\$4\" </dev/null 2>/dev/null &")
if [ "$_holdfast_sentinel" != ready ]; then
    echo "holdfast: the sentinel did not start, so the command was not run: check the limits on processes and $1" >&2
    exit 70
fi
# The JVM blocks SIGQUIT in its threads, and every process that it starts inherits that. On Linux /proc tells. A shell has
# no command that unblocks a signal, but the env(1) of GNU can.
while read -r _holdfast_key _holdfast_mask && [ "$_holdfast_key" != SigBlk: ]; do :; done 2>/dev/null </proc/self/status
_holdfast_unblock=
case $_holdfast_mask in
    *[4567cdef])
        if /usr/bin/env --default-signal=QUIT true 2>/dev/null; then
            _holdfast_unblock=--default-signal=QUIT
        fi
        ;;
esac
_holdfast_variables=$6
shift 6
# With -S the arguments have names only, and env(1) puts the values in. One without -S gets the values from this shell.
_holdfast_env=
if [ "$_holdfast_variables" != -- ] && /usr/bin/env -S true 2>/dev/null; then
    _holdfast_env="/usr/bin/env $_holdfast_unblock -S \"\$_holdfast_variables\""
elif [ "$_holdfast_unblock$_holdfast_variables" != -- ]; then
    _holdfast_env="/usr/bin/env $_holdfast_unblock $_holdfast_variables"
fi
# A program with = in its path would be an assignment to env(1).
case $_holdfast_env,$1 in
    /*,*=*) _holdfast_env="$_holdfast_env nice -n 0" ;;
esac
eval "exec $_holdfast_env \"\$@\""
