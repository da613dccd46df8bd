// record_command HZ FILE COMMAND [ARG...]: capture alone, as the daemon does it, with raw bytes written to
// FILE as perf record writes them. Says at the end what it saw.
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "daemon/capture/capture_reader.h"
#include "daemon/os/launched_command.h"

namespace {

using namespace tailor;

class FileSink : public capture::ChunkSink {
 public:
  explicit FileSink(const char* name) : file_(std::fopen(name, "wb")) {}
  FileSink(const FileSink&) = delete;
  FileSink& operator=(const FileSink&) = delete;
  ~FileSink() override {
    if (file_ != nullptr) std::fclose(file_);
  }
  void on_ring(const capture::RingLayout&) override {}
  void on_chunk(capture::RingChunk&& chunk) override {
    bytes += chunk.bytes.size();
    if (file_ != nullptr) std::fwrite(chunk.bytes.data(), 1, chunk.bytes.size(), file_);
  }
  void on_round(TimeNs) override { ++rounds; }
  void on_ring_closed(capture::RingIndex) override {}

  unsigned long long bytes = 0, rounds = 0;

 private:
  std::FILE* file_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  auto command = os::LaunchedCommand::launch(std::vector<std::string>(argv + 3, argv + argc));
  if (!command) return 1;
  FileSink sink(argv[2]);
  capture::CaptureCounts counts;
  capture::CaptureReader reader(
      os::real(), sink, [&counts](capture::SessionId, const capture::CaptureCounts& last) { counts = last; });
  capture::CaptureOptions options;
  options.events = {capture::cpu_clock(std::strtoull(argv[1], nullptr, 10))};
  options.enable_on_exec = true;
  options.follow_children = true;
  auto started = reader.start();
  auto attached = reader.attach(command->pid(), options);
  if (!started || !attached) {
    std::fprintf(stderr, "%s\n", attached ? "no reader" : attached.error().message.c_str());
    return 1;
  }
  if (!command->start()) return 1;
  int status = 0;
  ::waitpid(command->pid(), &status, 0);
  reader.stop();
  std::fprintf(stderr, "%llu bytes, %llu rounds, %llu lost\n", sink.bytes, sink.rounds,
               static_cast<unsigned long long>(counts.lost));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
