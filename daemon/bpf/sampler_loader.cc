#include "daemon/bpf/sampler_loader.h"

#include <pthread.h>

#include <utility>

namespace tailor::bpf {
namespace {

// The recording that asked for one takes it within some ten milliseconds, or never will.
constexpr TimeNs kKeptUntaken = 2'000'000'000;

}  // namespace

SamplerLoader::~SamplerLoader() {
  if (thread_.joinable()) thread_.join();
}

bool SamplerLoader::is_ready(os::Os& os, const SamplerOptions& options, TimeNs now) {
  if (busy_.load(std::memory_order_acquire)) return false;
  if (loaded_ && options_ == options) {
    asked_ = now;
    return true;
  }
  if (loaded_) {
    drop();
    return false;
  }
  options_ = options;
  asked_ = now;
  run([this, &os] { loaded_ = start_(os, options_); });
  return false;
}

std::optional<SamplerLoader::Started> SamplerLoader::take(const SamplerOptions& options) {
  if (busy_.load(std::memory_order_acquire) || !loaded_ || options_ != options) return std::nullopt;
  return std::exchange(loaded_, std::nullopt);
}

void SamplerLoader::give_up(TimeNs now) {
  if (busy_.load(std::memory_order_acquire) || !loaded_ || now - asked_ < kKeptUntaken) return;
  drop();
}

// To unload it takes as long.
void SamplerLoader::drop() {
  run([this] { loaded_.reset(); });
}

void SamplerLoader::run(std::function<void()> work) {
  if (thread_.joinable()) thread_.join();  // it has ended, or is about to
  busy_ = true;
  thread_ = std::thread([this, work = std::move(work)] {
    ::pthread_setname_np(::pthread_self(), "tailor-bpf");
    work();
    busy_.store(false, std::memory_order_release);
  });
}

}  // namespace tailor::bpf
