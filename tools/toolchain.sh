# What a build needs (a JDK 17 and Maven), and what the tests need. Sourced by ./test and ./holdfast.

BUILD_JDK=17
JDKS=/usr/lib/jvm

# The major version of the JDK in folder $1, or nothing if there is no compiler in it.
jdk_major() {
    [[ -x $1/bin/javac ]] || return 0
    "$1/bin/javac" -version 2>&1 | sed -n 's/^javac \(1\.\)\{0,1\}\([0-9]*\).*/\2/p'
}

# The folder of a JDK of version $1, or nothing.
find_jdk() {
    local jdk
    for jdk in "$JDKS"/*; do
        if [[ $(jdk_major "$jdk") == "$1" ]]; then
            printf '%s\n' "$jdk"
            return
        fi
    done
}

# Installs what is missing from the system's packages; prints what to do if it cannot. Prints to standard error only.
install_toolchain() {
    local -a missing=()
    if ! command -v javac >/dev/null && [[ -z $(find_jdk "$BUILD_JDK") ]]; then
        missing+=("openjdk-$BUILD_JDK-jdk-headless")
    fi
    command -v mvn >/dev/null || missing+=(maven)
    install_packages "${missing[@]}"
}

# Installs the servers that the tests start and stop themselves.
install_servers() {
    local -a missing=()
    command -v redis-server >/dev/null || missing+=(redis-server)
    command -v openssl >/dev/null || missing+=(openssl)
    compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || missing+=(postgresql)
    [[ -x /usr/sbin/mariadbd ]] || missing+=(mariadb-server)
    command -v etcd >/dev/null || missing+=(etcd-server)
    command -v etcdctl >/dev/null || missing+=(etcd-client)
    command -v pgbouncer >/dev/null || missing+=(pgbouncer)
    command -v memcached >/dev/null || missing+=(memcached)
    [[ -x /usr/sbin/saslpasswd2 ]] || missing+=(sasl2-bin)
    # A small compiler of C, for a library that gives a server a clock of the test's.
    command -v tcc >/dev/null || command -v cc >/dev/null || missing+=(tcc)
    install_packages "${missing[@]}"
}

# Installs the packages in the arguments, if any; prints what to do if it cannot.
install_packages() {
    (($#)) || return 0
    if ! command -v apt-get >/dev/null; then
        echo "Missing: $*. Install them (a JDK $BUILD_JDK or newer, Maven 3.8 or newer), then run this again." >&2
        return 1
    elif ((EUID != 0)); then
        echo "Missing: $*. Run this as root once, or: sudo apt-get install $*" >&2
        return 1
    fi
    echo "Installing $*" >&2
    apt-get update -q >&2
    DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@" >&2
}
