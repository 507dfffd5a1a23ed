# Becomes the command, as the leader of the session that it was started in, after it started a sentinel that ends the
# session's process group when the tool is gone. Comments are cut off before the script is run.
#
#   /bin/sh -c LAUNCH holdfast FIFO SESSION SENTINEL TOOL TERMINAL COMMAND [ARG...]
#
#   FIFO      the control pipe, which the tool alone holds open for writing
#   SESSION   words that start a program in a new session: setsid, or a line of perl
#   SENTINEL  the text of sentinel.sh
#   TOOL      the process id of the tool
#   TERMINAL  "foreground", or "background": then the terminal must not be read, since it belongs to another group
#
# The sentinel runs before the command does, so that there is no moment at which the tool can die and leave the command
# alone: the sentinel finds the pipe closed whenever it reads. It has a session of its own, so that neither the terminal
# nor a signal to either group reaches it, and it is a child neither of the tool nor of the command, so that the command never waits for it.
#
# The script uses positional parameters, because a variable could have the name of one that the command inherits.
if [ "$5" = background ] && [ -t 0 ]; then
    exec </dev/null
fi
_holdfast_sentinel=$(eval "$2 /bin/sh -c \"\$3\" holdfast-sentinel \$\$ \"\$1\" \"\$4\" </dev/null 2>/dev/null &")
if [ "$_holdfast_sentinel" != ready ]; then
    echo "holdfast: the sentinel did not start, so the command was not run: check the limits on processes and $1" >&2
    exit 70
fi
shift 5
exec "$@"
