/*
 * A wall clock that a test sets while the program that reads it runs: loaded into the program before the C library, whose
 * functions these stand in front of. The monotonic clock stays the machine's. ServerClock.java compiles it, and writes the file.
 *
 * No header is included, so that a compiler is all that is needed, and nothing here allocates memory: an allocator of the program's own
 * asks for the time while it is set up. For 64-bit Linux.
 */

typedef long long nanos;
struct timespec { long seconds; long nanoseconds; };
struct timeval { long seconds; long microseconds; };

/*
 * What ServerClock writes: if held is not 0, it is the time since 1970; else the time is the machine's and the offset. In turn it
 * reads that the program has asked for the time here.
 */
struct setting { volatile nanos held; volatile nanos offset; volatile nanos asked; };

extern char *getenv(const char *name);
extern int open(const char *path, int flags, ...);
extern int close(int descriptor);
extern void *mmap(void *address, unsigned long length, int protection, int flags, int descriptor, long offset);
extern long syscall(long number, ...);
extern void *dlsym(void *library, const char *name);
extern void abort(void);

#if defined(__x86_64__)
#define SYS_CLOCK_GETTIME 228
#elif defined(__aarch64__)
#define SYS_CLOCK_GETTIME 113
#else
#error "The number of clock_gettime is not known for this processor"
#endif

#define REALTIME 0
#define REALTIME_COARSE 5
#define SECOND 1000000000LL
#define NEXT ((void *) -1)
#define READ_WRITE 2
#define READABLE 1
#define WRITABLE 2
#define SHARED 1

/* A deadline before this is one of the monotonic clock, which counts from the start of the machine: ten years. */
#define MONOTONIC_BELOW (10LL * 366 * 86400 * SECOND)

static struct setting *volatile setting;

/* Two threads may both map the file at first, which does no harm. */
static struct setting *map(void)
{
    if (!setting) {
        const char *path = getenv("HOLDFAST_SERVER_CLOCK");
        int file = path ? open(path, READ_WRITE) : -1;
        void *mapped = file < 0 ? (void *) -1 : mmap(0, sizeof(struct setting), READABLE | WRITABLE, SHARED, file, 0);
        if (mapped == (void *) -1) {
            abort(); /* a server with the wrong time would make the test look away */
        }
        close(file);
        setting = mapped;
        setting->asked = 1;
    }
    return setting;
}

static nanos real_time(void)
{
    struct timespec time;
    syscall(SYS_CLOCK_GETTIME, REALTIME, &time);
    return time.seconds * SECOND + time.nanoseconds;
}

static nanos time_now(void)
{
    struct setting *now = map();
    nanos held = now->held;
    return held ? held : real_time() + now->offset;
}

int clock_gettime(int clock, struct timespec *time)
{
    nanos now;
    if (clock != REALTIME && clock != REALTIME_COARSE) {
        return (int) syscall(SYS_CLOCK_GETTIME, clock, time);
    }
    now = time_now();
    time->seconds = now / SECOND;
    time->nanoseconds = now % SECOND;
    return 0;
}

int gettimeofday(struct timeval *time, void *zone)
{
    nanos now = time_now();
    time->seconds = now / SECOND;
    time->microseconds = now % SECOND / 1000;
    return 0;
}

long time(long *seconds)
{
    long now = time_now() / SECOND;
    if (seconds) {
        *seconds = now;
    }
    return now;
}

/* The kernel waits by its own clock, so a deadline by this one is translated. */
static struct timespec by_the_machine(const struct timespec *deadline)
{
    struct timespec translated = *deadline;
    nanos wanted = deadline->seconds * SECOND + deadline->nanoseconds;
    if (wanted >= MONOTONIC_BELOW) {
        wanted += real_time() - time_now();
        translated.seconds = wanted < 0 ? 0 : wanted / SECOND;
        translated.nanoseconds = wanted < 0 ? 0 : wanted % SECOND;
    }
    return translated;
}

int pthread_cond_timedwait(void *condition, void *mutex, const struct timespec *deadline)
{
    static int (*next)(void *, void *, const struct timespec *);
    struct timespec translated = by_the_machine(deadline);
    if (!next) {
        next = (int (*)(void *, void *, const struct timespec *)) dlsym(NEXT, "pthread_cond_timedwait");
    }
    return next(condition, mutex, &translated);
}

int sem_timedwait(void *semaphore, const struct timespec *deadline)
{
    static int (*next)(void *, const struct timespec *);
    struct timespec translated = by_the_machine(deadline);
    if (!next) {
        next = (int (*)(void *, const struct timespec *)) dlsym(NEXT, "sem_timedwait");
    }
    return next(semaphore, &translated);
}
