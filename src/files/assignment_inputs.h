// What an assignment reads: files of the head's, and data that its node must have.
#ifndef LANISTA_SRC_FILES_ASSIGNMENT_INPUTS_H_
#define LANISTA_SRC_FILES_ASSIGNMENT_INPUTS_H_

#include <set>
#include <string>

#include "protos/node.pb.h"
#include "protos/trial.pb.h"

namespace lanista {

v1::AssignmentInputs InputsOf(const v1::TrialSpec& spec);
v1::AssignmentInputs InputsOf(const v1::Discover& request);

// The names in paths of the form data://NAME/sub (src/config/data_paths.h).
std::set<std::string> DataOf(const v1::TrialSpec& spec);
std::set<std::string> DataOf(const v1::Discover& request);

}  // namespace lanista

#endif  // LANISTA_SRC_FILES_ASSIGNMENT_INPUTS_H_
