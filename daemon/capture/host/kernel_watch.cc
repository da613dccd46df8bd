#include "daemon/capture/host/kernel_watch.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>

#include "daemon/capture/decode/byte_cursor.h"
#include "daemon/capture/decode/kernel_symbols.h"
#include "daemon/capture/decode/record_scan.h"
#include "daemon/capture/decode/told_record.h"
#include "daemon/capture/host/perf_recording.h"

namespace tailor::capture {
namespace {

constexpr std::size_t kWatchRing = std::size_t{64} << 10;

std::vector<KernelFunction> programs_in_kallsyms(const os::Os& os) {
  std::ifstream file(os.proc() / "kallsyms", std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return bpf_functions(text.view());
}

// What the symbol table has beside them.
void add_others(const std::vector<KernelFunction>& listed, std::vector<KernelFunction>& programs) {
  std::set<std::uint64_t> known;
  for (const KernelFunction& each : programs) known.insert(each.address);
  for (const KernelFunction& each : listed)
    if (!known.contains(each.address)) programs.push_back(each);
}

std::vector<KernelFunction> programs_now(const os::Os& os, const AskForPrograms& ask) {
  std::optional<LoadedPrograms> loaded = ask ? ask(os) : std::nullopt;
  if (!loaded) return programs_in_kallsyms(os);
  if (!loaded->complete) add_others(programs_in_kallsyms(os), loaded->functions);
  return std::move(loaded->functions);
}

void note_loaded(std::span<const std::byte> symbol, std::set<std::uint64_t>& begins) {
  ByteCursor cursor(symbol);
  const std::uint64_t begin = cursor.u64();
  cursor.u32();  // size
  cursor.u16();  // type
  const bool loaded = (cursor.u16() & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER) == 0;
  if (cursor.ok() && loaded) begins.insert(begin);
}

// Keeps chunks back, and says of rings whose they are.
class WatchedRings : public ChunkSink {
 public:
  explicit WatchedRings(ChunkSink& out) : out_(out) {}
  void on_ring(const RingLayout& layout) override {
    RingLayout of_kernel = layout;
    of_kernel.pid = kOfKernelCode;
    if (layouts.empty()) layouts.push_back(of_kernel);
    out_.on_ring(of_kernel);
  }
  void on_chunk(RingChunk&& chunk) override { chunks.push_back(std::move(chunk)); }
  void on_round(TimeNs horizon) override { out_.on_round(horizon); }
  void on_ring_closed(RingIndex ring) override { closed.push_back(ring); }

  void pass_on() {
    for (RingChunk& chunk : std::exchange(chunks, {})) out_.on_chunk(std::move(chunk));
    for (const RingIndex ring : std::exchange(closed, {})) out_.on_ring_closed(ring);
  }

  std::vector<RingLayout> layouts;  // the first, if any was told
  std::vector<RingChunk> chunks;
  std::vector<RingIndex> closed;

 private:
  ChunkSink& out_;
};

class KernelWatch : public Recording {
 public:
  KernelWatch(os::Os& os, std::unique_ptr<Recording> rings, TimeNs since, AskForPrograms ask)
      : os_(os), ask_(std::move(ask)), rings_(std::move(rings)), since_(since) {}

  pid_t pid() const override { return kAllProcesses; }
  const std::vector<profile::Source>& sources() const override { return sources_; }
  const std::vector<std::string>& notes() const override { return rings_->notes(); }
  std::size_t ring_count() const override { return rings_->ring_count(); }
  void number_rings(RingIndex first) override { rings_->number_rings(first); }
  bool set_seldom_read(bool) override { return true; }  // each record wakes the reader
  bool set_enabled(bool) override { return true; }
  int poll_fd(std::size_t index) const override { return rings_->poll_fd(index); }
  int next_poll_fd(std::size_t index) override { return rings_->next_poll_fd(index); }
  CaptureCounts counts() override { return rings_->counts(); }

  void drain(ChunkSink& sink) override {
    WatchedRings watched(sink);
    // What is read of the programs must be older than what the rings are read for.
    const std::vector<KernelFunction> known = told_ ? std::vector<KernelFunction>{} : programs_now(os_, ask_);
    rings_->drain(watched);
    if (!std::exchange(told_, true)) tell(known, watched);
    watched.pass_on();
  }
  void finish(ChunkSink& sink) override {
    drain(sink);
    WatchedRings watched(sink);
    rings_->finish(watched);
    watched.pass_on();
  }

 private:
  // Those that were there when the events were opened. The rings tell themselves of those that came since.
  void tell(const std::vector<KernelFunction>& known, WatchedRings& watched) const {
    if (watched.layouts.empty()) return;
    std::set<std::uint64_t> came;
    for (const RingChunk& chunk : watched.chunks)
      for_each_record(chunk.bytes, [&](const perf_event_header& header, std::span<const std::byte> record) {
        if (header.type == PERF_RECORD_KSYMBOL) note_loaded(record.subspan(sizeof header), came);
      });
    RingChunk told{watched.layouts.front().ring, {}};
    for (const KernelFunction& each : known) {
      if (came.contains(each.address)) continue;
      const std::vector<std::byte> record =
          symbol_record(watched.layouts.front(), since_, each, PERF_RECORD_KSYMBOL_TYPE_BPF);
      told.bytes.insert(told.bytes.end(), record.begin(), record.end());
    }
    if (!told.bytes.empty()) watched.chunks.insert(watched.chunks.begin(), std::move(told));
  }

  os::Os& os_;
  AskForPrograms ask_;
  std::unique_ptr<Recording> rings_;
  std::vector<profile::Source> sources_;  // it has none
  TimeNs since_;                          // when its events were there
  bool told_ = false;
};

}  // namespace

CaptureOptions kernel_watch_options() {
  CaptureOptions options;
  options.kernel_code = true;
  options.events = {sideband_only()};
  options.ring_bytes = kWatchRing;
  return options;
}

Result<std::unique_ptr<Recording>> open_kernel_watch(os::Os& os, const CaptureOptions& options,
                                                     AskForPrograms ask) {
  auto rings = PerfRecording::open(os, kAllProcesses, options);
  if (!rings) return rings.error();
  return std::unique_ptr<Recording>(new KernelWatch(os, std::move(*rings), os.now(), std::move(ask)));
}

}  // namespace tailor::capture
