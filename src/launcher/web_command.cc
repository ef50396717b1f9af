// web.
#include <signal.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/launcher/commands.h"
#include "src/launcher/console.h"
#include "src/launcher/exit_codes.h"
#include "src/launcher/page.h"
#include "src/launcher/signal_thread.h"
#include "src/launcher/trial_model_maker.h"
#include "src/launcher/until_signal.h"
#include "src/service/experiments.h"
#include "src/service/news.h"
#include "src/storage/state_dir.h"
#include "src/web/web_server.h"

namespace lanista {

absl::StatusOr<int> ServeWeb(const CommandContext& context) {
  LANISTA_ASSIGN_OR_RETURN(const std::string root, context.state_dir);
  std::error_code error;
  if (!std::filesystem::is_directory(root, error)) {
    return absl::NotFoundError(absl::StrCat("there is no state folder ", root, "; name another one with --state-dir"));
  }
  LANISTA_ASSIGN_OR_RETURN(const WebOptions options, PageOptions(context.line, root, "view"));
  CatchStopSignals();
  signal(SIGPIPE, SIG_IGN);
  UntilSignal until;
  const SignalThread signals([&](int count) { until.OnSignal(count); });
  News news;
  TrialModelMaker model_maker(context.trial_program);
  Experiments experiments(StateDir::OpenReadOnly(root), /*runner=*/nullptr, &news, ForPage(&model_maker));
  LANISTA_ASSIGN_OR_RETURN(const std::unique_ptr<WebServer> server, WebServer::Start(options, &experiments));
  if (context.line.json) {
    PrintJson({{"page", server->link()}});
  } else {
    PrintLine(PageLine(server->link()));
  }
  std::fflush(stdout);
  until.Wait();
  return kExitDone;
}

}  // namespace lanista
