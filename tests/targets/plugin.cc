// Works for ever in a function named after where the library is: work_outside or work_inside.
#define JOIN(a, b) a##b
#define NAME(place) JOIN(work_, place)

extern "C" [[gnu::noinline]] void NAME(PLACE)() {
  for (unsigned long turns = 0;; ++turns) asm volatile("" : "+r"(turns));
}

extern "C" void plugin_run() {
  NAME(PLACE)();
}
