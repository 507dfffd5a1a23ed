# Sourced by ./holdfast, and run by the tool's tests.

# Executes a program in the character set UTF-8. In another one the JVM cannot read all names and arguments: "ä" and "ö"
# would become the same lock. HOLDFAST_LC_ALL keeps what LC_ALL was, for the command that the tool runs.
exec_in_utf8() {
    local letter=$'\xc3\xbc'
    case ${LC_ALL:-${LC_CTYPE:-${LANG:-}}} in
        *.[Uu][Tt][Ff]-8* | *.[Uu][Tt][Ff]8*)
            # A locale that was never installed, as that of another host by ssh(1), counts as C: there these are two.
            if ((${#letter} == 1)); then
                exec "$@"
            fi
            ;;
    esac
    # By env(1), since bash warns where a system does not know this locale.
    exec env HOLDFAST_LC_ALL="${LC_ALL:-}" LC_ALL=C.UTF-8 "$@"
}
