// How jemalloc, the allocator of tailord, is set up. See its manual, "TUNING".
//
// The one of the C library has a lock for each arena, and joins all small pieces of an arena in one go with
// that lock held: the thread that serves all agents waited for it, for tens of milliseconds. With many arenas
// instead, memory that one thread gave back did not serve the others, and tailord grew.

// What was freed goes back to the kernel within a second: tables of files are large and live for a moment.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "dirty_decay_ms:1000";
}
