#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/capture/host/event_offers.h"
#include "daemon/capture/host/host_pmu.h"
#include "viewer/cli/command.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

using capture::EventOffer;

void print_offers(const std::vector<EventOffer>& offers, const Terminal& terminal) {
  std::size_t width = 0;
  for (const EventOffer& offer : offers) width = std::max(width, offer.name.size());
  for (const EventOffer& offer : offers) {
    const std::string name = fmt::format("{:<{}}", escape_line(offer.name, terminal.ascii), width);
    fmt::print("{}  {:3}  {}\n", name, offer.available ? "yes" : "no", offer.description);
    if (offer.detail.empty()) continue;
    const std::string detail = escape_line(offer.detail, terminal.ascii);
    fmt::print("{:{}}       {}\n", "", width, offer.available ? detail : terminal.warn(detail));
  }
}

void print_offers_json(const std::vector<EventOffer>& offers) {
  nlohmann::json rows = nlohmann::json::array();
  for (const EventOffer& offer : offers) {
    rows.push_back({{"name", offer.name},
                    {"description", offer.description},
                    {"available", offer.available},
                    {"detail", offer.detail}});
  }
  print_json(rows.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

void print_counters(const capture::HostPmu& pmu) {
  if (pmu.table.empty()) return;
  fmt::print("\nCounters by libpfm4's names of this CPU ({}), as in EVENT:UMASK:precise=2@PERIOD{}\n",
             pmu.table, pmu.counters ? "" : "; this host has none to use");
}

int run_events(bool json, bool ascii) {
  const auto offers = capture::probe_events(os::real(), capture::probe_pmu(os::real()));
  Terminal terminal = Terminal::detect();
  terminal.ascii = terminal.ascii || ascii;
  json ? print_offers_json(offers) : print_offers(offers, terminal);
  if (!json) print_counters(capture::probe_pmu(os::real()));
  const bool any = std::ranges::any_of(offers, &EventOffer::available);
  return any ? kOk : nothing_to_show();
}

}  // namespace

void add_events(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand(
      "events", "Which events --event can record on this host, and why it lacks the others");
  auto flags = std::make_shared<std::pair<bool, bool>>(false, false);
  command.add_flag("--json", flags->first, "JSON instead of text: name, description, available, detail");
  command.add_flag("--ascii", flags->second, "No characters outside ASCII");
  command.callback(
      [flags, &action] { action = [flags] { return run_events(flags->first, flags->second); }; });
}

}  // namespace tailor::cli
