// What the page asks its server for (docs/web.md): routes and their handlers, over Experiments.
#ifndef LANISTA_SRC_WEB_API_H_
#define LANISTA_SRC_WEB_API_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"
#include "src/service/experiments.h"
#include "src/web/event_streams.h"
#include "src/web/router.h"
#include "src/web/table_cache.h"

namespace lanista {

// What the page may do besides looking: of each, why not; empty: it may.
struct WebActions {
  std::string stop;
  std::string resume;
  std::string remove;
  std::string export_models;
  std::string note;
};

// In what form models can be exported.
struct ExportFormat {
  std::string name;
  // What a model must have for it: "sample", "trained_weights" or "graph".
  std::string needs;
};

struct ApiOptions {
  // "run", "serve" or "view".
  std::string mode;
  WebActions actions;
  std::vector<ExportFormat> formats = {};
  // The document of `nodes`; null: no node can join. Called on any thread; returns at once where the head has ended.
  std::function<absl::StatusOr<nlohmann::ordered_json>()> nodes = nullptr;
};

// Handlers may be called by several threads at once.
class Api {
 public:
  // All must outlive it.
  Api(Experiments* experiments, TableCache* tables, EventStreams* streams, ApiOptions options)
      : experiments_(*experiments), tables_(*tables), streams_(*streams), options_(std::move(options)) {}

  // The routes refer to this.
  void AddRoutes(Router* router);

 private:
  HttpResponse Info() const;
  HttpResponse Nodes() const;
  HttpResponse Space(const ExperimentPlace& place) const;
  HttpResponse Config(const ExperimentPlace& place) const;
  HttpResponse Curves(const HttpRequest& request, const ExperimentPlace& place);
  HttpResponse Importance(const HttpRequest& request, const ExperimentPlace& place);
  HttpResponse Attempts(const HttpRequest& request, const ExperimentPlace& place);
  HttpResponse Merged(const ExperimentPlace& place) const;
  HttpResponse Trials(const HttpRequest& request, const ExperimentPlace& place);
  HttpResponse Model(const ExperimentPlace& place, int model) const;
  HttpResponse Log(const HttpRequest& request, const ExperimentPlace& place, int model);
  HttpResponse Files(const ExperimentPlace& place, int model) const;
  HttpResponse File(const ExperimentPlace& place, int model, const std::string& name) const;
  HttpResponse Graph(const HttpRequest& request, const ExperimentPlace& place, int model);
  HttpResponse Events(const HttpRequest& request, const ExperimentPlace& place);
  HttpResponse Export(const HttpRequest& request, const ExperimentPlace& place);
  HttpResponse PutNote(const HttpRequest& request, const ExperimentPlace& place, const std::string& model);
  HttpResponse Stop(const HttpRequest& request, const std::string& experiment);
  HttpResponse Resume(const HttpRequest& request, const std::string& experiment);
  HttpResponse Delete(const HttpRequest& request, const std::string& experiment);

  Experiments& experiments_;
  TableCache& tables_;
  EventStreams& streams_;
  const ApiOptions options_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_WEB_API_H_
