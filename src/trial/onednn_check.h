// oneDNN, by which LibTorch computes convolutions and LSTMs on CPUs, and whether it can be trusted here.
#ifndef LANISTA_SRC_TRIAL_ONEDNN_CHECK_H_
#define LANISTA_SRC_TRIAL_ONEDNN_CHECK_H_

#include <string>

namespace lanista {

// Turns oneDNN off in this process where it computes wrongly on this processor: LibTorch's own code computes the same
// then. Debian 13's oneDNN 3.7.2 was seen to do so on an AMD EPYC of family 26, without an error, where the channels do
// not fill a vector register. Two small computations that went wrong there are compared with those of LibTorch's own
// code; `tolerance` is the largest difference of a number that is right, and an exception is as wrong. Takes tens of
// milliseconds. Returns a warning for people, empty where oneDNN is right, off, or missing. No other thread may compute
// meanwhile.
std::string TurnOffWrongOneDnn(double tolerance = 1e-4);

}  // namespace lanista

#endif  // LANISTA_SRC_TRIAL_ONEDNN_CHECK_H_
