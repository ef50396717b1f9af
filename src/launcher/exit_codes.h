// The exit codes of `lanista`: scripts rely on them.
#ifndef LANISTA_SRC_LAUNCHER_EXIT_CODES_H_
#define LANISTA_SRC_LAUNCHER_EXIT_CODES_H_

namespace lanista {

// The command did what was asked. `run`: the experiment came to its end (its space, max_trial_number or max_duration),
// and at least one model succeeded.
inline constexpr int kExitDone = 0;
// `run`: the experiment failed, no model succeeded, no trial process came up, or the user stopped it: then
// `lanista run ... && next` does not go on with half a search. Reading commands: the state folder cannot be read or
// written.
inline constexpr int kExitFailed = 1;
// Bad usage or configuration, an unknown experiment, a token that the head does not take: nothing was started.
inline constexpr int kExitUsage = 2;
// No head can be reached at --head, or it does not answer.
inline constexpr int kExitNoHead = 3;
// Ended by a second Ctrl-C, or by one before the experiment had started: 128 + SIGINT, as shells have it.
inline constexpr int kExitKilled = 130;

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_EXIT_CODES_H_
