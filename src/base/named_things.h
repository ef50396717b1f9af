// Things that a program knows by their names alone: model spaces, graphs, operators. What a configuration describes by
// a message has a Registry (registry.h).
//
//   NamedThings<GraphFactory>& Factories() {
//     static auto* const factories = new NamedThings<GraphFactory>("graph space");
//     return *factories;
//   }
//
// Filled before main, or before lanista::Init, by one thread; afterwards it is read-only, and any thread may use it.
#ifndef LANISTA_SRC_BASE_NAMED_THINGS_H_
#define LANISTA_SRC_BASE_NAMED_THINGS_H_

#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace lanista {

// Things of one type and kind.
template <typename Thing>
class NamedThings {
 public:
  // `kind` is for messages: "graph space". `taken`: the names that these things share with others (taken_names.h).
  explicit NamedThings(std::string kind, std::set<std::string>* taken = nullptr)
      : kind_(std::move(kind)), taken_(taken) {}

  // Adds a thing. Ends the program if the name is taken: two definitions are a programmer's error.
  bool Add(const std::string& name, Thing thing) {
    const bool taken = taken_ != nullptr && !taken_->insert(name).second;
    if (taken || !things_.emplace(name, std::move(thing)).second) {
      std::fprintf(stderr, "lanista: the %s '%s' is registered twice: give one of the two another name\n",
                   kind_.c_str(), name.c_str());
      std::abort();
    }
    return true;
  }

  // The thing of this name; nullptr: there is none.
  const Thing* Find(absl::string_view name) const {
    const auto found = things_.find(std::string(name));
    return found == things_.end() ? nullptr : &found->second;
  }

  // All names, sorted.
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& thing : things_) names.push_back(thing.first);
    return names;
  }

  // "no graph space 'x' is registered in this program; known: a, b".
  std::string UnknownName(absl::string_view name) const {
    return absl::StrCat("no ", kind_, " '", name, "' is registered in this program; known: ",
                        things_.empty() ? "none" : absl::StrJoin(Names(), ", "));
  }

 private:
  const std::string kind_;
  std::set<std::string>* const taken_;
  std::map<std::string, Thing> things_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_NAMED_THINGS_H_
