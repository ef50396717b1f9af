// What a program has registered at run time, before lanista::Init, and what was wrong with that.
#ifndef LANISTA_SRC_API_REGISTRATIONS_H_
#define LANISTA_SRC_API_REGISTRATIONS_H_

#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace lanista::api {

// Functions that register return nothing: what is wrong is kept here, and no experiment starts then. Thread-safe.
class Registrations {
 public:
  // Those of this program.
  static Registrations& Get();

  // Whether a component of this kind ("evaluator") may get the name; `taken`: the names of its kind. If it may not,
  // status() says why.
  bool Admit(const std::string& kind, const std::string& name, const std::vector<std::string>& taken);

  // From now on nothing may be registered: trial processes would not know of it.
  void Close();

  // FAILED_PRECONDITION: what was wrong with the first component that was not admitted, and what to do.
  absl::Status status() const;

 private:
  mutable std::mutex mutex_;
  // Protected by mutex_.
  bool closed_ = false;
  absl::Status status_;
};

}  // namespace lanista::api

#endif  // LANISTA_SRC_API_REGISTRATIONS_H_
