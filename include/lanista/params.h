// lanista::Params: what a configuration hands to the components that a program registers.
//
//   space { registered: "net" params { key: "classes" value { i: 100 } } }
//
//   explicit Net(const lanista::Params& params) : classes_(params.Get<int64_t>("classes", 10)) {}
//
// A parameter that is missing or of another type, and one that nobody reads, is an error of the configuration, which
// names it: nothing starts. Get throws for the first two, which Lanista turns into that error. Used by one thread.
#ifndef LANISTA_INCLUDE_LANISTA_PARAMS_H_
#define LANISTA_INCLUDE_LANISTA_PARAMS_H_

#include "src/base/params.h"

#endif  // LANISTA_INCLUDE_LANISTA_PARAMS_H_
