// plugin_host LIBRARY: runs plugin_run() of the library once a line has come, for ever.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  void* library = argc == 2 ? ::dlopen(argv[1], RTLD_NOW) : nullptr;
  if (library == nullptr) {
    std::fprintf(stderr, "plugin_host: %s\n", argc == 2 ? ::dlerror() : "one library, please");
    return 1;
  }
  std::puts("ready");
  std::fflush(stdout);
  if (std::getchar() == EOF) return 0;
  reinterpret_cast<void (*)()>(::dlsym(library, "plugin_run"))();
}
