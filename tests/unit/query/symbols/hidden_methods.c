/* Exported functions that make objects, and hidden ones whose addresses they put there. */
#define EXPORTED __attribute__((visibility("default")))

typedef int (*Method)(int);

struct object {
  Method run, shared;
};

static __attribute__((noinline)) int shared_method(int x) {
  return x * 7 + 1;
}

static __attribute__((noinline)) int sort_method(int x) {
  __asm__ volatile("" : "+r"(x));
  return x + 1;
}

/* What a method puts somewhere in turn. */
static __attribute__((noinline)) int next_row(int x) {
  __asm__ volatile("" : "+r"(x));
  return x + 2;
}

EXPORTED Method called = 0;

static __attribute__((noinline)) int scan_method(int x) {
  called = next_row;
  return x + 3;
}

/* Nobody puts its address anywhere. */
static __attribute__((noinline)) int helper(int x) {
  __asm__ volatile("" : "+r"(x));
  return x + 4;
}

static __attribute__((noinline)) int last_part(int x) {
  __asm__ volatile("" : "+r"(x));
  return x + 5;
}

/* Ends with a jump to last_part. */
static __attribute__((noinline)) int jumping_method(int x) {
  __asm__ volatile("" : "+r"(x));
  return last_part(x * 3);
}

EXPORTED void init_jump(struct object* object) {
  object->run = jumping_method;
}

EXPORTED void init_sort(struct object* object) {
  object->run = sort_method;
  object->shared = shared_method;
}

EXPORTED void init_scan(struct object* object) {
  object->run = scan_method;
  object->shared = shared_method;
}

static __attribute__((noinline)) int first_of_two(int x) {
  __asm__ volatile("" : "+r"(x));
  return x + 6;
}

static __attribute__((noinline)) int second_of_two(int x) {
  __asm__ volatile("" : "+r"(x));
  return x + 7;
}

/* Sets both at once, as compilers do it that find the addresses among constants. */
EXPORTED void init_two(struct object* object) {
  static const Method both[2] = {first_of_two, second_of_two};
  __asm__ volatile("movups %1, %%xmm0\n\tmovups %%xmm0, %0" : "=m"(*object) : "m"(both) : "xmm0");
}

EXPORTED int not_asked_for(struct object* object) {
  object->run = helper;
  return helper(1);
}
