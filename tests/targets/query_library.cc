// A compiled query: works for some hundred microseconds in a function that is named after its number.
#define JOIN(a, b) a##b
#define NAME(number) JOIN(query_, number)

extern "C" [[gnu::noinline]] void NAME(QUERY)() {
  unsigned long sum = 1;
  for (int i = 0; i < 200'000; ++i) {
    sum = sum * 2862933555777941757UL + 3037000493UL;
    asm volatile("" : "+r"(sum));
  }
}
