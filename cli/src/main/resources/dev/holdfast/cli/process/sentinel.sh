# Sends signals to the process group of the command, as the tool asks through a pipe; if the tool dies, kills the group.
#
#   /bin/sh -c SENTINEL holdfast-sentinel GROUP FIFO TOOL
#
# Lines read from the pipe: the name of a signal without SIG, to send to the group; "pause", to stop the group and then
# the process TOOL; "end", when the command has ended and GROUP may soon be the number of another process. End of
# file without "end" means that the tool was killed.
#
# The pipe is opened for reading and writing first, because opening it for reading only would wait for a tool that may
# be dead already.
trap '' HUP INT QUIT TERM
exec 3<>"$2" 4<"$2" 3>&- || exit 1
echo ready
exec >/dev/null
rm -rf -- "${2%/*}" &
while read -r request <&4; do
    case $request in
        end) exit 0 ;;
        pause)
            kill -s STOP -- "-$1"
            kill -s STOP "$3"
            ;;
        *) kill -s "$request" -- "-$1" ;;
    esac
done
kill -s KILL -- "-$1"
