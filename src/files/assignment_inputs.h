// Which files of the head's an assignment reads.
#ifndef LANISTA_SRC_FILES_ASSIGNMENT_INPUTS_H_
#define LANISTA_SRC_FILES_ASSIGNMENT_INPUTS_H_

#include "protos/node.pb.h"
#include "protos/trial.pb.h"

namespace lanista {

v1::AssignmentInputs InputsOf(const v1::TrialSpec& spec);
v1::AssignmentInputs InputsOf(const v1::Discover& request);

}  // namespace lanista

#endif  // LANISTA_SRC_FILES_ASSIGNMENT_INPUTS_H_
