// The thread that tells the agent of compiled code. The JVM's threads hand values over and go on; names, row
// tables and messages are made here.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "agent/jvm/code_cache.h"
#include "agent/jvm/code_numbers.h"
#include "agent/jvm/compiled_code.h"
#include "agent/jvm/java_plan.h"
#include "agent/jvm/nmethod.h"

namespace tailor::jvm {

struct ShipperCounts {
  std::uint64_t loads = 0, unloads = 0;
  std::uint64_t dropped = 0;  // loads: too many waited, or the agent took no more
  std::uint64_t live = 0;     // code objects
  std::uint64_t plans = 0;    // that are live
};

// Code that HotSpot generated, which is of no method.
struct GeneratedCode {
  std::uint64_t base = 0;
  std::uint32_t size = 0;
  bool interpreter = false;
  std::string name;
};

class Spark;

class Shipper : public CodeNumbers {
 public:
  // `name` is that of the dictionary in reports. `each_second` is called on the shipper's thread about once a
  // second. With `spark` code of generated classes goes to the queries' dictionaries, and all other code is
  // told of as working for its callers.
  Shipper(std::string name, Spark* spark, std::function<void()> each_second);
  ~Shipper() override;
  Shipper(const Shipper&) = delete;
  Shipper& operator=(const Shipper&) = delete;

  // Any thread. They wait for nothing but each other, for some microseconds. `code` gets its id and since
  // when it can have been there.
  void loaded(CompiledCode&& code);
  void unloaded(std::uint64_t base);
  // So that stacks can be walked through it.
  void generated(const GeneratedCode& code, const NmethodReader& reader) const;
  bool shares_code() const { return spark_ != nullptr; }
  bool renumber(std::uint64_t base, std::uint64_t from, std::uint64_t to) override;
  bool confirm(std::uint64_t base, std::uint64_t id) override;

  // Of the dictionary that code goes to first; as a rule it stays the only one.
  std::uint64_t first_plan() const { return first_plan_; }
  ShipperCounts counts() const;
  // Waits, at most `timeout_ms`, until what was handed over is in the daemon's socket.
  void flush(std::uint32_t timeout_ms);

 private:
  static constexpr std::size_t kMostWaiting = std::size_t{64} << 20;  // bytes
  static constexpr std::size_t kPlanBytes = std::size_t{2} << 20;     // then the next one begins

  void run();
  void ship(std::vector<CompiledCode> batch);
  void load(CompiledCode& code, CodeBuilder builder);
  void end_user(std::uint64_t id);
  JavaPlan& plan_for_next();
  void forget_unused_plans();

  void ship_shared(CompiledCode& code);

  const std::string name_;
  Spark* const spark_;
  const std::function<void()> each_second_;
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable wake_, idle_;
  CodeCacheMap cache_;
  std::vector<CompiledCode> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::vector<std::uint64_t> ended_;  // ids of code objects whose plan has one user less
  std::unordered_map<std::uint64_t, std::uint64_t> unit_of_;  // of code objects of generated classes
  ShipperCounts counts_;
  bool stop_ = false, hurry_ = false, busy_ = false;
  // The thread's own.
  std::vector<std::unique_ptr<JavaPlan>> plans_;  // the last one grows
  std::unordered_map<std::uint64_t, JavaPlan*> plan_of_;
  std::uint32_t plans_made_ = 0;
  std::uint64_t first_plan_ = 0;
  std::thread thread_;
};

}  // namespace tailor::jvm
