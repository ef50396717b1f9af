// What is written to streams of events: docs/web.md#events.
#ifndef LANISTA_SRC_WEB_EVENT_MESSAGES_H_
#define LANISTA_SRC_WEB_EVENT_MESSAGES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "protos/service.pb.h"
#include "src/storage/journal.h"

namespace lanista {

// Shared by the streams that it is written to.
using EventMessage = std::shared_ptr<const std::string>;

// "facts" with these events, up to the fact of this number; 0: they are no facts (last words).
EventMessage EventsMessage(std::vector<v1::ExperimentEvent> events, int64_t number);

// "facts" with these events and, in the place of others, with what the journal says of these models.
absl::StatusOr<EventMessage> ModelsMessage(std::vector<v1::ExperimentEvent> events, const JournalReader& journal,
                                           const std::vector<int>& models, int64_t number);

// One without data: "ended", "gone".
EventMessage EmptyMessage(const char* event);

// A comment, which readers pass over.
EventMessage CommentMessage();

}  // namespace lanista

#endif  // LANISTA_SRC_WEB_EVENT_MESSAGES_H_
