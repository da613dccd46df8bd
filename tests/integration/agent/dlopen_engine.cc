// An engine that opens the agent at run time, closes it early, and has threads that end afterwards.
//   dlopen_engine LIBRARY SOCKET
#include <dlfcn.h>
#include <tailor/agent.h>

#include <atomic>
#include <cstdio>
#include <thread>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  void* library = ::dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    std::fprintf(stderr, "%s\n", ::dlerror());
    return 3;
  }
  auto start = reinterpret_cast<decltype(&tailor_agent_start)>(::dlsym(library, "tailor_agent_start"));
  auto barrier = reinterpret_cast<decltype(&tailor_agent_barrier)>(::dlsym(library, "tailor_agent_barrier"));
  auto mark =
      reinterpret_cast<decltype(&tailor_mark_pipeline_begin)>(::dlsym(library, "tailor_mark_pipeline_begin"));
  auto stop = reinterpret_cast<decltype(&tailor_agent_stop)>(::dlsym(library, "tailor_agent_stop"));
  auto version =
      reinterpret_cast<decltype(&tailor_agent_abi_version)>(::dlsym(library, "tailor_agent_abi_version"));
  if (!start || !barrier || !mark || !stop || !version || version() >> 16 != TAILOR_AGENT_ABI_MAJOR) return 4;
  tailor_agent_options options{};
  options.size = sizeof(options);
  options.engine_name = "dlopen";
  options.socket_path = argv[2];
  std::atomic<int> stage{0};
  std::thread worker([&] {
    while (stage < 1) std::this_thread::yield();
    mark(7);
    stage = 2;
    while (stage < 3) std::this_thread::yield();
  });
  int error = start(&options);
  stage = 1;
  while (stage < 2) std::this_thread::yield();
  int reached = barrier(60'000);
  ::dlclose(library);
  stage = 3;
  worker.join();
  stop(5000);  // the library stays for what runs in it
  return error == 0 && reached ? 0 : 1;
}
