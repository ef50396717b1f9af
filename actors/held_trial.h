// What a node says of the trials that it has, to a head that may not know them (v1::HeldTrial).
#ifndef LANISTA_ACTORS_HELD_TRIAL_H_
#define LANISTA_ACTORS_HELD_TRIAL_H_

#include "protos/node.pb.h"

namespace lanista {

// Of an assignment that was given to this node; without a trial number where it is none.
v1::HeldTrial HeldTrialOf(const v1::Assignment& assignment);

// The head need not be told these news again: they are in its journal.
void NoteReceived(const v1::AssignmentNews& news, v1::HeldTrial* held);

}  // namespace lanista

#endif  // LANISTA_ACTORS_HELD_TRIAL_H_
