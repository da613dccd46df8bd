#include "agent/jvm/roles.h"

#include <array>
#include <utility>

namespace tailor::jvm {
namespace {

// Iterators and helpers that are no part of their operator's class. The first that fits counts.
constexpr std::array<std::pair<std::string_view, std::string_view>, 20> kBegins = {{
    {"org.apache.spark.shuffle.sort.", kShuffleWrite},
    {"org.apache.spark.shuffle.ShuffleWriteProcessor", kShuffleWrite},
    {"org.apache.spark.sql.execution.exchange.ShuffleExchangeExec", kShuffleWrite},
    {"org.apache.spark.storage.ShuffleBlockFetcherIterator", kShuffleRead},
    {"org.apache.spark.shuffle.BlockStoreShuffleReader", kShuffleRead},
    {"org.apache.spark.sql.execution.ShuffledRowRDD", kShuffleRead},
    {"org.apache.spark.sql.execution.window.WindowGroupLimit", "WindowGroupLimitExec"},
    {"org.apache.spark.sql.execution.window.BaseLimitIterator", "WindowGroupLimitExec"},
    {"org.apache.spark.sql.execution.window.GroupedLimitIterator", "WindowGroupLimitExec"},
    {"org.apache.spark.sql.execution.window.Window", "WindowExec"},
    {"org.apache.spark.sql.execution.aggregate.ObjectAggregation", "ObjectHashAggregateExec"},
    {"org.apache.spark.sql.execution.aggregate.SortBasedAggregator", "ObjectHashAggregateExec"},
    {"org.apache.spark.sql.execution.aggregate.SortBasedAggregationIterator", "SortAggregateExec"},
    {"org.apache.spark.sql.execution.aggregate.TungstenAggregationIterator", "HashAggregateExec"},
    {"org.apache.spark.sql.execution.joins.SortMergeJoin", "SortMergeJoinExec"},
    {"org.apache.spark.sql.execution.joins.SortMergeFullOuterJoinScanner", "SortMergeJoinExec"},
    {"org.apache.spark.sql.execution.joins.LeftOuterIterator", "SortMergeJoinExec"},
    {"org.apache.spark.sql.execution.joins.RightOuterIterator", "SortMergeJoinExec"},
    {"org.apache.spark.sql.execution.joins.FullOuterIterator", "SortMergeJoinExec"},
    {"org.apache.spark.sql.execution.joins.UnsafeCartesianRDD", "CartesianProductExec"},
}};

}  // namespace

std::string role_of_class(std::string_view class_name) {
  if (!class_name.starts_with("org.apache.spark.")) return {};
  for (const auto& [begin, role] : kBegins) {
    if (class_name.starts_with(begin)) return std::string(role);
  }
  if (!class_name.starts_with("org.apache.spark.sql.execution.")) return {};
  // Anonymous classes and companions of an operator's class.
  const std::string_view outer = class_name.substr(0, class_name.find('$'));
  const std::string_view simple = outer.substr(outer.rfind('.') + 1);
  constexpr std::string_view kEnd = "Exec";
  // It runs all of a stage, and calls its generated code.
  if (!simple.ends_with(kEnd) || simple == "WholeStageCodegenExec") return {};
  return std::string(simple);
}

}  // namespace tailor::jvm
