// What libprotobuf has to say goes to our log (logging.h) in the place of stderr. What it says of bytes that it cannot
// parse is dropped: whoever asked for that gets a status, and a head's log would be full of what strangers send.
#ifndef LANISTA_SRC_BASE_PROTOBUF_LOG_H_
#define LANISTA_SRC_BASE_PROTOBUF_LOG_H_

namespace lanista {

// For `main`, before there are threads: protobuf has one handler for the whole process.
void TakeProtobufLog();

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_PROTOBUF_LOG_H_
