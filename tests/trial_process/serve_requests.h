// The child's half of a trial process, for programs that stand in for the real one in tests.
#ifndef LANISTA_TESTS_TRIAL_PROCESS_SERVE_REQUESTS_H_
#define LANISTA_TESTS_TRIAL_PROCESS_SERVE_REQUESTS_H_

#include <functional>
#include <string>

#include "protos/trial.pb.h"

namespace lanista {

// Reads requests from the parent and has each answered, until the parent closes the socket. Returns an exit code.
int ServeRequests(const std::function<void(const v1::TrialRequest&)>& answer);

// These end the process where the parent does not read any more.
void SendEvent(const v1::TrialEvent& event);
void SendBytes(const std::string& bytes);

}  // namespace lanista

#endif  // LANISTA_TESTS_TRIAL_PROCESS_SERVE_REQUESTS_H_
