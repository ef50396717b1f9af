// What a program has registered at run time, before lanista::Init, and what was wrong with that.
#ifndef LANISTA_SRC_BASE_REGISTRATIONS_H_
#define LANISTA_SRC_BASE_REGISTRATIONS_H_

#include <mutex>
#include <set>
#include <string>

#include "absl/status/status.h"

namespace lanista {

// Functions that register return nothing: what is wrong is kept here, and no experiment starts then. Thread-safe.
class Registrations {
 public:
  // Those of this program.
  static Registrations& Get();

  // Whether a component of this kind ("evaluator") may get the name; `taken`: those that it may not have
  // (taken_names.h). If it may not, status() says why.
  bool Admit(const std::string& kind, const std::string& name, const std::set<std::string>& taken);

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

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_REGISTRATIONS_H_
