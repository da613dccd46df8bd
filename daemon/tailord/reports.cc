#include "daemon/tailord/reports.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "daemon/query/json/json_parts.h"
#include "daemon/session/host_info.h"
#include "daemon/store/meta_codec.h"
#include "proto/control/control_socket.h"
#include "proto/control/reply_error.h"

namespace tailor::tailord {
namespace {

// A short report does not wait for a long one, nor root for others (serve::Shares).
constexpr std::size_t kThreads = 4;
constexpr std::size_t kMostWaiting = 16;
constexpr std::chrono::seconds kPatience{30};

Result<serve::ReportRequest> request_of(const v1::ReportRequest& request) {
  serve::ReportRequest out;
  for (const std::string& bytes : request.executions()) {
    ExecutionId id;
    if (bytes.size() != id.bytes.size())
      return invalid(fmt::format("an execution's id has {} bytes, not {}", id.bytes.size(), bytes.size()));
    std::ranges::copy(bytes, id.bytes.begin());
    out.executions.push_back(id);
  }
  return out;
}

v1::ControlReply reply_of(v1::ReportReply about, Result<std::string> text) {
  v1::ControlReply reply;
  if (!text) {
    Error error = text.error();
    error.message = store::to_utf8(error.message);
    control::set_error(reply, error);
    return reply;
  }
  about.set_json(std::move(*text));
  *reply.mutable_report() = std::move(about);
  return reply;
}

}  // namespace

Reports::Reports(const std::string& directory, Flush flush, OnDamage on_damage)
    : flush_(std::move(flush)),
      library_(serve::open_store_library(directory, {}, std::move(on_damage))),
      service_(*library_, serve::ServiceOptions{session::kVersion, {}}),
      workers_(kThreads, kMostWaiting) {}

Status Reports::start(const v1::ReportRequest& request, const serve::Asker& asker,
                      const control::ControlServer::Promise& promise) {
  auto wanted = request_of(request);
  if (!wanted) return wanted.error();
  auto late = promise(kPatience);
  if (!late) return late.error();
  auto about = std::make_shared<v1::ReportReply>();
  const auto work = [this, about, wanted = std::move(*wanted)](const Stop& stop) -> Result<std::string> {
    auto time = flush_();
    if (!time) return time.error();
    auto answer = service_.answer(wanted, serve::Access::everything(), stop);
    if (!answer) return answer.error();
    about->set_time(*time);
    about->set_samples((*answer)["samples"].get<std::uint64_t>());
    if ((*answer)["report"].is_null()) return std::string();
    std::string text = query::dump((*answer)["report"]);
    // Room for the other fields of the reply.
    if (text.size() + 1024 > control::kMaxReplyBytes)
      return exhausted(
          "the report is larger than an answer can be: ask for fewer executions, or use `tailor report`");
    return text;
  };
  return workers_.start(asker, (*late)->stop(), work, [about, late = *late](Result<std::string> text) {
    late->give(reply_of(std::move(*about), std::move(text)));
  });
}

}  // namespace tailor::tailord
