// record_command HZ FILE [--payload ip|time|register|stack] COMMAND [ARG...]: capture alone, as the daemon
// does it, with raw bytes written to FILE as perf record writes them. Says at the end what it saw.
#include <asm/perf_regs.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/capture/host/capture_reader.h"
#include "daemon/os/launched_command.h"
#include "tests/support/forwarding_os.h"

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

// The operating system, but samples carry what the payload says.
class PayloadOs : public test::ForwardingOs {
 public:
  explicit PayloadOs(std::string payload) : payload_(std::move(payload)) {}

  Result<UniqueFd> perf_event_open(perf_event_attr& attr, pid_t pid, int cpu, int group,
                                   unsigned long flags) override {
    if (payload_ == "ip" || payload_ == "time") {
      attr.sample_type = PERF_SAMPLE_IP;
      attr.sample_regs_user = 0;
      if (payload_ == "time") attr.sample_type |= PERF_SAMPLE_TIME;
    } else if (payload_ == "register" || payload_ == "stack") {
      attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER;
      attr.sample_regs_user = 1u << PERF_REG_X86_R15;
    }
    if (payload_ == "stack") {
      attr.sample_type |= PERF_SAMPLE_STACK_USER;
      attr.sample_stack_user = 8192;
    }
    return ForwardingOs::perf_event_open(attr, pid, cpu, group, flags);
  }

 private:
  std::string payload_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const bool chosen = argc > 5 && std::string_view(argv[3]) == "--payload";
  const int first = chosen ? 5 : 3;
  PayloadOs os(chosen ? argv[4] : "");
  auto command = os::LaunchedCommand::launch(std::vector<std::string>(argv + first, argv + argc));
  if (!command) return 1;
  FileSink sink(argv[2]);
  capture::CaptureCounts counts;
  capture::CaptureReader reader(
      os, sink, [&counts](capture::RecordingNumber, const capture::CaptureCounts& last) { counts = last; });
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
