// The web page's server behind its HTTP library: who may ask, routes, queries, bodies.
// Input: METHOD target, headers, and an empty line, as in HTTP but without carriage returns; the body.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/ascii.h"
#include "google/protobuf/text_format.h"
#include "nlohmann/json.hpp"
#include "src/service/experiments.h"
#include "src/service/news.h"
#include "src/storage/journal.h"
#include "src/storage/state_dir.h"
#include "src/web/api.h"
#include "src/web/event_streams.h"
#include "src/web/guard.h"
#include "src/web/http.h"
#include "src/web/http_stream.h"
#include "src/web/router.h"
#include "src/web/table_cache.h"
#include "tests/fuzz/fuzz.h"

namespace lanista {
namespace {

constexpr char kJournal[] = R"(
  records { discovered { space { complete: true choices { label: "op" kind: LAYER_CHOICE candidates { s: "conv" }
    candidates { s: "skip" } n_chosen: 1 } } } }
  records { state { state: RUNNING } }
  records { model { model: 1 sample { decisions { label: "op" index: 0 value { s: "conv" } } } } }
  records { trial { trial: 1 members { model: 1 attempt: 1 } } }
  records { event { model: 1 attempt: 1 sequence: 1 started { device { kind: CPU } } } }
  records { event { model: 1 attempt: 1 sequence: 2 intermediate { metrics { values { key: "default" value: 0.5 } } } } }
  records { event { model: 1 attempt: 1 sequence: 3 ended { outcome: SUCCEEDED } } }
  records { outcome { model: 1 attempt: 1 outcome: SUCCEEDED metrics { values { key: "default" value: 0.5 } } } }
  records { state { state: DONE } }
)";

// One experiment, "a-1", in a folder of its own, which goes when the program ends.
class Site {
 public:
  Site() : state_dir_(StateDir::Open(folder_).value()) {
    const std::string folder = state_dir_.ExperimentFolder("a-1").value();
    v1::ExperimentCreated created;
    created.set_experiment("a-1");
    created.mutable_config()->mutable_space()->set_registered("mnist_cnn");
    created.mutable_config()->mutable_engine()->mutable_direct();
    const std::unique_ptr<JournalWriter> writer = JournalWriter::Create(folder, created).value();
    v1::JournalBatch batch;
    fuzz::Require(google::protobuf::TextFormat::ParseFromString(kJournal, &batch), "the journal is no text of a batch");
    fuzz::Require(writer->Write(batch).ok(), "the journal cannot be written");
    options_.mode = "view";
    options_.actions.remove = "the experiment stays";
    api_ = std::make_unique<Api>(&experiments_, &tables_, &streams_, options_);
    api_->AddRoutes(&router_);
  }
  ~Site() { std::filesystem::remove_all(folder_); }

  HttpResponse Answer(const HttpRequest& request) {
    GuardOptions guard;
    guard.token = "t";
    std::optional<HttpResponse> refused = RefuseRequest(request, guard);
    return refused.has_value() ? *std::move(refused) : router_.Route(request);
  }

 private:
  static std::string MakeFolder() {
    std::string folder = (std::filesystem::temp_directory_path() / "lanista-fuzz-XXXXXX").string();
    fuzz::Require(mkdtemp(folder.data()) != nullptr, "cannot make a folder");
    return folder;
  }

  const std::string folder_ = MakeFolder();
  const StateDir state_dir_;
  News news_;
  Experiments experiments_{state_dir_, /*runner=*/nullptr, &news_};
  TableCache tables_{&experiments_};
  EventStreams streams_{&experiments_};
  ApiOptions options_;
  std::unique_ptr<Api> api_;
  Router router_;
};

HttpRequest ParseRequest(fuzz::Input input, absl::Status* status) {
  HttpRequest request;
  request.method = std::string(input.Until(' '));
  *status = ParseTarget(input.Until('\n'), &request);
  request.headers = {{"host", "localhost"}, {"authorization", "Bearer t"}, {"content-type", "application/json"}};
  for (absl::string_view line; !(line = input.Until('\n')).empty();) {
    fuzz::Input header(reinterpret_cast<const uint8_t*>(line.data()), line.size());
    const std::string name = absl::AsciiStrToLower(header.Until(':'));
    request.headers[name] = std::string(absl::StripAsciiWhitespace(header.Rest()));
  }
  request.body = std::string(input.Rest());
  return request;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Site site;
  absl::Status parsed;
  const HttpRequest request = ParseRequest(fuzz::Input(data, size), &parsed);
  const HttpResponse response = parsed.ok() ? site.Answer(request) : ErrorResponse(parsed);
  fuzz::Require(response.status >= 200 && response.status < 600, "an answer has an impossible status");
  fuzz::Require(response.status != 500, "the server calls it a mistake of its own");
  if (response.status >= 400) {
    const nlohmann::json error = nlohmann::json::parse(*response.body, nullptr, /*allow_exceptions=*/false);
    fuzz::Require(error.is_object() && error.contains("error"), "an error is no JSON");
  }
  if (response.stream != nullptr) response.stream->Abort();
  for (const auto& [name, value] : response.headers) {
    fuzz::Require(value.find_first_of("\r\n") == std::string::npos, "a header has more than one line");
  }
  return 0;
}

}  // namespace lanista
