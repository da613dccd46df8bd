// What the sink has not heard yet of processes: records and accounts that changed, and regions of memory that
// samples have.
#pragma once

#include "daemon/pipeline/accounts.h"
#include "daemon/pipeline/process_table.h"
#include "daemon/profile/sink.h"

namespace tailor::pipeline {

// One thread. Everything passed to the constructor must outlive it.
class ProcessNews {
 public:
  // `all_marks`: others tell of all regions, when they begin and end.
  ProcessNews(profile::ProfileSink& sink, ProcessTable& table, Accounts& accounts, bool all_marks)
      : sink_(sink), table_(table), accounts_(accounts), all_marks_(all_marks) {}

  // Before samples of these processes are told.
  void tell_records();
  // Of the regions those that have samples, behind these.
  void tell_regions();
  // Records too, and what belongs to no process.
  void tell_accounts();

 private:
  void tell_record(ProcessEntry& entry);

  profile::ProfileSink& sink_;
  ProcessTable& table_;
  Accounts& accounts_;
  const bool all_marks_;
};

}  // namespace tailor::pipeline
