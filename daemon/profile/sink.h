// What the pipeline hands to a keeper of a profile: the store, a file, a test.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "daemon/profile/accounting.h"
#include "daemon/profile/records.h"
#include "proto/base/ids.h"
#include "tailor/v1/dictionary.pb.h"
#include "tailor/v1/registration.pb.h"

namespace tailor::profile {

// Calls come from one thread, in the order of the watermark; a plan or code object comes before the first
// sample that names it, an execution's record is given again when it changes (the last one counts).
class ProfileSink {
 public:
  virtual ~ProfileSink() = default;
  virtual void on_recording(const RecordingInfo& info) = 0;
  virtual void on_process(const ProcessRecord& process) = 0;
  virtual void on_thread(ProcessId process, std::int32_t tid, const std::string& name) = 0;
  virtual void on_component(ProcessId process, std::uint32_t id, const std::string& name) = 0;
  // For sinks that name addresses; others need not listen.
  virtual void on_mapping(const MappingRecord& /*mapping*/) {}
  // The functions of a file add up. They come behind the mappings of the file.
  virtual void on_names(const FileNames& /*names*/) {}
  virtual void on_region_kind(ProcessId process, const tailor::v1::RegionKind& kind) = 0;
  virtual void on_plan(ProcessId process, TimeNs loaded, const tailor::v1::Plan& plan) = 0;
  virtual void on_code(ProcessId process, TimeNs loaded, const tailor::v1::CodeObject& code) = 0;
  virtual void on_code_unload(ProcessId process, TimeNs time, CodeId code) = 0;
  virtual void on_execution(const ExecutionRecord& execution) = 0;
  virtual void on_samples(std::span<const SampleRecord> samples) = 0;
  virtual void on_activity(std::span<const ActivityRecord> records) = 0;
  virtual void on_accounting(const Accounting& accounting) = 0;
  // Everything up to `watermark` has been given.
  virtual void on_watermark(TimeNs watermark) = 0;

  // on_plan() and on_code() of large ones, which cost much to copy, and which a sink may keep until it has
  // made something of them. It must not keep them for longer: their process says nothing more meanwhile.
  virtual void on_shared_plan(ProcessId process, TimeNs loaded,
                              std::shared_ptr<const tailor::v1::Plan> plan) {
    on_plan(process, loaded, *plan);
  }
  virtual void on_shared_code(ProcessId process, TimeNs loaded,
                              std::shared_ptr<const tailor::v1::CodeObject> code) {
    on_code(process, loaded, *code);
  }
};

}  // namespace tailor::profile
