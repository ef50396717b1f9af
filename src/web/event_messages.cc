#include "src/web/event_messages.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "google/protobuf/util/json_util.h"
#include "nlohmann/json.hpp"
#include "src/base/display_text.h"
#include "src/base/json_line.h"
#include "src/base/logging.h"
#include "src/base/status.h"
#include "src/base/utf8.h"
#include "src/web/columns.h"
#include "src/web/experiment_table.h"

namespace lanista {
namespace {

EventMessage MakeMessage(std::string text) { return std::make_shared<const std::string>(std::move(text)); }

// {"events": [...]}. What each of them would repeat is left out: the experiment, which the stream's address names, and
// in a model's event the time, which is that of the fact. So are fields at their defaults: to write them costs several
// times as much as all the rest.
std::string EventsJson(std::vector<v1::ExperimentEvent> events) {
  if (events.empty()) return R"({"events":[]})";
  const std::string experiment = events.front().experiment();
  const int64_t last = events.back().number();
  v1::WatchReply shown;
  for (v1::ExperimentEvent& event : events) {
    event.clear_experiment();
    if (event.has_model()) {
      event.mutable_model()->clear_experiment();
      event.mutable_model()->clear_time();
    }
    *shown.add_events() = std::move(event);
  }
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string json;
  const auto encoded = google::protobuf::util::MessageToJsonString(shown, &json, options);
  if (encoded.ok()) return json;
  // Times beyond the year 9999 have no form in JSON; those of a journal end in 2262.
  LogError("{}the page does not see facts up to {}: {}", LogTag(experiment), last,
           OneLine(ToUtf8(std::string(encoded.message()))));
  return R"({"events":[]})";
}

EventMessage FactsMessage(const std::string& data, int64_t number) {
  const std::string id = number > 0 ? absl::StrCat("id: ", number, "\n") : "";
  return MakeMessage(absl::StrCat(id, "event: facts\ndata: ", data, "\n\n"));
}

}  // namespace

EventMessage EventsMessage(std::vector<v1::ExperimentEvent> events, int64_t number) {
  return FactsMessage(EventsJson(std::move(events)), number);
}

absl::StatusOr<EventMessage> ModelsMessage(std::vector<v1::ExperimentEvent> events, const JournalReader& journal,
                                           const std::vector<int>& models, int64_t number) {
  LANISTA_ASSIGN_OR_RETURN(const ExperimentTable table, ExperimentTable::Of(journal, models));
  std::string data = EventsJson(std::move(events));
  data.pop_back();
  absl::StrAppend(&data, ",\"columns\":", JsonLine(ColumnsDocument(table)),
                  ",\"attempts\":", JsonLine(AttemptsDocument(table)), "}");
  return FactsMessage(data, number);
}

EventMessage EmptyMessage(const char* event) { return MakeMessage(absl::StrCat("event: ", event, "\ndata: {}\n\n")); }

EventMessage CommentMessage() { return MakeMessage(":\n\n"); }

}  // namespace lanista
